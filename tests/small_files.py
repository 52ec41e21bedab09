"""Shards of many small files."""

from unittest.mock import patch

import streaming


def small_files(size):
    """A context in which shards are written in files of at most `size` bytes."""

    class SmallWriter(streaming.MDSWriter):
        def __init__(self, **arguments):
            super().__init__(**arguments, size_limit=size)

    return patch.object(streaming, "MDSWriter", SmallWriter)
