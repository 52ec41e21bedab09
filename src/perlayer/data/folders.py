"""Array files that grow as they are written, and are read without being loaded."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType

import numpy as np

from perlayer.store import verified


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
        UserError: the file is missing or damaged.
    """
    return np.asarray(np.load(verified(path), mmap_mode="r"))
