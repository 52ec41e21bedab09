"""The default corpus on its way to shards, as the stages take it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from benchmarks.project import ROOT, SIZE
from perlayer import params
from perlayer.data import corpus, shards, tokens
from perlayer.data.settings import BatchSettings, CorpusSettings, ShardSettings, TokenizerSettings, parse_part
from perlayer.data.tokenizer import Tokenizer
from perlayer.data.tokens import TokensSize


@dataclass(frozen=True)
class DefaultData:
    """What the default size chooses of its data; each step reads and writes below one folder."""

    corpus: CorpusSettings
    vocab_size: int
    shards: ShardSettings
    batch: int

    @classmethod
    def read(cls) -> DefaultData:
        """The choices of params.yaml."""
        choices = params.load(ROOT / "params.yaml")
        data, where = params.recipe(choices, "data", SIZE)
        return cls(
            parse_part(CorpusSettings, data, where),
            parse_part(TokenizerSettings, data, where).vocab_size,
            parse_part(ShardSettings, data, where),
            parse_part(BatchSettings, *params.recipe(choices, "train", SIZE)).batch,
        )

    def build_corpus(self, folder: Path) -> None:
        corpus.build_corpus(self.corpus.corpus, self.corpus.text_column, folder / "corpus")

    def tokenize(self, folder: Path, tokenizer: Path | None, into: str) -> tuple[Tokenizer, dict[str, TokensSize]]:
        """Tokenize with an existing tokenizer, or a trained one; it is written into the folder `into`."""
        existing = None if tokenizer is None else str(tokenizer)
        return tokens.tokenize(folder / "corpus", existing, self.vocab_size, folder / into, folder / "tokens")

    def write_shards(self, folder: Path) -> None:
        shards.write_shards(
            folder / "tokens",
            folder / "shards",
            val_fraction=self.shards.val_fraction,
            sequence_length=self.shards.sequence_length,
            seed=self.shards.seed,
            batch=self.batch,
        )
