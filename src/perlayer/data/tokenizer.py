"""The tokenizer: byte-level BPE trained on the corpus, or an existing one, and the bytes behind each of its tokens."""

from __future__ import annotations

import contextlib
import functools
import json
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from perlayer.errors import UserError, shortened
from perlayer.store import fresh_folder

if TYPE_CHECKING:
    import tokenizers

BOS, EOS = "<|begin_of_text|>", "<|end_of_text|>"

# What a tokenizer.json that comes alone may call the beginning and the end of a document.
USUAL_NAMES = ((BOS, EOS), ("<s>", "</s>"), ("<bos>", "<eos>"), ("<|endoftext|>", "<|endoftext|>"))

# BPE counts the words of at most this much text, so that its memory is bounded for any corpus.
TRAINING_BYTES = 2**30
# And learns from words cut to this many bytes, as its time goes with the square of their length (base64, genomes).
LONGEST_WORD = 256

# What a byte-level piece writes for each byte: itself where Latin-1 prints it, else a character from 256 on.
PRINTED = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
BYTE_LEVEL = {chr(byte): byte for byte in PRINTED}
BYTE_LEVEL |= {chr(256 + number): byte for number, byte in enumerate(sorted({*range(256)} - {*PRINTED}))}

# Texts that tokenizers change, and characters of which UTF-8 makes every byte that it has.
TEXTS_OF_ALL_KINDS = (
    "e\u0301 \ufb01 \uff21 \u212b",
    "The Quick BROWN fox",
    "  two  spaces\t\ttabs\n\n\nlines\r\n ",
    " ",
    "\n",
    "naïve ÉCOLE İstanbul straße",
    "Привет עברית العربية",
    "日本語の文章。한국어 ไทย हिन्दी",
    "\U0001f469\u200d\U0001f467 \u200b\u00a0\u2028\ufeff\ufffd",
    "12345 3.14 007 1,000",
    "don't -- \"quoted\" ``x'' (a) [b] {c} <d> &amp; #e @f $g %h ^i *j _k ~l |m \\n",
    "<0x0A> <unk> <s> </s>",
    "word" * 50,
)
EVERY_BYTE = [chr(code) for code in (*range(0x800), *range(0x800, 0xD800, 0x800), *range(0xE000, 0x110000, 0x1000))]


@dataclass(frozen=True)
class Tokenizer:
    """A tokenizer of the Hugging Face format with the ids that begin and end a document."""

    backend: tokenizers.Tokenizer
    bos_id: int | None  # None: a document begins with its text
    eos_id: int

    @property
    def size(self) -> int:
        """One more than the largest id."""
        return max(self.backend.get_vocab(with_added_tokens=True).values()) + 1

    def encode(self, texts: list[str]) -> list[np.ndarray]:
        """Token ids of each text between BOS, if there is one, and EOS, int64.

        What a text says is always text: the name of a special token in it becomes ordinary tokens. Uses every core.

        Raises:
            UserError: the tokenizer has no token for a text.
        """
        with _its_errors("the tokenizer: expected one that reads every text"):
            encodings = self.backend.encode_batch_fast(texts, add_special_tokens=False)
        beginning = [] if self.bos_id is None else [self.bos_id]
        return [np.array([*beginning, *encoding.ids, self.eos_id]) for encoding in encodings]

    @functools.cached_property
    def pieces(self) -> list[bytes]:
        """The UTF-8 bytes of text that each id stands for; none for special tokens and ids without a token.

        Exact for byte-level BPE; a tokenizer that changes the text first (a normalizer, a space put before it) has
        those of the changed text, and one that writes spaces as U+2581 reads that character as a space.

        Raises:
            UserError: this tokenizer does not tell the bytes of its pieces.
        """
        description = json.loads(self.backend.to_str())
        if "ByteLevel" in _kinds(description["pre_tokenizer"]):
            read = _byte_level_piece
        elif description["model"].get("byte_fallback"):
            read = _byte_fallback_piece
        else:
            raise UserError(
                f"data.tokenizer: expected a byte-level or byte-fallback tokenizer, so that bits per byte can be "
                f"counted, found {description['model']['type']} without bytes"
            )
        pieces = [b""] * self.size
        for piece, token in self.backend.get_vocab(with_added_tokens=False).items():
            pieces[token] = read(piece)
        for token, added in self.backend.get_added_tokens_decoder().items():
            pieces[token] = b"" if added.special else added.content.encode()
        for token in {self.bos_id, self.eos_id} - {None}:
            pieces[token] = b""
        return pieces

    def bytes_per_token(self, vocab_size: int) -> np.ndarray:
        """How many bytes each of `pieces` has, and none beyond them: int32, shape (vocab_size,).

        Raises:
            UserError: this tokenizer does not tell the bytes of its pieces.
        """
        sizes = np.zeros(vocab_size, np.int32)
        sizes[: self.size] = [len(piece) for piece in self.pieces]
        return sizes

    def save(self, folder: str | Path) -> None:
        """Write tokenizer.json and tokenizer_config.json, which `load_tokenizer` and transformers read."""
        config = {
            "tokenizer_class": "PreTrainedTokenizerFast",
            "bos_token": None if self.bos_id is None else self.backend.id_to_token(self.bos_id),
            "eos_token": self.backend.id_to_token(self.eos_id),
            "clean_up_tokenization_spaces": False,
        }
        with fresh_folder(folder) as path:
            (path / "tokenizer.json").write_text(self.backend.to_str(pretty=True), encoding="utf-8")
            (path / "tokenizer_config.json").write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")


