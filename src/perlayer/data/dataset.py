"""What the shards hold, as those who read them see it, and whether they are whole."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from perlayer.errors import UserError

SPLITS = ("train", "val")
COLUMN = "tokens"
HASH = "xxh64"


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
        UserError: the file is missing or holds something else.
    """
    path = Path(shards, "dataset.json")
    try:
        return Dataset(**json.loads(path.read_text()))
    except FileNotFoundError:
        raise UserError(f"{path}: no such file; run the stage shard") from None
    except (ValueError, TypeError) as error:
        raise UserError(f"{path}: expected the description of a data set, found: {error}") from None


def read_bytes_per_token(shards: str | Path) -> np.ndarray:
    """UTF-8 bytes that each token id stands for: int32, shape (vocab_size,)."""
    path = Path(shards, "bytes_per_token.npy")
    try:
        return np.load(path)
    except FileNotFoundError:
        raise UserError(f"{path}: no such file; run the stage shard") from None
    except (ValueError, EOFError) as error:
        raise UserError(f"{path}: expected a whole .npy file, found: {error}") from None


def read_index(shards: str | Path, split: str) -> list[dict]:
    """The shards that `index.json` of a split names, in order.

    Raises:
        UserError: the file is missing, is no index, or names no shard.
    """
    path = Path(shards, split, "index.json")
    try:
        index = json.loads(path.read_text())["shards"]
        for shard in index:
            shard["raw_data"]["basename"], shard["raw_data"]["bytes"], shard["raw_data"]["hashes"], shard["samples"]
    except FileNotFoundError:
        raise UserError(f"{path}: no such file; run the stage shard") from None
    except (ValueError, KeyError, TypeError) as error:
        raise UserError(f"{path}: expected the index of MDS shards, found: {type(error).__name__}: {error}") from None
    if not index:
        raise UserError(f"{path}: expected at least one shard, found none")
    return index


def verify_shards(shards: str | Path) -> None:
    """Check every shard file against the size and the hash in its index.

    Raises:
        UserError: names the file that is missing, truncated or corrupted.
    """
    read_dataset(shards)
    for split in SPLITS:
        for shard in read_index(shards, split):
            _verify_file(Path(shards, split, shard["raw_data"]["basename"]), shard["raw_data"])


def _verify_file(path: Path, expected: dict) -> None:
    import xxhash

    try:
        size = path.stat().st_size
        if size != expected["bytes"]:
            raise UserError(f"{path}: truncated or corrupted shard: expected {expected['bytes']} bytes, found {size}")
        digest = xxhash.xxh64()
        with open(path, "rb") as file:
            while piece := file.read(2**20):
                digest.update(piece)
    except FileNotFoundError:
        raise UserError(f"{path}: no such file; expected the shard that index.json names") from None
    if digest.hexdigest() != expected["hashes"].get(HASH):
        raise UserError(
            f"{path}: corrupted shard: expected the {HASH} {expected['hashes'].get(HASH)}, found {digest.hexdigest()}"
        )
