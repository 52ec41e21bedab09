"""Checkpoints that are known to be whole: a checksum of each, written after it, and the newest that has its own."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

from composer.core import State
from composer.loggers import LoggerDestination

from perlayer.store import content_hash, replace_text

KEPT = 2  # where the newest is damaged, the one before it is used
CHECKSUMS = "checksums.json"
LATEST = "latest-rank0.pt"  # Composer's link to the newest
CHECKPOINT = re.compile(r"ep\d+-ba(\d+)-rank0\.pt")


class Checksums(LoggerDestination):
    """Writes down the checksum of each checkpoint, once it is written and linked."""

    def upload_file(self, state: State, remote_file_name: str, file_path: Path, *, overwrite: bool = False) -> None:
        folder = file_path.parent
        checksums = {name: value for name, value in _read(folder).items() if (folder / name).exists()}
        replace_text(folder / CHECKSUMS, json.dumps({**checksums, file_path.name: content_hash(file_path)}))


def link_newest_whole(scratch: Path, run: str) -> None:
    """Have the link to the newest checkpoint lead to the newest one that is whole, or to none.

    One that differs from its checksum is set aside, with a line on stderr; one without was being written when its
    training was killed, and is removed, as are those older than the one before the newest.
    """
    checksums = _read(scratch)
    found = [(int(name[1]), path) for path in scratch.iterdir() if (name := CHECKPOINT.fullmatch(path.name))]
    whole, damaged = [], []
    for _, checkpoint in sorted(found, reverse=True):
        expected = checksums.get(checkpoint.name)
        if expected is None or len(whole) == KEPT:
            checkpoint.unlink()
        elif whole or content_hash(checkpoint) == expected:
            whole.append(checkpoint)  # the one before is looked at when it is needed
        else:
            damaged.append(checkpoint)
            checkpoint.rename(checkpoint.with_suffix(".damaged"))
    latest = scratch / LATEST
    latest.unlink(missing_ok=True)
    if whole:
        latest.symlink_to(whole[0].name)
    if damaged or found and not whole:
        what = f"{damaged[0]} is damaged" if damaged else f"no checkpoint in {scratch} is whole"
        goes_on = f"goes on from {whole[0].name}, the one before it" if whole else "starts from the first update"
        print(f"{run}: {what}; training {goes_on}", file=sys.stderr)


def _read(folder: Path) -> dict[str, str]:
    try:
        return dict(json.loads((folder / CHECKSUMS).read_bytes()))
    except (OSError, ValueError, TypeError):
        return {}
