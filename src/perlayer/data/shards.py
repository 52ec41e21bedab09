"""The shards: the tokens cut to sequences, in the final data order, as MDS, with a description of the data set."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import numpy as np

from perlayer.data.corpus import VALIDATION
from perlayer.data.dataset import COLUMN, Dataset
from perlayer.data.folders import read_array
from perlayer.data.tokens import Tokens, Vocabulary, read_tokens, read_vocabulary
from perlayer.errors import UserError
from perlayer.store import fresh_folder

# How much of the text memory holds at once.
BLOCK_TOKENS = 2**20


class DocumentStream:
    """Some documents of a text, one after another, as if they were one array of tokens."""

    def __init__(self, tokens: Tokens, documents: np.ndarray):
        """Take the documents (int64 indices, ascending) of `tokens`."""
        self._ids = tokens.ids
        # Neighbours in the text are one span, so that most reads are one slice.
        first = np.diff(documents, prepend=-2) != 1
        last = np.roll(first, -1)  # the document before each first one, and the very last
        self._starts = tokens.offsets[documents[first]]
        self._ends = np.cumsum(tokens.offsets[documents[last] + 1] - self._starts)
        self._shifts = self._starts - np.concatenate([[0], self._ends[:-1]])  # from the stream to the text

    def __len__(self) -> int:
        return int(self._ends[-1]) if len(self._ends) else 0

    def read(self, start: int, stop: int) -> np.ndarray:
        """Tokens start ... stop - 1 of the stream."""
        pieces = []
        span = int(np.searchsorted(self._ends, start, side="right"))
        while start < stop:
            last = min(stop, int(self._ends[span]))
            shift = int(self._shifts[span])
            pieces.append(self._ids[shift + start : shift + last])
            start = last
            span += 1
        return np.concatenate(pieces)

    def read_rows(self, starts: np.ndarray, length: int) -> np.ndarray:
        """`length` tokens of the stream from each of `starts` (int64): shape (len(starts), length)."""
        spans = np.searchsorted(self._ends, starts, side="right")
        inside = starts + length <= self._ends[spans]
        rows = np.empty((len(starts), length), self._ids.dtype)
        windows = np.lib.stride_tricks.sliding_window_view(self._ids, length)
        rows[inside] = windows[(starts + self._shifts[spans])[inside]]
        for row in np.flatnonzero(~inside):
            rows[row] = self.read(int(starts[row]), int(starts[row]) + length)
        return rows


def write_shards(
    tokens: str | Path,
    destination: str | Path,
    *,
    val_fraction: float,
    sequence_length: int,
    seed: int,
    batch: int,
) -> Dataset:
    """Write `destination/{train,val}/` (MDS), `dataset.json` and `bytes_per_token.npy`.

    Without a validation text, a seeded choice of `val_fraction` of the documents is held out, one at least; documents
    of the same tokens count as one, so that none is ever on both sides. With a validation text nothing is held out,
    and documents of the training text that also stand in the validation text are left out.

    Documents are concatenated in order and cut to rows of `sequence_length + 1` tokens; the last token of a row is
    also the first of the next, so that every token but the first is a target once. What remains at the end is
    dropped. Rows of the train split are permuted fully by `seed`; those of the val split keep their order. Memory
    holds the indices of the rows, not the tokens.

    Args:
        tokens: the folder that `tokenize` wrote.
        destination: a folder; what it held is removed.
        batch: sequences an update of training takes; there must be enough for one.

    Raises:
        UserError: there is too little text for one batch or for one validation sequence, the tokens cannot be read,
            or `destination` cannot be written.
    """
    tokens = Path(tokens)
    vocabulary = read_vocabulary(tokens)
    text = read_tokens(tokens)
    bytes_per_token = read_array(tokens / "bytes_per_token.npy")
    generator = np.random.Generator(np.random.PCG64(seed))
    if (tokens / VALIDATION).is_dir():
        val_text = read_tokens(tokens / VALIDATION)
        held_out = np.isin(document_keys(text), document_keys(val_text))
        val_documents = np.arange(val_text.documents)
        shared = int(held_out.sum())
    else:
        val_text = text
        held_out = choose_held_out(document_keys(text), val_fraction, generator)
        val_documents = np.flatnonzero(held_out)
        shared = 0
    train_documents = np.flatnonzero(~held_out)
    train = DocumentStream(text, train_documents)
    val = DocumentStream(val_text, val_documents)
    train_sequences = max(0, len(train) - 1) // sequence_length
    val_sequences = max(0, len(val) - 1) // sequence_length
    if train_sequences < batch:
        raise UserError(
            f"the training text: expected at least one batch of {batch} sequences of {sequence_length} tokens, "
            f"found {train_sequences} ({len(train)} tokens); "
            "give more text, or lower the sequence length or the batch"
        )
    if val_sequences < 2:
        raise UserError(
            f"the validation text: expected at least two sequences of {sequence_length} tokens, for standard errors, "
            f"found {len(val)} tokens; raise data.val_fraction, or lower the sequence length"
        )
    dataset = Dataset(
        sequence_length=sequence_length,
        vocab_size=vocabulary.vocab_size,
        bos_id=vocabulary.bos_id,
        eos_id=vocabulary.eos_id,
        train_documents=len(train_documents),
        train_sequences=train_sequences,
        train_tokens=train_sequences * sequence_length,
        train_tokens_dropped=len(train) - 1 - train_sequences * sequence_length,
        val_documents=len(val_documents),
        val_sequences=val_sequences,
        val_tokens=val_sequences * sequence_length,
        val_tokens_dropped=len(val) - 1 - val_sequences * sequence_length,
        val_bytes=_target_bytes(val, val_sequences, sequence_length, bytes_per_token),
        shared_documents_dropped=shared,
    )
    order = generator.permutation(train_sequences)
    with fresh_folder(destination) as folder:
        _write_split(train, order, folder / "train", sequence_length, vocabulary)
        _write_split(val, np.arange(val_sequences), folder / "val", sequence_length, vocabulary)
        np.save(folder / "bytes_per_token.npy", bytes_per_token)
        (folder / "dataset.json").write_text(json.dumps(asdict(dataset), indent=2) + "\n")
    return dataset


def document_keys(tokens: Tokens) -> np.ndarray:
    """A 64-bit hash of the tokens of each document, uint64: equal documents have equal keys."""
    import xxhash

    keys = np.empty(tokens.documents, np.uint64)
    for document in range(tokens.documents):
        content = np.ascontiguousarray(tokens.ids[tokens.offsets[document] : tokens.offsets[document + 1]])
        keys[document] = xxhash.xxh3_64_intdigest(content)
    return keys


def choose_held_out(keys: np.ndarray, fraction: float, generator: np.random.Generator) -> np.ndarray:
    """Choose a share of the distinct documents, one at least and never all: a mask over all documents.

    Raises:
        UserError: there are fewer than two distinct documents.
    """
    _, first, group = np.unique(keys, return_index=True, return_inverse=True)
    distinct = len(first)
    if distinct < 2:
        raise UserError(
            f"the corpus: expected at least two different documents, so that one can be held out, found {distinct}; "
            "give more files or rows (a .txt file is one document), or name a text in data.validation"
        )
    # Numbered by where they first stand, so that the choice does not depend on the hash.
    number = np.empty(distinct, np.int64)
    number[np.argsort(first)] = np.arange(distinct)
    count = min(max(1, round(fraction * distinct)), distinct - 1)
    chosen = np.zeros(distinct, bool)
    chosen[generator.permutation(distinct)[:count]] = True
    return chosen[number[group]]


def _write_split(
    stream: DocumentStream, rows: np.ndarray, folder: Path, sequence_length: int, vocabulary: Vocabulary
) -> None:
    from streaming import MDSWriter
    from tqdm import tqdm

    class RowWriter(MDSWriter):
        def encode_sample(self, sample: dict[str, np.ndarray]) -> bytes:
            # What the encoding of an array of known type and shape is; the library reads both from text for each row.
            return sample[COLUMN].tobytes()

    length = sequence_length + 1
    columns = {COLUMN: f"ndarray:{vocabulary.dtype.name}:{length}"}
    block = max(1, BLOCK_TOKENS // length)
    with (
        RowWriter(out=str(folder), columns=columns, hashes=["xxh64"]) as writer,
        tqdm(total=len(rows), desc=f"shard {folder.name}", unit=" sequences", disable=None) as progress,
    ):
        for first in range(0, len(rows), block):
            sequences = stream.read_rows(rows[first : first + block] * sequence_length, length)
            for sequence in sequences:
                writer.write({COLUMN: sequence})
            progress.update(len(sequences))


def _target_bytes(stream: DocumentStream, sequences: int, sequence_length: int, bytes_per_token: np.ndarray) -> int:
    stop = sequences * sequence_length + 1
    blocks = (stream.read(first, min(first + BLOCK_TOKENS, stop)) for first in range(1, stop, BLOCK_TOKENS))
    return sum(int(bytes_per_token[block].sum(dtype=np.int64)) for block in blocks)
