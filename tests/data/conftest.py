"""What the tests of the data room share."""

import numpy as np
import pytest

from perlayer.data.corpus import build_corpus
from perlayer.data.shards import write_shards
from perlayer.data.tokens import tokenize

# Scripts of one to four bytes a character, an emoji of several code points, spaces, a byte order mark, a NUL.
ODD_TEXTS = [
    "plain English, twice  spaced\r\n\ttabbed",
    "naïve café — “quoted” … ﬁn",
    "Привет, мир! Ελληνικά עברית العربية",
    "日本語の文章と中文。한국어",
    "👩‍👩‍👧‍👦 🏳️‍🌈 \U0001f468\U0001f3fd",
    "\ufeff\u200b\u00a0\u2028zero width\u0000nul",
    "e\u0301 is not \u00e9",
    "<|begin_of_text|>not special<|end_of_text|>",
    " ",
    "a" * 1000,
]


@pytest.fixture(scope="session")
def texts():
    """60 short texts of invented words, and the odd ones."""
    generator = np.random.default_rng(0)
    words = ["".join(generator.choice(list("abcdefgh"), 4)) for _ in range(50)]
    return [" ".join(generator.choice(words, generator.integers(5, 60))) for _ in range(60)] + ODD_TEXTS


@pytest.fixture(scope="session")
def text_folder(texts, tmp_path_factory):
    """The texts as .txt files whose names sort in their order."""
    folder = tmp_path_factory.mktemp("text")
    for number, text in enumerate(texts):
        (folder / f"{number:03d}.txt").write_bytes(text.encode())
    return folder


@pytest.fixture(scope="session")
def corpus(text_folder, tmp_path_factory):
    """The corpus of the texts."""
    folder = tmp_path_factory.mktemp("corpus") / "corpus"
    build_corpus(f"{text_folder}/*.txt", "text", folder)
    return folder


@pytest.fixture(scope="session")
def tokens(corpus, tmp_path_factory):
    """The tokens of the corpus, with a tokenizer of 300 trained on it beside them."""
    folder = tmp_path_factory.mktemp("tokens")
    tokenize(corpus, None, 300, folder / "tokenizer", folder / "tokens")
    return folder / "tokens"


@pytest.fixture
def shards(tokens, tmp_path):
    """The shards of the tokens, for this test alone."""
    write_shards(tokens, tmp_path / "shards", val_fraction=0.1, sequence_length=16, seed=42, batch=4)
    return tmp_path / "shards"
