"""The section `data` of a recipe, whole and in the parts that each stage reads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, TypeVar

from perlayer.errors import require
from perlayer.params import parse

# A byte-level vocabulary holds the 256 bytes, the beginning and the end of a document.
LEAST_VOCAB_SIZE = 258

LARGEST_VOCAB_SIZE = 10_000_000


def _is_name(value: str | None) -> bool:
    return value is None or bool(value) and value.isprintable()


_CHECKS = {
    "corpus": (_is_name, "a name, path, glob or URL"),
    "text_column": (bool, "the name of a column"),
    "validation": (_is_name, "a name, path, glob or URL, or null"),
    "tokenizer": (_is_name, "a tokenizer.json, folder or hub name, or null"),
    "vocab_size": (
        lambda value: LEAST_VOCAB_SIZE <= value <= LARGEST_VOCAB_SIZE,
        f"a whole number of at least {LEAST_VOCAB_SIZE} (256 bytes, beginning and end of document) "
        f"and at most {LARGEST_VOCAB_SIZE}",
    ),
    "val_fraction": (lambda value: 0 < value < 1, "a share above 0 and below 1"),
    "sequence_length": (lambda value: value >= 1, "a whole number of at least 1"),
    "batch": (lambda value: value >= 1, "at least 1 sequence"),
    "seed": (lambda value: value >= 0, "a whole number of at least 0"),
}


class _Checked:
    """Checks the value of every field of a dataclass that has a rule above."""

    def __post_init__(self) -> None:
        for field in fields(self):
            holds, expected = _CHECKS.get(field.name, (lambda _: True, ""))
            value = getattr(self, field.name)
            require(bool(holds(value)), field.name, expected, value)


@dataclass(frozen=True)
class CorpusSettings(_Checked):
    """What the stage `corpus` reads."""

    corpus: str
    text_column: str
    validation: str | None


@dataclass(frozen=True)
class TokenizerSettings(_Checked):
    """What the stage `tokenize` reads."""

    tokenizer: str | None
    vocab_size: int


@dataclass(frozen=True)
class ShardSettings(_Checked):
    """What the stage `shard` reads."""

    val_fraction: float
    sequence_length: int
    seed: int


@dataclass(frozen=True)
class BatchSettings(_Checked):
    """What the stage `shard` reads of the section `train`."""

    batch: int


@dataclass(frozen=True)
class DataSettings(CorpusSettings, TokenizerSettings, ShardSettings):
    """The whole section `data`."""

    block_cross_document: bool


Part = TypeVar("Part", CorpusSettings, TokenizerSettings, ShardSettings, BatchSettings)


def parse_part(cls: type[Part], section: Mapping[str, Any], where: str) -> Part:
    """Parse only the keys of a section that `cls` names, so that a stage reads no more than it tracks.

    Raises:
        UserError: a key is missing or its value is impossible.
    """
    if not isinstance(section, Mapping):
        return parse(cls, section, where)
    return parse(cls, {field.name: section[field.name] for field in fields(cls) if field.name in section}, where)
