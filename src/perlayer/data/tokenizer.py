"""The tokenizer: byte-level BPE trained on the corpus, or an existing one, and the bytes behind each of its tokens."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from perlayer.errors import UserError
from perlayer.store import fresh_folder

if TYPE_CHECKING:
    import tokenizers

BOS, EOS = "<|begin_of_text|>", "<|end_of_text|>"

# What a tokenizer.json that comes alone may call the beginning and the end of a document.
USUAL_NAMES = ((BOS, EOS), ("<s>", "</s>"), ("<bos>", "<eos>"), ("<|endoftext|>", "<|endoftext|>"))

# BPE counts the words of at most this much text, so that its memory is bounded for any corpus.
TRAINING_BYTES = 2**30

# Classes of transformers that begin a text as `add_bos_token` says, True where it is absent, whatever template
# tokenizer.json holds; the others begin it by that template.
BEGUN_BY_CONFIG = frozenset(f"{name}Tokenizer{kind}" for name in ("Llama", "CodeLlama") for kind in ("", "Fast"))


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
        """
        encodings = self.backend.encode_batch_fast(texts, add_special_tokens=False)
        beginning = [] if self.bos_id is None else [self.bos_id]
        return [np.array([*beginning, *encoding.ids, self.eos_id]) for encoding in encodings]

    def bytes_per_token(self, vocab_size: int) -> np.ndarray:
        """How many UTF-8 bytes of text each id stands for: int32, shape (vocab_size,).

        Special tokens and ids without a token stand for none. Exact for byte-level BPE; a tokenizer that changes the
        text first (a normalizer, a space put before it) counts the changed text.

        Raises:
            UserError: the pieces of this tokenizer do not tell their bytes.
        """
        description = json.loads(self.backend.to_str())
        if "ByteLevel" in _kinds(description["pre_tokenizer"]):
            length = len  # each character of a piece is one byte
        elif description["model"].get("byte_fallback"):
            length = _byte_fallback_length
        else:
            raise UserError(
                f"data.tokenizer: expected a byte-level or byte-fallback tokenizer, so that bits per byte can be "
                f"counted, found {description['model']['type']} without bytes"
            )
        sizes = np.zeros(vocab_size, np.int32)
        for piece, token in self.backend.get_vocab(with_added_tokens=False).items():
            sizes[token] = length(piece)
        for token, added in self.backend.get_added_tokens_decoder().items():
            sizes[token] = 0 if added.special else len(added.content.encode("utf-8"))
        sizes[[token for token in (self.bos_id, self.eos_id) if token is not None]] = 0
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
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        special_tokens=[BOS, EOS],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    backend.train_from_iterator(texts, trainer)
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
    name them as is usual.

    Raises:
        UserError: no such tokenizer, it cannot be read, or it has no BOS or EOS.
    """
    backend, described = _load(_find(str(source)))
    return _tokenizer(backend, described.get("bos_token"), described.get("eos_token"), str(source))


def load_published_tokenizer(folder: str | Path) -> Tokenizer:
    """Load the tokenizer in the folder of a published model.

    Documents begin as it begins a text itself in transformers: Llama's with a BOS, Qwen3's with nothing. EOS is found
    as `load_tokenizer` finds it.

    Raises:
        UserError: there is no tokenizer.json, it cannot be read, it has no EOS, or more than one token begins a text.
    """
    path = Path(folder, "tokenizer.json")
    if not path.is_file():
        raise UserError(f"{path}: no such file; expected the tokenizer of a published model")
    backend, described = _load(_find(str(path)))
    _take_text_whole(backend)
    eos_id = _special_id(backend, "eos_token", described.get("eos_token"), str(folder))
    return Tokenizer(backend, _own_beginning(backend, described, str(folder)), eos_id)


def _load(paths: list[Path]) -> tuple[tokenizers.Tokenizer, dict[str, Any]]:
    """The tokenizer of a tokenizer.json, and what the configuration files beside it say of it."""
    from tokenizers import Tokenizer as Backend

    path, *configs = paths
    try:
        backend = Backend.from_file(str(path))
    except Exception as error:  # tokenizers raises plain Exception
        raise UserError(f"{path}: expected a tokenizer.json, found: {' '.join(str(error).split())[:200]}") from None
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
    return Tokenizer(backend, *ids)


def _special_id(backend: tokenizers.Tokenizer, key: str, name: str | None, source: str) -> int:
    token = None if name is None else backend.token_to_id(name)
    if token is None:
        found = "none" if name is None else f"{name!r}, which is not in the vocabulary"
        raise UserError(f"{source}: expected a {key} named in its tokenizer_config.json, found {found}")
    return token


def _take_text_whole(backend: tokenizers.Tokenizer) -> None:
    """Encode documents whole, and the names of special tokens in them as text."""
    backend.no_truncation()
    backend.no_padding()
    backend.encode_special_tokens = True


def _own_beginning(backend: tokenizers.Tokenizer, described: dict[str, Any], source: str) -> int | None:
    """The id of the token that the tokenizer puts before a text, or None."""
    if described.get("tokenizer_class") in BEGUN_BY_CONFIG:
        if not described.get("add_bos_token", True):
            return None
        return _special_id(backend, "bos_token", described.get("bos_token"), source)
    encoding = backend.encode("a")
    before = encoding.ids[: [*encoding.special_tokens_mask, 0].index(0)]
    if len(before) > 1:
        raise UserError(f"{source}: expected at most one token that begins every text, found {len(before)}")
    return before[0] if before else None


CONFIGS = ("tokenizer_config.json", "special_tokens_map.json")


def _find(source: str) -> list[Path]:
    """The path of tokenizer.json and of those of its configuration files that exist."""
    path = Path(source)
    if path.is_dir():
        path = path / "tokenizer.json"
    if path.is_file():
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
    """What a configuration file says of the beginning and the end of a text, where it says it."""
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise UserError(f"{path}: not valid JSON: {error}") from None
    said = {key: config.get(key) for key in ("bos_token", "eos_token", "tokenizer_class", "add_bos_token")}
    said = {key: value["content"] if isinstance(value, dict) else value for key, value in said.items()}
    return {key: value for key, value in said.items() if value not in (None, "")}


def _kinds(component: dict[str, Any] | None) -> set[str]:
    """The types of a component of tokenizer.json, with those inside a Sequence."""
    if not component:
        return set()
    kinds = {component["type"]}
    for inner in component.get("pretokenizers", []):
        kinds |= _kinds(inner)
    return kinds


def _byte_fallback_length(piece: str) -> int:
    """Bytes of a SentencePiece piece: <0xNN> is one byte, and U+2581 stands for a space."""
    if re.fullmatch(r"<0x[0-9A-F]{2}>", piece):
        return 1
    return len(piece.replace("\u2581", " ").encode("utf-8"))
