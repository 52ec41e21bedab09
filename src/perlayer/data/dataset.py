"""What the shards hold, as those who read them see it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

import numpy as np

from perlayer.data.remote import is_elsewhere, manifest_of, whole

SPLITS = ("train", "val")
COLUMN = "tokens"


@dataclass(frozen=True)
class Dataset:
    """What `dataset.json` says of the shards. Tokens are targets: sequences x sequence length."""

    sequence_length: int
    vocab_size: int
    bos_id: int | None  # None: a document begins with its text
    eos_id: int
    train_documents: int
    train_sequences: int
    train_tokens: int
    train_tokens_dropped: int  # at the end, too few for a sequence
    val_documents: int
    val_sequences: int
    val_tokens: int
    val_tokens_dropped: int
    val_bytes: int  # UTF-8 bytes of the validation targets
    shared_documents_dropped: int  # documents of the training text that also stand in the validation text


def read_dataset(shards: str | Path) -> Dataset:
    """Read `dataset.json` of the folder that `write_shards` wrote.

    Raises:
        UserError: the file is missing or damaged.
    """
    return Dataset(**json.loads(whole(shards, "dataset.json").read_text()))


def read_bytes_per_token(shards: str | Path) -> np.ndarray:
    """UTF-8 bytes that each token id stands for: int32, shape (vocab_size,).

    Raises:
        UserError: the file is missing or damaged.
    """
    return np.load(whole(shards, "bytes_per_token.npy"))


def read_index(shards: str | Path, split: str) -> list[dict]:
    """The shards that `index.json` of a split names, in order.

    Raises:
        UserError: the file is missing or damaged.
    """
    return json.loads(whole(shards, f"{split}/index.json").read_text())["shards"]


def verify_shards(shards: str | Path) -> None:
    """Check every file of the splits, before streaming reads them; what is streamed from elsewhere is checked then.

    Raises:
        UserError: names the file that is missing or damaged.
    """
    for name in sorted(manifest_of(shards).files):
        if name.startswith(tuple(f"{split}/" for split in SPLITS)) and not is_streamed(shards, name):
            whole(shards, name)


def is_streamed(shards: str | Path, name: str) -> bool:
    """Whether a file of the shards is brought here only while training reads it."""
    return fnmatchcase(name, "train/*.mds") and is_elsewhere(shards, name)
