"""Where an unfinished run keeps its checkpoints: an untracked folder named by all that defines the run."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import sys
from pathlib import Path
from typing import Any

from perlayer.code_hash import code_hash
from perlayer.errors import shortened
from perlayer.loaded_code import loaded_files

SCRATCH = Path(".perlayer/scratch")
DEFINITION = "definition.json"
MOST_DIFFERENCES = 3  # that one line names


def described(definition: dict[str, Any]) -> dict[str, Any]:
    """A definition of a run with the code that is loaded, so that an edited model never continues what the old one did.

    Args:
        definition: everything else that could change what the run computes, as JSON values.
    """
    return {**definition, "code": {name: code_hash(path) for name, path in loaded_files().items()}}


def scratch_folder(run: str, definition: dict[str, Any]) -> Path:
    """The checkpoint folder of a run, by all that defines it, see `described`."""
    return SCRATCH / f"{run}-{hashlib.sha256(_as_text(definition).encode()).hexdigest()[:16]}"


def start_scratch(scratch: Path, run: str, definition: dict[str, Any]) -> None:
    """Make the folder `scratch` of a run, and remove those of the same run by other definitions.

    Where one of them holds a checkpoint and `scratch` is new, a line on stderr says what differs.
    """
    others = [path for path in SCRATCH.glob(f"{run}-*") if re.fullmatch(r"-[0-9a-f]{16}", path.name[len(run) :])]
    for other in sorted(set(others) - {scratch}):
        if not scratch.exists() and any(other.glob("*.pt")):
            print(f"{run}: training starts from the first update; {_what_differs(other, definition)}", file=sys.stderr)
        shutil.rmtree(other, ignore_errors=True)
    scratch.mkdir(parents=True, exist_ok=True)
    if not (scratch / DEFINITION).exists():
        (scratch / DEFINITION).write_text(_as_text(definition))


def _what_differs(other: Path, definition: dict[str, Any]) -> str:
    try:
        old = _flat(json.loads((other / DEFINITION).read_text()))
    except (OSError, ValueError, AttributeError):
        return "what had begun was defined otherwise"
    new = _flat(json.loads(_as_text(definition)))
    differences = [key for key in {**old, **new} if old.get(key) != new.get(key)]
    named = [_difference(key, old.get(key), new.get(key)) for key in differences[:MOST_DIFFERENCES]]
    more = len(differences) - len(named)
    return f"it had begun with {'; '.join(named)}{f'; and {more} more' if more else ''}"


def _difference(key: str, old: Any, new: Any) -> str:
    group, _, name = key.partition(".")
    if group in ("code", "shards"):  # hashes
        return f"other {group} ({name})"
    return f"{key}: {shortened(old)}, now {shortened(new)}"


def _flat(definition: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """A mapping of mappings as one, by keys with dots."""
    flat = {}
    for key, value in definition.items():
        flat.update(_flat(value, f"{prefix}{key}.") if isinstance(value, dict) else {prefix + key: value})
    return flat


def _as_text(definition: dict[str, Any]) -> str:
    return json.dumps(definition, sort_keys=True)
