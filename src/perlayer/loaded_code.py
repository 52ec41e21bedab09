"""Which files of this package the running process has loaded, and what they hold."""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path


def loaded_files() -> dict[str, Path]:
    """The file of each loaded module of this package, by the name of the module, sorted."""
    return {
        name: Path(module.__file__)
        for name, module in sorted(sys.modules.items())
        if name.split(".")[0] == "perlayer" and getattr(module, "__file__", None)
    }


def digest(path: Path) -> str:
    """The SHA-256 of a file, in hex."""
    return hashlib.sha256(path.read_bytes()).hexdigest()
