"""Batches: what training and evaluation read from the shards."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from perlayer.data.dataset import COLUMN, is_streamed, read_dataset, read_index
from perlayer.data.remote import whole
from perlayer.data.shared_memory import bytes_needed, starting_to_read
from perlayer.lifetimes import end_with_parent_alone

if TYPE_CHECKING:
    import torch
    from streaming import StreamingDataLoader


def train_loader(shards: str | Path, batch_per_process: int, workers: int) -> StreamingDataLoader:
    """The training sequences in the order of the shards, the same in every epoch.

    With any number of processes an update takes the same sequences: batch b of all processes together is rows
    b * batch ... (b + 1) * batch - 1 of the train split, where batch is the sum over processes. A last batch that is
    not full is dropped. The loader resumes within an epoch by `state_dict` and `load_state_dict`.

    Args:
        shards: the folder that `write_shards` wrote.
        batch_per_process: sequences a batch of one process.
        workers: loader processes beside each training process.

    Returns:
        A loader of `{"tokens": int64 tensor (batch_per_process, sequence_length + 1)}`.

    Raises:
        UserError: there is too little shared memory. Iteration raises `NotBrought`, where a shard that lies elsewhere
            cannot be brought.
    """
    from streaming import StreamingDataLoader

    from perlayer.data.local_shards import LocalShards

    dataset, index = read_dataset(shards), read_index(shards, "train")
    processes = int(os.environ.get("LOCAL_WORLD_SIZE", "1"))
    sequence_bytes = 8 * (dataset.sequence_length + 1)
    needed = bytes_needed(dataset.train_sequences, len(index), batch_per_process, processes, workers, sequence_bytes)
    settings = {"shuffle": False, "batch_size": batch_per_process, "num_canonical_nodes": 1}
    with starting_to_read(needed):
        if any(is_streamed(shards, f"train/{shard['raw_data']['basename']}") for shard in index):
            from perlayer.data.streamed_shards import StreamedShards

            data = StreamedShards(shards, **settings)
        else:
            data = LocalShards(local=str(Path(shards, "train")), **settings)
    return StreamingDataLoader(
        data,
        batch_size=batch_per_process,
        num_workers=workers,
        drop_last=True,
        collate_fn=collate,
        worker_init_fn=end_with_parent_alone,
    )


def collate(samples: list[dict[str, np.ndarray]]) -> dict[str, torch.Tensor]:
    """Stack the rows of a batch: `{"tokens": int64 tensor (batch, sequence_length + 1)}`."""
    import torch

    return {COLUMN: torch.from_numpy(np.stack([sample[COLUMN] for sample in samples]).astype(np.int64))}


class Split:
    """The rows of a split by index, mapped from the shard files into memory.

    No rank or worker takes part in it: evaluation on rank r of w processes takes `split[r::w]`.
    """

    def __init__(self, rows: Sequence[int], length: int, open_file: Callable[[int], np.ndarray]):
        """Take how many rows each shard file has, of how many tokens, and what opens a file by its number."""
        self._ends, self._length, self._open = np.cumsum(rows), length, cache(open_file)

    def __len__(self) -> int:
        return int(self._ends[-1])

    def __getitem__(self, index: int | slice | np.ndarray) -> np.ndarray:
        """Rows as int64: (sequence_length + 1,) for a number, (rows, sequence_length + 1) for a slice or an array.

        Raises:
            IndexError: there is no such row.
        """
        rows = np.arange(len(self))[index]
        if rows.ndim == 0:
            return self._row(int(rows))
        return np.stack([self._row(int(row)) for row in rows]) if len(rows) else np.empty((0, self._length), np.int64)

    def _row(self, row: int) -> np.ndarray:
        file = int(np.searchsorted(self._ends, row, side="right"))
        start = int(self._ends[file - 1]) if file else 0
        return self._open(file)[row - start].astype(np.int64)

    def batches(self, size: int, rank: int = 0, world_size: int = 1) -> Iterator[np.ndarray]:
        """Yield rows rank, rank + world_size, ... in batches of `size`, the last one maybe smaller; no row twice."""
        for start in range(rank, len(self), size * world_size):
            yield self[start : start + size * world_size : world_size]


def read_split(shards: str | Path, split: str) -> Split:
    """Open the `train` or `val` split for reading by index; a file is opened once a row of it is read.

    Raises:
        UserError: a file is missing or damaged.
    """
    length, index = read_dataset(shards).sequence_length + 1, read_index(shards, split)

    def rows(file: int) -> np.ndarray:
        shard = index[file]
        return _map_rows(whole(shards, f"{split}/{shard['raw_data']['basename']}"), shard, length)

    return Split([shard["samples"] for shard in index], length, rows)


def _map_rows(path: Path, shard: dict, length: int) -> np.ndarray:
    """Map the rows of one MDS file.

    The file holds, as uint32, the number of samples and where each begins and the last ends; then its
    configuration; then the samples, which are the bare arrays, since their type and shape are part of the column.
    """
    content = np.memmap(path, np.uint8, "r")
    begin, end = (int(content[4 * entry : 4 * entry + 4].view(np.uint32)[0]) for entry in (1, shard["samples"] + 1))
    return content[begin:end].view(np.dtype(shard["column_encodings"][0].split(":")[1])).reshape(-1, length)
