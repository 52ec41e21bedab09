"""Which files of this package the running process has loaded."""

from __future__ import annotations

import sys
from pathlib import Path


def loaded_files() -> dict[str, Path]:
    """The file of each loaded module of this package, by the name of the module, sorted."""
    return {
        name: Path(module.__file__)
        for name, module in sorted(sys.modules.items())
        if name.split(".")[0] == "perlayer" and getattr(module, "__file__", None)
    }
