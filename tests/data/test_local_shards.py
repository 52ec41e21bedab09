"""Reading shards that lie here: the rows of streaming's own reader, and each shard made ready once."""

import numpy as np
import pytest
from streaming import MDSWriter, StreamingDataset
from streaming.base.util import clean_stale_shared_memory

from perlayer.data.local_shards import LocalShards

ROWS, LENGTH = 60, 5


@pytest.fixture
def shards(tmp_path):
    """Three files of twenty rows."""
    folder = tmp_path / "shards"
    size = (20 + 0.5) * (LENGTH * 2 + 4)  # what a row and its offset take
    with MDSWriter(out=str(folder), columns={"tokens": f"ndarray:uint16:{LENGTH}"}, size_limit=int(size) + 200) as out:
        for row in range(ROWS):
            out.write({"tokens": np.full(LENGTH, row, np.uint16)})
    return folder


def read(kind, folder):
    clean_stale_shared_memory()
    data = kind(local=str(folder), shuffle=False, batch_size=4, num_canonical_nodes=1)
    return data, [[sample["tokens"].tolist() for sample in data] for _ in range(2)]


def test_rows_are_those_of_streaming_in_every_epoch(shards):
    _, expected = read(StreamingDataset, shards)
    data, found = read(LocalShards, shards)
    assert found == expected and len(found[0]) == ROWS
    assert len(data.shards) > 1


def test_shards_are_made_ready_once_and_not_for_each_row(shards, monkeypatch):
    prepared = []
    streaming_prepares = StreamingDataset.prepare_shard

    def counted(self, shard_id, blocking=True):
        prepared.append(shard_id)
        streaming_prepares(self, shard_id, blocking)

    monkeypatch.setattr(StreamingDataset, "prepare_shard", counted)
    data, _ = read(LocalShards, shards)
    assert set(prepared) == set(range(len(data.shards)))
    assert len(prepared) <= 2 * len(data.shards) < ROWS / 5  # two threads may come to one at the same time
