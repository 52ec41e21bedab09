"""Folders that appear whole."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def fresh_folder(folder: Path) -> Iterator[Path]:
    """A folder that appears under its name only when everything in it is written; what was there before goes."""
    partial = folder.with_name(f".{folder.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    yield partial
    shutil.rmtree(folder, ignore_errors=True)
    os.replace(partial, folder)
