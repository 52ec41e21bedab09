"""Shards that are kept elsewhere, where PERLAYER_SHARDS says: a file that does not lie here is brought when it is read.

Of the shards their manifest lies here, as DVC has it, and what is brought has to be what it says. That lies in
.perlayer/shards, which all runs in a project share and which may be deleted at any time.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import time
from pathlib import Path

from perlayer.environment import Machine
from perlayer.errors import UserError
from perlayer.lifetimes import alone, temporary_folder
from perlayer.store import MANIFEST, Manifest, content_hash, read_manifest, verified

CACHE = Path(".perlayer/shards")
KEPT_BYTES = 4 * 2**30  # of the shards of a split; those that were used longest ago go first
TIMEOUT = 20.0  # seconds that a store may say nothing
PATIENCE = 60.0  # seconds in which to try again
PAUSE = 5.0  # seconds between two tries
LONG = 300.0  # seconds that another process may take before it is said for whom this one waits


class NotBrought(UserError):
    """A file of the shards cannot be brought here, or is not what the manifest says."""


def is_elsewhere(shards: str | Path, name: str) -> bool:
    """Whether a file of the shards has to be brought here."""
    return bool(Machine.from_environment().shards) and not Path(shards, name).exists()


def whole(shards: str | Path, name: str) -> Path:
    """A file of the shards that is known to be what their manifest says, here or once it is brought here.

    Raises:
        UserError: it is missing or damaged, or cannot be brought.
    """
    return bring(shards, name) if is_elsewhere(shards, name) else verified(Path(shards, name))


def manifest_of(shards: str | Path) -> Manifest:
    """The manifest of the shards, which always lies here.

    Raises:
        UserError: it is missing or damaged.
    """
    path = Path(shards, MANIFEST)
    if is_elsewhere(shards, MANIFEST):
        raise UserError(f"{path}: no such file, which shards at PERLAYER_SHARDS need; `dvc pull {path}` brings it")
    return read_manifest(shards)


def cache(shards: str | Path) -> Path:
    """Where files of these shards lie once they are brought here."""
    return CACHE / manifest_of(shards).identity[:16]


def bring(shards: str | Path, name: str, patient: bool = False) -> Path:
    """Bring a file of the shards here, unless it has been, by this process or another.

    Args:
        patient: whether to try again for `PATIENCE`.

    Raises:
        NotBrought: it cannot be read, or is not what the manifest says.
        UserError: the manifest is missing or damaged, or does not name the file.
    """
    path, source = cache(shards) / name, f"{Machine.from_environment().shards}/{name}"
    expected = manifest_of(shards).files.get(name)
    if expected is None:
        raise UserError(f"{Path(shards, MANIFEST)}: expected it to name {name}, which is to be read")
    _begin(cache(shards))
    path.parent.mkdir(exist_ok=True)
    deadline = time.monotonic() + (PATIENCE if patient else 0.0)
    while True:
        with alone(path.with_name(f".{path.name}.lock"), f"bringing {source}", LONG):
            try:
                if not (path.exists() and _contents(path) == expected):
                    _download(source, path, expected)
                os.utime(path)
                _keep_to(KEPT_BYTES, path.parent)
                return path
            except NotBrought:
                raise
            except Exception as error:  # every kind of store raises errors of its own
                if time.monotonic() >= deadline:
                    raise NotBrought(f"{source}: cannot be read: {_reason(error)}") from None
        time.sleep(PAUSE)


def _begin(folder: Path) -> None:
    """Make the folder of these shards; what was brought of others goes."""
    if not folder.exists():
        with alone(CACHE.with_name("shards.lock"), str(CACHE), LONG):
            if not folder.exists():
                shutil.rmtree(CACHE, ignore_errors=True)
                folder.mkdir(parents=True)


def _download(source: str, path: Path, expected: tuple[int, str]) -> None:
    from streaming.base.storage import CloudDownloader

    with temporary_folder("new-", path.parent) as folder:
        new = folder / path.name
        CloudDownloader.direct_download(source, str(new), TIMEOUT)
        if _contents(new) != expected:
            raise NotBrought(f"{source}: expected what {MANIFEST} says, found other content; copy it there anew")
        os.replace(new, path)


def _keep_to(limit: int, folder: Path) -> None:
    """Remove the shards that were used longest ago, until those in a folder have at most `limit` bytes."""
    found = []
    for path in folder.glob("[!.]*.mds"):
        with contextlib.suppress(FileNotFoundError):  # another process has removed it
            found.append((path.stat().st_mtime_ns, path.stat().st_size, path))
    left = sum(size for _, size, _ in found)
    for _, size, path in sorted(found):
        if left <= limit:
            break
        path.unlink(missing_ok=True)
        left -= size


def _contents(path: Path) -> tuple[int, str]:
    return path.stat().st_size, content_hash(path)


def _reason(error: Exception) -> str:
    """One line of what a store has answered, or why it has not."""
    text = str(error)
    match getattr(error, "response", None):  # of Amazon's
        case {"Error": {"Code": code, "Message": message}}:
            text = f"{code} {message}"
    return " ".join(text.split()) or type(error).__name__
