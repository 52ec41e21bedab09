"""How memory that one update frees is kept for the next."""

from __future__ import annotations

import ctypes
import os
import sys

TRIM_THRESHOLD, TOP_PAD, MMAP_THRESHOLD = -1, -2, -3  # of mallopt(3)
MIB = 2**20


def keep_freed_memory() -> None:
    """Let glibc keep what is freed instead of giving it back, and CUDA grow its blocks; elsewhere nothing is done.

    Every update frees and takes the same sizes. Given back, each page would be mapped and zeroed anew every time.
    """
    os.environ.setdefault("PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True")
    if sys.platform == "linux":
        mallopt = getattr(ctypes.CDLL(None), "mallopt", None)  # musl has none
        if mallopt is not None:
            mallopt(MMAP_THRESHOLD, 4 * MIB)  # what is larger costs so much work that its pages do not matter
            mallopt(TRIM_THRESHOLD, 128 * MIB)
            mallopt(TOP_PAD, 4 * MIB)
