"""Where an unfinished run keeps its checkpoints: an untracked folder named by all that defines the run."""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path
from typing import Any

SCRATCH = Path(".perlayer/scratch")


def scratch_folder(run: str, definition: dict[str, Any]) -> Path:
    """The checkpoint folder of a run.

    Args:
        definition: everything that could change what the run computes, as JSON values. The code that is loaded is
            added here, so that an edited model never continues from what the old one computed.
    """
    described = json.dumps({"definition": definition, "code": _loaded_code()}, sort_keys=True)
    return SCRATCH / f"{run}-{hashlib.sha256(described.encode()).hexdigest()[:16]}"


def _loaded_code() -> dict[str, str]:
    """The hash of each loaded module of this package."""
    files = {
        name: Path(module.__file__)
        for name, module in sys.modules.items()
        if name.split(".")[0] == "perlayer" and getattr(module, "__file__", None)
    }
    return {name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in sorted(files.items())}