def train_tokenizer(texts: Iterable[list[str]], vocab_size: int) -> Tokenizer:
    """Train byte-level BPE; the same texts give the same tokenizer, whatever the number of cores.

    Ids 0 and 1 are BOS and EOS, the next 256 the bytes. A text too small for `vocab_size` tokens leaves the last ids
    without a token.

    Args:
        texts: lists of texts, read once.
        vocab_size: how many tokens, with BOS, EOS and the bytes.
    """
    from tokenizers import Tokenizer as Backend
    from tokenizers import decoders, models, pre_tokenizers, trainers

    backend = Backend(models.BPE())
    words = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.pre_tokenizer = pre_tokenizers.Sequence([words, pre_tokenizers.FixedLength(LONGEST_WORD)])
    backend.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        special_tokens=[BOS, EOS],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    backend.train_from_iterator(texts, trainer)
    backend.pre_tokenizer = words
    return _tokenizer(backend, BOS, EOS, "the trained tokenizer")


def spread(texts: Iterable[list[str]], total_bytes: int, limit: int = TRAINING_BYTES) -> Iterator[list[str]]:
    """Every document, or every k-th one when `total_bytes` exceeds `limit`, so that about `limit` bytes remain."""
    step = max(1, -(-total_bytes // limit))
    number = 0
    for group in texts:
        yield group[-number % step :: step]
        number += len(group)


def load_tokenizer(source: str | Path) -> Tokenizer:
    """Load an existing tokenizer: a tokenizer.json, a local folder that holds one, or a name on the Hugging Face hub.

    BOS and EOS are those of tokenizer_config.json or special_tokens_map.json beside it; a tokenizer.json alone may
    name them as is usual. Every byte of a text must stay in its tokens.

    Raises:
        UserError: no such tokenizer, it cannot be read, it has no BOS or EOS, or it loses bytes.
    """
    backend, described = _load(_find(str(source)))
    return _tokenizer(backend, described.get("bos_token"), described.get("eos_token"), str(source))


def load_published_tokenizer(folder: str | Path) -> Tokenizer:
    """Load the tokenizer in the folder of a published model.

    Documents begin as it begins a text itself in transformers: Llama's with a BOS, Qwen3's with nothing. EOS is found
    as `load_tokenizer` finds it. What it loses of a text (Qwen3's makes NFC of it) the model has never seen.

    Raises:
        UserError: there is no tokenizer.json, it cannot be read, it has no EOS, or more than one token begins a text.
    """
    path = Path(folder, "tokenizer.json")
    if not path.is_file():
        raise UserError(f"{path}: no such file; expected the tokenizer of a published model")
    backend, described = _load(_find(str(path)))
    _take_text_whole(backend)
    eos_id = _special_id(backend, "eos_token", described.get("eos_token"), str(folder))
    return Tokenizer(backend, _own_beginning(Path(folder), backend), eos_id)


def _load(paths: list[Path]) -> tuple[tokenizers.Tokenizer, dict[str, Any]]:
    """The tokenizer of a tokenizer.json, and what the configuration files beside it say of it."""
    from tokenizers import Tokenizer as Backend

    path, *configs = paths
    with _its_errors(f"{path}: expected a tokenizer.json"):
        backend = Backend.from_file(str(path))
    described = {}
    for config in configs:
        described = _describe(config) | described
    if not described.keys() & {"bos_token", "eos_token"}:
        vocabulary = backend.get_vocab(with_added_tokens=True)
        pairs = (pair for pair in USUAL_NAMES if set(pair) <= set(vocabulary))
        described |= zip(("bos_token", "eos_token"), next(pairs, ()))
    return backend, described


def _tokenizer(backend: tokenizers.Tokenizer, bos: str | None, eos: str | None, source: str) -> Tokenizer:
    ids = [_special_id(backend, key, name, source) for key, name in (("bos_token", bos), ("eos_token", eos))]
    _take_text_whole(backend)
    tokenizer = Tokenizer(backend, *ids)
    _require_every_byte(tokenizer, source)
    return tokenizer


def _require_every_byte(tokenizer: Tokenizer, source: str) -> None:
    """Check that the tokens of texts of all kinds hold their bytes; a space put before a text is no loss.

    Raises:
        UserError: bytes are lost or changed; the message names the part of the tokenizer that does it.
    """
    backend = tokenizer.backend
    added = [token.content for token in backend.get_added_tokens_decoder().values()]
    # Each by itself, as nothing else may stand in a text, and all together.
    texts = [*TEXTS_OF_ALL_KINDS, *EVERY_BYTE, *added, *(f"a  {content}  a" for content in added)]
    texts.append(" ".join(texts))
    for text, ids in zip(texts, tokenizer.encode(texts)):
        read = b"".join(tokenizer.pieces[token] for token in ids.tolist())
        if read not in (text.encode(), b" " + text.encode()):
            raise UserError(
                f"{source}: expected a tokenizer that keeps every byte of a text, found one that reads "
                f"{ascii(text)[:60]} as {ascii(read.decode(errors='replace'))[:60]}: {_what_changes(backend, text)}"
            )


def _what_changes(backend: tokenizers.Tokenizer, text: str) -> str:
    """The part of a tokenizer that changes a text, and what to do."""
    description = json.loads(backend.to_str())
    normalized = text if backend.normalizer is None else backend.normalizer.normalize_str(text)
    if normalized.replace("\u2581", " ") not in (text, " " + text):
        kinds = ", ".join(sorted(_kinds(description["normalizer"]) - {"Sequence", "Prepend", "Replace"}) or ["Replace"])
        return f"take {kinds} out of the normalizer in tokenizer.json"
    if backend.pre_tokenizer is not None:
        spans = [span for _, span in backend.pre_tokenizer.pre_tokenize_str(normalized)]
        if [0, *(end for _, end in spans)] != [*(start for start, _ in spans), len(normalized)]:
            return "its pre_tokenizer leaves characters out; take that out of tokenizer.json"
    for token in backend.get_added_tokens_decoder().values():
        if token.content in text and not token.special:
            return f"its added token {token.content!r} takes more than its name; mark it special in tokenizer.json"
    return f"its {description['model']['type']} has no token for some bytes, or tokens that stand for something else"


@contextlib.contextmanager
def _its_errors(expected: str) -> Iterator[None]:
    """Raise as `UserError` what tokenizers raises: plain Exception, and for a panic no Exception at all."""
    try:
        yield
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:
        raise UserError(f"{expected}, found: {_one_line(error)}") from None


def _special_id(backend: tokenizers.Tokenizer, key: str, name: str | None, source: str) -> int:
    token = None if name is None else backend.token_to_id(name)
    if token is None:
        found = "none" if name is None else f"{name!r}, which is not in the vocabulary"
        raise UserError(f"{source}: expected a {key} named in its tokenizer_config.json, found {found}")
    return token


def _take_text_whole(backend: tokenizers.Tokenizer) -> None:
    """Encode documents whole and always alike, and the names of special tokens in them as text."""
    backend.no_truncation()
    backend.no_padding()
    if getattr(backend.model, "dropout", None):
        backend.model.dropout = None
    backend.encode_special_tokens = True


def _own_beginning(folder: Path, backend: tokenizers.Tokenizer) -> int | None:
    """The id of the token that the tokenizer of a folder puts before a text in transformers, or None.

    That depends on its class there; of a class that transformers does not have, on the template in tokenizer.json.
    """
    from transformers import AutoTokenizer

    try:
        with quiet_transformers():
            encoding = AutoTokenizer.from_pretrained(folder, local_files_only=True, trust_remote_code=False)("a")[0]
    except Exception:  # of many kinds, as of a class that comes with code of its own
        encoding = backend.encode("a")
    before = encoding.ids[: [*encoding.special_tokens_mask, 0].index(0)]
    before = [token for token in before if backend.id_to_token(token) is not None]  # transformers may make one up
    if len(before) > 1:
        raise UserError(f"{folder}: expected at most one token that begins every text, found {len(before)}")
    return before[0] if before else None


@contextlib.contextmanager
def quiet_transformers() -> Iterator[None]:
    """Keep transformers from printing: what its warnings say is checked here."""
    from transformers.utils import logging

    verbosity, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)
        if bars:
            logging.enable_progress_bar()


CONFIGS = ("tokenizer_config.json", "special_tokens_map.json")


def _find(source: str) -> list[Path]:
    """The path of tokenizer.json and of those of its configuration files that exist."""
    path = Path(source, "tokenizer.json") if os.path.isdir(source) else Path(source)
    if os.path.isfile(path):
        return [path, *(path.with_name(name) for name in CONFIGS if path.with_name(name).is_file())]
    if not re.fullmatch(r"[\w-][\w.-]*(/[\w-][\w.-]*)?", source) or path.name == "tokenizer.json":
        raise UserError(f"data.tokenizer: expected a tokenizer.json, a folder with one or a hub name, found {source!r}")
    return _download(source)


def _download(name: str) -> list[Path]:
    from huggingface_hub import hf_hub_download
    from huggingface_hub.errors import EntryNotFoundError, LocalEntryNotFoundError

    paths = []
    for file in ("tokenizer.json", *CONFIGS):
        try:
            paths.append(Path(hf_hub_download(name, file)))
        except Exception as error:  # the hub's errors have many kinds
            absent = isinstance(error, EntryNotFoundError) and not isinstance(error, LocalEntryNotFoundError)
            if file != "tokenizer.json" and absent:
                continue
            lines = str(error).strip().splitlines() or [type(error).__name__]
            raise UserError(
                f"data.tokenizer: {name}: no such file or folder here, and the hub gave no {file}: {lines[0]}"
            ) from None
    return paths


def _describe(path: Path) -> dict[str, Any]:
    """What a configuration file says of the beginning and the end of a text, where it says it.

    Raises:
        UserError: the file cannot be read, or says it in another form than transformers does.
    """
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError, OSError) as error:
        raise UserError(f"{path}: not valid JSON: {_one_line(error)}") from None
    if not isinstance(config, dict):
        raise UserError(f"{path}: expected an object, found {shortened(config)}")
    said = {}
    for key in ("bos_token", "eos_token"):
        value = config.get(key)
        value = value.get("content") if isinstance(value, dict) else value
        if value not in (None, "") and not isinstance(value, str):
            raise UserError(f"{path}: {key}: expected a str, found {shortened(value)}")
        if value not in (None, ""):
            said[key] = value
    return said


def _kinds(component: dict[str, Any] | None) -> set[str]:
    """The types of a component of tokenizer.json, with those inside a Sequence."""
    if not component:
        return set()
    kinds = {component["type"]}
    for inner in component.get("pretokenizers", []):
        kinds |= _kinds(inner)
    return kinds


def _byte_level_piece(piece: str) -> bytes:
    """Bytes of a byte-level piece: each of its characters is one; a character of another alphabet counts as one too."""
    return bytes(BYTE_LEVEL.get(character, 0) for character in piece)


def _byte_fallback_piece(piece: str) -> bytes:
    """Bytes of a SentencePiece piece: <0xNN> is one byte, and U+2581 stands for a space."""
    if re.fullmatch(r"<0x[0-9A-F]{2}>", piece):
        return bytes([int(piece[3:5], 16)])
    return piece.replace("\u2581", " ").encode()


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split())[:200]
