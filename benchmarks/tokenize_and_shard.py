"""The stages tokenize and shard beside the tokenizer alone, on the default corpus."""

from __future__ import annotations

import tempfile
from pathlib import Path

from benchmarks.default_data import DefaultData
from benchmarks.measure import Row, alternate
from perlayer.data.corpus import read_corpus

BOUND = 1.3
PAIRS = 8


def rows() -> list[Row]:
    data = DefaultData.read()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        data.build_corpus(folder)
        tokenizer, sizes = data.tokenize(folder, None, into="trained")
        texts = [text for group in read_corpus(folder / "corpus") for text in group]

        def stages() -> None:
            data.tokenize(folder, folder / "trained", into="tokenizer")
            data.write_shards(folder)

        ratio = alternate(stages, lambda: tokenizer.backend.encode_batch(texts), PAIRS)
    note = f"{sizes['corpus'].text_bytes / 1e6:.1f} MB, {sizes['corpus'].tokens / 1e6:.1f} million tokens"
    return [ratio.row("tokenize and shard ÷ encode_batch of tokenizers", BOUND, note)]
