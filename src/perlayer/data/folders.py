"""The folders that the data stages write, and array files that grow as they are written."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType

import numpy as np

from perlayer.errors import UserError


@contextmanager
def new_folder(path: str | Path) -> Iterator[Path]:
    """Make an empty folder to write to; what an earlier run left there is removed, and so is half-written work.

    Raises:
        UserError: the folder cannot be written.
    """
    path = Path(path)
    try:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        path.mkdir(parents=True)
    except OSError as error:
        raise UserError(f"{path}: expected a folder that can be written, found: {error.strerror}") from None
    try:
        yield path
    except BaseException:
        shutil.rmtree(path, ignore_errors=True)
        raise


class ArrayWriter:
    """Writes a one-dimensional .npy file piece by piece, so that an array larger than memory can be written.

    numpy pads the header for a length that grows, so the header written first has the size of the last one.
    """

    def __init__(self, path: Path, dtype: np.dtype | type):
        self.dtype = np.dtype(dtype).newbyteorder("<")
        self.length = 0
        self._file = open(path, "wb")
        self._write_header()

    def _write_header(self) -> None:
        header = {"descr": np.lib.format.dtype_to_descr(self.dtype), "fortran_order": False, "shape": (self.length,)}
        np.lib.format.write_array_header_1_0(self._file, header)

    def append(self, values: np.ndarray) -> None:
        """Append a one-dimensional array; its values must fit the type of the file."""
        values = np.asarray(values).astype(self.dtype)
        self._file.write(values.tobytes())
        self.length += len(values)

    def __enter__(self) -> ArrayWriter:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None):
        try:
            if kind is None:
                self._file.seek(0)
                self._write_header()
        finally:
            self._file.close()


def read_array(path: Path) -> np.ndarray:
    """Map a .npy file into memory, read-only.

    Raises:
        UserError: the file is missing or is no whole .npy file.
    """
    try:
        return np.asarray(np.load(path, mmap_mode="r"))
    except FileNotFoundError:
        raise UserError(f"{path}: no such file; run the stage that writes it") from None
    except (ValueError, EOFError, OSError) as error:
        raise UserError(f"{path}: expected a whole .npy file, found: {' '.join(str(error).split())}") from None
