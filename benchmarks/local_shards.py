"""Reading the default size's training sequences as training does, beside streaming's own reader of the same shards."""

from __future__ import annotations

import tempfile
from collections import deque
from itertools import islice
from pathlib import Path

from streaming import StreamingDataset

from benchmarks.default_data import DefaultData
from benchmarks.measure import Row, alternate
from perlayer.data.local_shards import LocalShards

BOUND = 0.5
SEQUENCES = 4000
PAIRS = 10


def rows() -> list[Row]:
    with tempfile.TemporaryDirectory() as folder:
        data = DefaultData.read()
        data.build_corpus(Path(folder))
        data.tokenize(Path(folder), None, into="tokenizer")
        data.write_shards(Path(folder))
        settings = dict(local=str(Path(folder, "shards/train")), shuffle=False, batch_size=32, num_canonical_nodes=1)
        ours, streaming = LocalShards(**settings), StreamingDataset(**settings)

        def read(dataset: StreamingDataset) -> None:
            deque(islice(dataset, SEQUENCES), maxlen=0)

        measured = alternate(lambda: read(ours), lambda: read(streaming), PAIRS)
    return [measured.row("read shards that lie here ÷ streaming's reader", BOUND, f"{SEQUENCES} sequences")]
