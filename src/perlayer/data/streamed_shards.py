"""Shards that lie elsewhere, as streaming reads them: each is brought here shortly before it is due."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path
from threading import Lock
from typing import Any

from streaming import Stream
from streaming.base.dataset import _ShardState

from perlayer.data.local_shards import LocalShards
from perlayer.data.remote import bring, cache


class _NotLookedAt(Stream):
    """A folder of which nothing is taken for whole because it lies there."""

    def set_up_local(self, shards: Any, cache_usage_per_shard: Any) -> None:
        """Say that no shard is here."""
        cache_usage_per_shard[:] = 0


class StreamedShards(LocalShards):
    """A `StreamingDataset` that has its shards brought by `perlayer.data.remote`, and raises where that fails.

    Streaming's own downloads do not do. What they bring lies where no other run may use it; one that differs from its
    hash stays there, and is taken for whole the next time; where one fails, the samples end as if there were no more,
    and the other processes wait for it for ever.
    """

    def __init__(self, shards: str | Path, **settings: Any):
        """Take the folder of the shards, whose train split is read, and what streaming is told."""
        bring(shards, "train/index.json")
        super().__init__(streams=[_NotLookedAt(local=str(cache(shards) / "train"))], **settings)
        self._folder = shards
        self._failure: BaseException | None = None

    def prepare_shard(self, shard_id: int, blocking: bool = True) -> None:
        """Bring a shard, unless this process has, and it is still here; once that has failed, do nothing."""
        name = self.shards[shard_id].raw_data.basename
        with self._one_at_a_time:
            if self._failure is not None:
                return
            if shard_id not in self._ready or not Path(self.streams[0].local, name).exists():
                try:
                    bring(self._folder, f"train/{name}", patient=bool(self._ready))
                except BaseException as error:
                    self._failure = error
                    raise
                self._ready.add(shard_id)
            self._shard_states[shard_id] = _ShardState.LOCAL

    def on_exception(self, future: Future) -> None:
        """End the iteration where a thread that reads ahead has failed; it waits for both to say that they ended."""
        if future.exception() is not None:
            self._event.set()
            self._iterator.on_exit()

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """The samples of an epoch, or of what is left of it.

        Raises:
            NotBrought: a shard cannot be brought.
        """
        self._one_at_a_time = Lock()
        try:
            yield from super().__iter__()
        except RuntimeError:  # streaming's own, where it finds that a thread has failed
            if self._failure is None:
                raise
        if self._failure is not None:
            raise self._failure
