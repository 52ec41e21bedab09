"""The stages tokenize and shard beside the tokenizer alone, on the default corpus."""

from __future__ import annotations

import tempfile
from pathlib import Path

from benchmarks.measure import Row, alternate
from benchmarks.project import ROOT, SIZE
from perlayer import params
from perlayer.data.corpus import build_corpus, read_corpus
from perlayer.data.settings import BatchSettings, CorpusSettings, ShardSettings, TokenizerSettings, parse_part
from perlayer.data.shards import write_shards
from perlayer.data.tokens import tokenize

BOUND = 1.3
PAIRS = 8


def rows() -> list[Row]:
    choices = params.load(ROOT / "params.yaml")
    data, where = params.recipe(choices, "data", SIZE)
    corpus_settings = parse_part(CorpusSettings, data, where)
    vocab_size = parse_part(TokenizerSettings, data, where).vocab_size
    shard_settings = parse_part(ShardSettings, data, where)
    batch = parse_part(BatchSettings, *params.recipe(choices, "train", SIZE)).batch
    with tempfile.TemporaryDirectory() as folder:
        corpus, trained, tokenizer_folder, tokens, shards = (
            Path(folder, name) for name in ("corpus", "trained", "tokenizer", "tokens", "shards")
        )
        build_corpus(corpus_settings.corpus, corpus_settings.text_column, corpus)
        tokenizer, sizes = tokenize(corpus, None, vocab_size, trained, tokens)
        texts = [text for group in read_corpus(corpus) for text in group]

        def stages() -> None:
            tokenize(corpus, str(trained), vocab_size, tokenizer_folder, tokens)
            write_shards(
                tokens,
                shards,
                val_fraction=shard_settings.val_fraction,
                sequence_length=shard_settings.sequence_length,
                seed=shard_settings.seed,
                batch=batch,
            )

        ratio = alternate(stages, lambda: tokenizer.backend.encode_batch(texts), PAIRS)
    note = f"{sizes['corpus'].text_bytes / 1e6:.1f} MB, {sizes['corpus'].tokens / 1e6:.1f} million tokens"
    return [ratio.row("tokenize and shard ÷ encode_batch of tokenizers", BOUND, note)]
