"""Where an unfinished run keeps its checkpoints: an untracked folder named by all that defines the run."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from perlayer.loaded_code import digest, loaded_files

SCRATCH = Path(".perlayer/scratch")


def scratch_folder(run: str, definition: dict[str, Any]) -> Path:
    """The checkpoint folder of a run.

    Args:
        definition: everything that could change what the run computes, as JSON values. The code that is loaded is
            added here, so that an edited model never continues from what the old one computed.
    """
    code = {name: digest(path) for name, path in loaded_files().items()}
    described = json.dumps({"definition": definition, "code": code}, sort_keys=True)
    return SCRATCH / f"{run}-{hashlib.sha256(described.encode()).hexdigest()[:16]}"
