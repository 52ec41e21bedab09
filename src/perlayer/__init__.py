"""What does each layer of a language model contribute? The package behind the DVC pipeline."""

import os
import sys
import zlib
from importlib.machinery import SOURCE_SUFFIXES, FileFinder, SourceFileLoader


class _ByContent(SourceFileLoader):
    """Takes compiled code for that of a source by what it holds: its size and its second may outlive an edit."""

    def path_stats(self, path):
        source = self.get_data(path)
        return {"mtime": zlib.crc32(source), "size": len(source)}


def _find_own(folder):
    if not (folder + os.sep).startswith(__path__[0] + os.sep):
        raise ImportError
    return FileFinder(folder, (_ByContent, SOURCE_SUFFIXES))


sys.path_hooks.insert(0, _find_own)
