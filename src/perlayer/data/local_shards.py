"""Shards that lie here and stay, as streaming reads them."""

from __future__ import annotations

from typing import Any

from streaming import StreamingDataset

from perlayer.data.shared_memory import hold


class LocalShards(StreamingDataset):
    """A `StreamingDataset` without a remote, which makes each shard ready once.

    Streaming does so again for each sample, in case a shard was evicted meanwhile, and takes a file lock to do it: a
    sixth of the time that a small model trains.
    """

    def __init__(self, **settings: Any):
        super().__init__(**settings)
        hold(self._locals_shm.shm._fd)
        self._ready: set[int] = set()

    def prepare_shard(self, shard_id: int, blocking: bool = True) -> None:
        """Make a shard ready, unless that is done; wait where another process is at it, whatever `blocking` says."""
        if shard_id not in self._ready:
            super().prepare_shard(shard_id)
            self._ready.add(shard_id)
