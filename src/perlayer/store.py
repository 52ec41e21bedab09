"""What a stage hands on: folders that appear whole, with a manifest by which whoever reads a file knows it unchanged.

The manifest of a folder, `manifest.json`, holds the size and the hash of each file (XXH3, 128 bits), what the folder
was made from (see `perlayer.provenance`), and a hash of all that. Files are checked once a process, when they are first
read.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import xxhash

from perlayer.errors import UserError

MANIFEST = "manifest.json"
PIECE = 2**20  # bytes read at once


@dataclass(frozen=True)
class Manifest:
    """What a folder holds, and what it was made from."""

    files: Mapping[str, tuple[int, str]]  # by its path in the folder, the size in bytes and the hash of each file
    about: Mapping[str, Any] = field(default_factory=dict)  # JSON values

    @property
    def identity(self) -> str:
        """A hash of the files: equal for folders of the same content."""
        return _hash_of({"files": self.files})

    def to_json(self) -> str:
        described = {"files": self.files, "about": self.about}
        return json.dumps({**described, "hash": _hash_of(described)}, indent=1) + "\n"


@contextlib.contextmanager
def fresh_folder(folder: str | Path) -> Iterator[Path]:
    """A folder that appears under its name, with its manifest, once everything in it is written; what was there goes.

    Raises:
        UserError: the folder cannot be written, which shows before the work.
    """
    folder = Path(folder)
    partial = folder.with_name(f".{folder.name}.partial")
    with _writing(folder):
        _remove(partial)
        partial.mkdir(parents=True)
    try:
        yield partial
        with _writing(folder):
            (partial / MANIFEST).write_text(describe(partial).to_json(), encoding="utf-8")
            _remove(folder)
            partial.rename(folder)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def require_writable(paths: Iterable[str | Path]) -> None:
    """Raise `UserError` unless files and folders can be made at every one of these places."""
    for path in map(Path, paths):
        with _writing(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            probe = path.with_name(f".{path.name}.probe")
            probe.touch()
            probe.unlink()


@contextlib.contextmanager
def _writing(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise UserError(f"{path}: cannot be written: {error.strerror}") from None


@contextlib.contextmanager
def replaced(path: str | Path) -> Iterator[Path]:
    """Where to write a file anew: never through a link, as DVC may have made into its cache; whole or not at all.

    Raises:
        UserError: it cannot be written.
    """
    path = Path(path)
    new = path.with_name(f".new.{path.name}")
    with _writing(path):
        try:
            yield new
            os.replace(new, path)
        finally:
            new.unlink(missing_ok=True)


def replace_text(path: str | Path, text: str) -> None:
    """Write a text anew, as `replaced` does."""
    with replaced(path) as new:
        new.write_text(text, encoding="utf-8")


def describe(folder: Path) -> Manifest:
    """The manifest of the files that are in a folder now."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file() and path != folder / MANIFEST)
    return Manifest({path.relative_to(folder).as_posix(): (path.stat().st_size, content_hash(path)) for path in paths})


def read_manifest(folder: str | Path) -> Manifest:
    """The manifest of a folder that a stage has written.

    Raises:
        UserError: there is none, or it is damaged.
    """
    path = Path(folder, MANIFEST)
    try:
        signature = _signature(path)
    except (FileNotFoundError, NotADirectoryError):
        raise UserError(f"{path}: no such file; {_remedy(folder)}") from None
    return _read_manifest(path, signature)


def set_about(folder: str | Path, about: Mapping[str, Any]) -> None:
    """Say in the manifest of a folder what the folder was made from, JSON values."""
    replace_text(Path(folder, MANIFEST), Manifest(read_manifest(folder).files, about).to_json())


def verified(path: str | Path) -> Path:
    """A file of a folder that a stage has written, once its size and hash are known to be those of the manifest.

    Raises:
        UserError: the file or the manifest is missing or damaged.
    """
    path = Path(path)
    folder = _folder_of(path)
    expected = read_manifest(folder).files.get(path.relative_to(folder).as_posix())
    if expected is None:
        raise UserError(f"{path}: expected a file that {folder / MANIFEST} names; {_remedy(folder)}")
    try:
        found = _contents(path, _signature(path))
    except FileNotFoundError:
        raise UserError(f"{path}: no such file, and {folder / MANIFEST} names it; {_remedy(folder)}") from None
    if found != expected:
        sizes = f"{expected[0]:,} bytes, found {found[0]:,}" if found[0] != expected[0] else "other bytes"
        raise UserError(f"{path}: damaged: expected {sizes} by {folder / MANIFEST}; {_remedy(folder)}")
    return path


def verified_files(folder: str | Path, pattern: str = "*") -> list[Path]:
    """The files of a folder whose names match, in order of name, each as `verified` gives it."""
    folder = Path(folder)
    root = _folder_of(folder / "any")
    paths = [root / name for name in sorted(read_manifest(root).files)]
    return [verified(path) for path in paths if path.parent == folder and fnmatchcase(path.name, pattern)]


def _folder_of(path: Path) -> Path:
    """The folder out that a file lies in: the nearest that has a manifest."""
    return next((folder for folder in path.parents if (folder / MANIFEST).is_file()), path.parent)


def _remedy(folder: str | Path) -> str:
    return (
        f"remove {folder} and run `dvc repro`, which makes it anew; should the same come back from DVC's cache, "
        "`chmod -R u+w .dvc/cache/files` first has DVC look at that"
    )


def _signature(path: Path) -> tuple[int, int, int]:
    """What changes when a file is written again."""
    state = path.stat()
    return state.st_ino, state.st_size, state.st_mtime_ns


@functools.cache
def _read_manifest(path: Path, signature: tuple[int, int, int]) -> Manifest:
    try:
        text = path.read_text(encoding="utf-8")
        said = json.loads(text)
        manifest = Manifest({name: (size, digest) for name, (size, digest) in said["files"].items()}, said["about"])
        whole = text == manifest.to_json()
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        whole = False
    if not whole:
        raise UserError(f"{path}: damaged: expected what a stage wrote; {_remedy(path.parent)}")
    return manifest


@functools.cache
def _contents(path: Path, signature: tuple[int, int, int]) -> tuple[int, str]:
    return signature[1], content_hash(path)


def content_hash(path: Path) -> str:
    """The XXH3 of what a file holds, 128 bits in hex."""
    digest = xxhash.xxh3_128()
    with open(path, "rb") as file:
        while piece := file.read(PIECE):
            digest.update(piece)
    return digest.hexdigest()


def _hash_of(described: Mapping[str, Any]) -> str:
    return xxhash.xxh3_128_hexdigest(json.dumps(described, sort_keys=True).encode())
