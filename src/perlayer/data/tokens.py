"""The tokens of a corpus: every document as BOS (if any), its tokens, EOS, one after another in one flat array."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from perlayer.data.corpus import VALIDATION, corpus_bytes, read_corpus
from perlayer.data.folders import ArrayWriter, read_array
from perlayer.data.tokenizer import Tokenizer, load_published_tokenizer, load_tokenizer, spread, train_tokenizer
from perlayer.errors import UserError, shortened
from perlayer.store import fresh_folder, verified, verified_files


@dataclass(frozen=True)
class Vocabulary:
    """What the later stages need to know of the tokenizer."""

    vocab_size: int
    bos_id: int | None  # None: a document begins with its text
    eos_id: int

    @property
    def dtype(self) -> np.dtype:
        """The smallest unsigned integer that holds every id."""
        return np.min_scalar_type(self.vocab_size - 1)


@dataclass(frozen=True)
class Tokens:
    """The tokens of a text, mapped into memory."""

    ids: np.ndarray  # (tokens,), unsigned
    offsets: np.ndarray  # (documents + 1,), int64: document d is ids[offsets[d]:offsets[d + 1]]

    @property
    def documents(self) -> int:
        return len(self.offsets) - 1


@dataclass(frozen=True)
class TokensSize:
    """How many documents, tokens and bytes a text has; bytes as read, and as its tokens count them."""

    documents: int
    tokens: int
    text_bytes: int
    token_bytes: int


def tokenize(
    corpus: str | Path,
    tokenizer: str | None,
    vocab_size: int,
    tokenizer_folder: str | Path,
    tokens_folder: str | Path,
) -> tuple[Tokenizer, dict[str, TokensSize]]:
    """Make or load the tokenizer, and write the tokens of a corpus and of its validation text.

    Writes `tokenizer.json` and `tokenizer_config.json` to `tokenizer_folder`; to `tokens_folder`: `tokens.npy`
    (unsigned, the smallest type that holds the vocabulary), `offsets.npy` (int64), `bytes_per_token.npy` (int32),
    `vocabulary.json`, and `validation/{tokens,offsets}.npy` if the corpus has a validation text.

    A tokenizer is trained on the main text with the documents that will be held out, as the texts that one evaluates
    on are never kept from the makers of an existing tokenizer; of a text over 1 GiB, on evenly spread documents.

    Args:
        corpus: the folder that `build_corpus` wrote.
        tokenizer: a tokenizer.json, a folder or a hub name, or None to train one.
        vocab_size: how many ids the model has; the tokenizer may have fewer.

    Returns:
        The tokenizer, and the sizes under `corpus` and, if there is one, `validation`.

    Raises:
        UserError: the corpus or tokenizer cannot be read, the tokenizer has more than `vocab_size` tokens or loses
            bytes of a document, or a folder cannot be written.
    """
    if tokenizer is None:
        made = train_tokenizer(spread(read_corpus(corpus), corpus_bytes(corpus)), vocab_size)
    else:
        made = load_tokenizer(tokenizer)
    if made.size > vocab_size:
        raise UserError(f"data.vocab_size: expected at least the {made.size} of {tokenizer}, found {vocab_size}")
    bytes_per_token = made.bytes_per_token(vocab_size)
    made.save(tokenizer_folder)
    return made, _write_folder(made, Path(corpus), tokens_folder, bytes_per_token, every_byte=True)


def tokenize_as_published(
    corpus: str | Path, model: str | Path, vocab_size: int, tokens_folder: str | Path
) -> dict[str, TokensSize]:
    """Write the tokens of a corpus, and of its validation text, as a published model reads it.

    Documents begin as the model's own tokenizer begins a text, with its BOS or with nothing, and end with its EOS.

    Args:
        corpus: the folder that `build_corpus` wrote.
        model: the folder of the model, with its tokenizer.json.
        vocab_size: how many ids the model has; the tokenizer may have fewer.
        tokens_folder: gets the files that `tokenize` writes there; where the tokenizer does not tell the bytes of its
            tokens, `bytes_per_token.npy` holds zeros.

    Returns:
        The sizes under `corpus` and, if there is one, `validation`.

    Raises:
        UserError: the corpus or tokenizer cannot be read, the tokenizer has more than `vocab_size` tokens, or the
            folder cannot be written.
    """
    tokenizer = load_published_tokenizer(model)
    if tokenizer.size > vocab_size:
        raise UserError(f"{model}: expected a tokenizer of at most {vocab_size} tokens, found {tokenizer.size}")
    try:
        bytes_per_token = tokenizer.bytes_per_token(vocab_size)
    except UserError:
        bytes_per_token = np.zeros(vocab_size, np.int32)
    return _write_folder(tokenizer, Path(corpus), tokens_folder, bytes_per_token, every_byte=False)


def read_tokens(folder: str | Path) -> Tokens:
    """Map the tokens of a folder into memory.

    Raises:
        UserError: a file is missing or damaged.
    """
    return Tokens(read_array(Path(folder, "tokens.npy")), read_array(Path(folder, "offsets.npy")))


def read_vocabulary(folder: str | Path) -> Vocabulary:
    """Read `vocabulary.json` of a folder of tokens.

    Raises:
        UserError: the file is missing or damaged.
    """
    return Vocabulary(**json.loads(verified(Path(folder, "vocabulary.json")).read_text()))


def read_tokenizer(folder: str | Path) -> Tokenizer:
    """The tokenizer of a folder that `tokenize` wrote.

    Raises:
        UserError: a file is missing or damaged.
    """
    verified_files(folder)
    return load_tokenizer(folder)


def _write_folder(
    tokenizer: Tokenizer, corpus: Path, tokens_folder: str | Path, bytes_per_token: np.ndarray, *, every_byte: bool
) -> dict[str, TokensSize]:
    vocabulary = Vocabulary(len(bytes_per_token), tokenizer.bos_id, tokenizer.eos_id)
    with fresh_folder(tokens_folder) as folder:
        (folder / "vocabulary.json").write_text(json.dumps(asdict(vocabulary), indent=2) + "\n")
        np.save(folder / "bytes_per_token.npy", bytes_per_token)
        sizes = {"corpus": _write(tokenizer, corpus, folder, vocabulary.dtype, bytes_per_token, every_byte)}
        validation = corpus / VALIDATION
        if validation.is_dir():
            into = folder / VALIDATION
            into.mkdir()
            sizes[VALIDATION] = _write(tokenizer, validation, into, vocabulary.dtype, bytes_per_token, every_byte)
    return sizes


def _write(
    tokenizer: Tokenizer, corpus: Path, folder: Path, dtype: np.dtype, bytes_per_token: np.ndarray, every_byte: bool
) -> TokensSize:
    from tqdm import tqdm

    text_bytes = token_bytes = 0
    with ArrayWriter(folder / "tokens.npy", dtype) as ids, ArrayWriter(folder / "offsets.npy", np.int64) as offsets:
        offsets.append(np.zeros(1))
        with tqdm(total=corpus_bytes(corpus), desc="tokenize", unit="B", unit_scale=True, disable=None) as progress:
            for texts in read_corpus(corpus):
                encoded = tokenizer.encode(texts)
                ends = np.cumsum([len(document) for document in encoded])
                group = np.concatenate(encoded)
                sizes = np.array([len(text.encode("utf-8")) for text in texts])
                held = np.add.reduceat(bytes_per_token[group], ends - [len(document) for document in encoded])
                if every_byte:
                    _require_every_byte(texts, sizes, held, offsets.length, corpus)
                offsets.append(ids.length + ends)
                ids.append(group)
                text_bytes += int(sizes.sum())
                token_bytes += int(held.sum(dtype=np.int64))
                progress.update(int(sizes.sum()))
    return TokensSize(offsets.length - 1, ids.length, text_bytes, token_bytes)


def _require_every_byte(texts: list[str], sizes: np.ndarray, held: np.ndarray, first: int, corpus: Path) -> None:
    """Check that the tokens of each document hold as many bytes as it has, but for a space put before it.

    Where U+2581, of three bytes, has been read as the space that it stands for, that is no loss.
    """
    for number in np.flatnonzero((held != sizes) & (held != sizes + 1)):
        size = sizes[number] - 2 * texts[number].count("\u2581")
        if held[number] not in (size, size + 1):
            raise UserError(
                f"{corpus}: document {first + number}: expected a tokenizer that keeps its {sizes[number]:,} bytes, "
                f"found one that makes {held[number]:,} of them: {shortened(texts[number])}"
            )
