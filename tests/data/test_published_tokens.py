"""The text as a published model reads it: documents begin as transformers begins them, and end with EOS."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tokenizers import Tokenizer as Backend
from tokenizers import models, pre_tokenizers, processors

from perlayer.data.batches import read_split
from perlayer.data.corpus import read_corpus
from perlayer.data.dataset import read_bytes_per_token, read_dataset, verify_shards
from perlayer.data.shards import choose_held_out, document_keys, write_shards
from perlayer.data.tokenizer import load_published_tokenizer
from perlayer.data.tokens import read_tokens, read_vocabulary, tokenize_as_published
from perlayer.errors import UserError

BOS_ID, EOS_ID = 256, 257
BOS_FIRST = processors.TemplateProcessing("<start> $A", "<start> $A $B", [("<start>", BOS_ID)])
BYTES = processors.ByteLevel(trim_offsets=False)

# As the tokenizers of these models are: what tokenizer.json puts around a text, what tokenizer_config.json says, and
# the BOS of a document.
TOKENIZERS = {
    "llama3": (
        processors.Sequence([BYTES, BOS_FIRST]),
        {"bos_token": "<start>", "tokenizer_class": "PreTrainedTokenizerFast"},
        BOS_ID,
    ),
    "llama2": (BOS_FIRST, {"bos_token": "<start>", "tokenizer_class": "LlamaTokenizer", "add_bos_token": True}, BOS_ID),
    "llama_whose_template_is_missing": (
        BYTES,
        {"bos_token": "<start>", "tokenizer_class": "LlamaTokenizerFast"},
        BOS_ID,
    ),
    "llama_without_bos": (
        BOS_FIRST,
        {"bos_token": "<start>", "tokenizer_class": "LlamaTokenizerFast", "add_bos_token": False},
        None,
    ),
    "qwen3": (BYTES, {"bos_token": None, "tokenizer_class": "Qwen2Tokenizer", "add_bos_token": False}, None),
    "smollm2": (BYTES, {"bos_token": "<start>", "tokenizer_class": "GPT2Tokenizer"}, None),
    "gemma": (BYTES, {"bos_token": "<start>", "tokenizer_class": "GemmaTokenizerFast"}, BOS_ID),
    "cohere_without_bos": (
        BOS_FIRST,
        {"bos_token": "<start>", "tokenizer_class": "CohereTokenizerFast", "add_bos_token": False},
        None,
    ),
    "gpt_neox": (BOS_FIRST, {"bos_token": "<start>", "tokenizer_class": "GPTNeoXTokenizerFast"}, None),
    "unknown_to_transformers": (BOS_FIRST, {"bos_token": "<start>", "tokenizer_class": "NoSuchTokenizer"}, BOS_ID),
    "bare": (None, {"tokenizer_class": "PreTrainedTokenizerFast"}, None),
    "ends_by_itself": (
        processors.TemplateProcessing("<start> $A <stop>", None, [("<start>", BOS_ID), ("<stop>", EOS_ID)]),
        {"bos_token": "<start>", "tokenizer_class": "PreTrainedTokenizerFast"},
        BOS_ID,
    ),
}


def write_model(folder, name="llama3", vocab_size=300):
    """The folder of a published model without weights: config.json and a tokenizer of the 256 bytes, BOS and EOS."""
    template, config, _ = TOKENIZERS[name]
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    backend = Backend(models.BPE({piece: number for number, piece in enumerate(alphabet)}, []))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    if template is not None:
        backend.post_processor = template
    backend.add_special_tokens(["<start>", "<stop>"])
    folder.mkdir(exist_ok=True)
    backend.save(str(folder / "tokenizer.json"))
    (folder / "tokenizer_config.json").write_text(json.dumps({"eos_token": "<stop>", **config}))
    described = {"model_type": "llama", "num_hidden_layers": 2, "max_position_embeddings": 32, "vocab_size": vocab_size}
    (folder / "config.json").write_text(json.dumps(described))
    return folder


@pytest.mark.parametrize("name", sorted(TOKENIZERS.keys() - {"unknown_to_transformers"}))
def test_a_document_begins_as_transformers_begins_it_and_ends_with_eos(name, tmp_path, texts):
    from transformers import AutoTokenizer

    folder = write_model(tmp_path / "model", name)
    tokenizer = load_published_tokenizer(folder)
    theirs = AutoTokenizer.from_pretrained(folder)
    assert (tokenizer.bos_id, tokenizer.eos_id) == (TOKENIZERS[name][2], theirs.eos_token_id)
    expected = [ids[:-1] if ids[-1] == EOS_ID else ids for ids in theirs(texts).input_ids]
    for ids, begun in zip(tokenizer.encode(texts), expected, strict=True):
        assert ids.tolist() == [*begun, EOS_ID]


def test_a_class_that_transformers_does_not_have_begins_by_its_template(tmp_path):
    assert load_published_tokenizer(write_model(tmp_path / "model", "unknown_to_transformers")).bos_id == BOS_ID


def test_padding_and_truncation_do_not_count_as_a_beginning(tmp_path):
    folder = write_model(tmp_path / "model", "qwen3")
    backend = Backend.from_file(str(folder / "tokenizer.json"))
    backend.enable_padding(direction="left", pad_id=EOS_ID, pad_token="<stop>", length=8)
    backend.enable_truncation(4)
    backend.save(str(folder / "tokenizer.json"))
    tokenizer = load_published_tokenizer(folder)
    assert tokenizer.bos_id is None
    assert [len(ids) for ids in tokenizer.encode(["a" * 20, ""])] == [21, 1]


def test_two_tokens_before_every_text_are_an_error(tmp_path):
    folder = write_model(tmp_path / "model")
    backend = Backend.from_file(str(folder / "tokenizer.json"))
    specials = [("<start>", BOS_ID), ("<stop>", EOS_ID)]
    backend.post_processor = processors.TemplateProcessing("<start> <stop> $A", None, specials)
    backend.save(str(folder / "tokenizer.json"))
    with pytest.raises(UserError, match="expected at most one token that begins every text, found 2"):
        load_published_tokenizer(folder)


@pytest.mark.parametrize("name", ["llama3", "qwen3"])
def test_the_tokens_of_a_corpus_and_their_shards(name, corpus, tmp_path):
    bos_id = TOKENIZERS[name][2]
    beginning = [] if bos_id is None else [bos_id]
    sizes = tokenize_as_published(corpus, write_model(tmp_path / "model", name), 300, tmp_path / "tokens")
    texts = [text for group in read_corpus(corpus) for text in group]
    tokens, vocabulary = read_tokens(tmp_path / "tokens"), read_vocabulary(tmp_path / "tokens")
    assert (vocabulary.vocab_size, vocabulary.bos_id, vocabulary.eos_id) == (300, bos_id, EOS_ID)
    assert tokens.documents == sizes["corpus"].documents == len(texts)
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    byte_of = Backend.from_file(str(tmp_path / "model/tokenizer.json")).encode
    for document, text in enumerate(texts):
        ids = tokens.ids[tokens.offsets[document] : tokens.offsets[document + 1]].tolist()
        # a token is a byte: as many as UTF-8 has, each of the alphabet
        assert ids[: len(beginning)] == beginning and ids[-1] == EOS_ID
        assert len(ids) == len(beginning) + len(text.encode()) + 1
        assert max(ids[len(beginning) : -1]) < len(alphabet)
        if "<" not in text:
            assert ids[len(beginning) : -1] == byte_of(text, add_special_tokens=False).ids
    assert sizes["corpus"].token_bytes == sum(len(text.encode()) for text in texts)
    settings = {"val_fraction": 0.2, "sequence_length": 16, "seed": 42, "batch": 1}
    dataset = write_shards(tmp_path / "tokens", tmp_path / "shards", **settings)
    assert dataset == read_dataset(tmp_path / "shards")
    assert (dataset.bos_id, dataset.eos_id, dataset.vocab_size) == (bos_id, EOS_ID, 300)
    verify_shards(tmp_path / "shards")
    first = read_split(tmp_path / "shards", "val")[0]
    assert (first[0] == BOS_ID) == (bos_id == BOS_ID)


def test_the_same_documents_are_held_out_as_from_our_own_tokens(tokens, corpus, tmp_path):
    tokenize_as_published(corpus, write_model(tmp_path / "model", "qwen3"), 300, tmp_path / "tokens")
    ours, theirs = (
        choose_held_out(document_keys(read_tokens(folder)), 0.2, np.random.Generator(np.random.PCG64(42)))
        for folder in (tokens, tmp_path / "tokens")
    )
    assert ours.any() and np.array_equal(ours, theirs)


def test_a_tokenizer_that_does_not_tell_its_bytes_is_read_all_the_same(corpus, tmp_path):
    folder = write_model(tmp_path / "model")
    backend = Backend(models.WordLevel({"[UNK]": 0, "a": 1, "<stop>": 2}, unk_token="[UNK]"))
    backend.pre_tokenizer = pre_tokenizers.Whitespace()
    backend.save(str(folder / "tokenizer.json"))
    (folder / "tokenizer_config.json").write_text(json.dumps({"eos_token": "<stop>"}))
    tokenize_as_published(corpus, folder, 10, tmp_path / "tokens")
    dataset = write_shards(
        tmp_path / "tokens", tmp_path / "shards", val_fraction=0.2, sequence_length=8, seed=42, batch=1
    )
    assert dataset.val_bytes == 0 and dataset.bos_id is None
    assert read_bytes_per_token(tmp_path / "shards").tolist() == [0] * 10


def test_more_tokens_than_the_model_has_are_an_error(corpus, tmp_path):
    with pytest.raises(UserError, match="model: expected a tokenizer of at most 257 tokens, found 258$"):
        tokenize_as_published(corpus, write_model(tmp_path / "model"), 257, tmp_path / "tokens")


def test_a_folder_without_a_tokenizer_is_named(corpus, tmp_path):
    (tmp_path / "model").mkdir()
    with pytest.raises(UserError, match="model/tokenizer.json: no such file; expected the tokenizer of a published"):
        tokenize_as_published(corpus, tmp_path / "model", 300, tmp_path / "tokens")


def run_stage(folder, name):
    script = Path(__file__).parents[2] / "stages" / "published.py"
    return subprocess.run([sys.executable, script, name], cwd=folder, capture_output=True, text=True)


def test_the_stage_writes_shards_and_leaves_nothing_else(corpus, tmp_path, monkeypatch):
    write_model(tmp_path / "model", "qwen3")
    shutil.copytree(corpus, tmp_path / "data/corpus")
    (tmp_path / "scratch").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "scratch"))
    choices = {
        "size": "tiny",
        "recipes": {"tiny": {"data": {"val_fraction": 0.2, "seed": 42}, "model": {}, "optimizer": {}, "train": {}}},
        "runs": {"baseline": {}},
        "published": {
            "mine": {"path": "model", "sequence_length": 16},
            "long": {"path": "model", "sequence_length": 33},
            "gone": {"path": "absent"},
        },
    }
    (tmp_path / "params.yaml").write_text(json.dumps(choices))  # JSON is YAML
    done = run_stage(tmp_path, "mine")
    assert (done.returncode, done.stderr) == (0, "")
    dataset = read_dataset(tmp_path / "data/published/mine")
    assert (dataset.sequence_length, dataset.bos_id, dataset.vocab_size) == (16, None, 300)
    assert f"{dataset.val_sequences:,} held-out sequences of 16 tokens" in done.stdout
    verify_shards(tmp_path / "data/published/mine")
    assert not [path for path in (tmp_path / "scratch").iterdir() if path.is_dir()]
    for name, message in (("long", "at least the sequence length of 33, found 32"), ("gone", "absent: no such folder")):
        failed = run_stage(tmp_path, name)
        assert failed.returncode == 1 and message in failed.stderr and len(failed.stderr.splitlines()) == 1
