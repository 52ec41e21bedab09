import json
import shutil

import numpy as np
import pytest
from tokenizers import Tokenizer as Backend
from tokenizers import models, normalizers

from perlayer.data import corpus as corpus_module
from perlayer.data.corpus import build_corpus, read_corpus
from perlayer.data.tokenizer import load_tokenizer
from perlayer.data.tokens import Vocabulary, read_tokens, read_vocabulary, tokenize
from perlayer.errors import UserError


def test_documents_follow_one_another_between_their_ends(tokens, corpus):
    tokenizer = load_tokenizer(tokens.parent / "tokenizer")
    read = read_tokens(tokens)
    texts = [text for group in read_corpus(corpus) for text in group]
    assert read.documents == len(texts)
    assert read.ids.dtype == np.uint16 and read.offsets.dtype == np.int64
    for document, text in enumerate(texts):
        ids = read.ids[read.offsets[document] : read.offsets[document + 1]]
        assert (ids[0], ids[-1], (ids == 0).sum(), (ids == 1).sum()) == (0, 1, 1, 1)
        assert tokenizer.backend.decode(ids[1:-1].tolist()) == text


def test_row_groups_leave_no_trace_in_the_tokens(tokens, text_folder, tmp_path, monkeypatch):
    monkeypatch.setattr(corpus_module, "ROW_GROUP_ROWS", 7)
    build_corpus(f"{text_folder}/*.txt", "text", tmp_path / "corpus")
    assert len(list(read_corpus(tmp_path / "corpus"))) > 5
    tokenize(tmp_path / "corpus", None, 300, tmp_path / "tokenizer", tmp_path / "tokens")
    for name in ("tokens.npy", "offsets.npy"):
        assert (tmp_path / "tokens" / name).read_bytes() == (tokens / name).read_bytes()


def test_the_bytes_of_all_tokens_are_those_of_the_corpus(tokens, corpus, tmp_path):
    _, sizes = tokenize(corpus, None, 300, tmp_path / "tokenizer", tmp_path / "tokens")
    exact = sum(len(text.encode()) for group in read_corpus(corpus) for text in group)
    assert sizes["corpus"].text_bytes == sizes["corpus"].token_bytes == exact
    assert sizes["corpus"].tokens == len(read_tokens(tokens).ids)
    assert np.load(tokens / "bytes_per_token.npy")[read_tokens(tokens).ids].sum() == exact


@pytest.mark.parametrize(
    ("size", "dtype"), [(258, np.uint16), (65_536, np.uint16), (65_537, np.uint32), (128_256, np.uint32)]
)
def test_the_smallest_type_holds_the_vocabulary(size, dtype):
    assert Vocabulary(size, 0, 1).dtype == dtype


def test_a_vocabulary_beyond_uint16_is_written_whole(tokens, corpus, tmp_path):
    tokenize(corpus, str(tokens.parent / "tokenizer"), 70_000, tmp_path / "tokenizer", tmp_path / "tokens")
    wide = read_tokens(tmp_path / "tokens")
    assert wide.ids.dtype == np.uint32
    assert np.array_equal(wide.ids, read_tokens(tokens).ids)  # the same tokenizer, loaded
    assert len(np.load(tmp_path / "tokens" / "bytes_per_token.npy")) == 70_000


def test_a_tokenizer_with_more_tokens_than_the_model_is_an_error(tokens, corpus, tmp_path):
    with pytest.raises(UserError, match="^data.vocab_size: expected at least the 300 of .*/tokenizer, found 299$"):
        tokenize(corpus, str(tokens.parent / "tokenizer"), 299, tmp_path / "tokenizer", tmp_path / "tokens")


def test_a_document_that_loses_bytes_is_an_error(tokens, tmp_path):
    backend = Backend.from_file(str(tokens.parent / "tokenizer/tokenizer.json"))
    backend.normalizer = normalizers.Replace("a name that only one text has", "")
    backend.save(str(tmp_path / "tokenizer.json"))
    (tmp_path / "a.jsonl").write_text('{"text": "one"}\n{"text": "a name that only one text has."}\n')
    build_corpus(str(tmp_path / "a.jsonl"), "text", tmp_path / "corpus")
    with pytest.raises(UserError, match="document 2: expected .* keeps its 30 bytes, found one that makes 1 of"):
        tokenize(tmp_path / "corpus", str(tmp_path / "tokenizer.json"), 300, tmp_path / "made", tmp_path / "tokens")
    assert not (tmp_path / "tokens").exists()


def test_a_mark_that_stands_for_a_space_may_stand_in_a_text(tmp_path):
    pieces = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256)), "\u2581"]
    vocabulary = {piece: number for number, piece in enumerate(pieces)}
    backend = Backend(models.BPE(vocabulary, [], unk_token="<unk>", byte_fallback=True))
    backend.normalizer = normalizers.Sequence([normalizers.Prepend("\u2581"), normalizers.Replace(" ", "\u2581")])
    backend.add_special_tokens(["<unk>", "<s>", "</s>"])
    backend.save(str(tmp_path / "tokenizer.json"))
    (tmp_path / "a.jsonl").write_text('{"text": "a \\u2581\\u2582"}\n{"text": "b"}\n')
    build_corpus(str(tmp_path / "a.jsonl"), "text", tmp_path / "corpus")
    _, sizes = tokenize(tmp_path / "corpus", str(tmp_path), 300, tmp_path / "made", tmp_path / "tokens")
    # By hand: two spaces more, and two bytes less for the mark that became one.
    assert (sizes["corpus"].text_bytes, sizes["corpus"].token_bytes) == (9, 9 + 2 - 2)


def test_a_validation_text_is_tokenized_beside(tmp_path):
    for name, texts in (("a", ["one", "two"]), ("v", ["three"])):
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    build_corpus(str(tmp_path / "a.jsonl"), "text", tmp_path / "corpus", str(tmp_path / "v.jsonl"))
    _, sizes = tokenize(tmp_path / "corpus", None, 258, tmp_path / "tokenizer", tmp_path / "tokens")
    assert [sizes["corpus"].documents, sizes["validation"].documents] == [2, 1]
    # 258 tokens are bytes alone: BOS, "three", EOS.
    assert len(read_tokens(tmp_path / "tokens/validation").ids) == 7
    assert len(read_tokens(tmp_path / "tokens").ids) == 10


@pytest.mark.parametrize(
    ("name", "read"), [("tokens.npy", read_tokens), ("offsets.npy", read_tokens), ("vocabulary.json", read_vocabulary)]
)
def test_files_that_are_damaged_or_gone_are_named(tokens, tmp_path, name, read):
    folder = shutil.copytree(tokens, tmp_path / "tokens")
    (folder / name).write_bytes((folder / name).read_bytes()[:-1])
    with pytest.raises(UserError, match=f"{name}: damaged: "):
        read(folder)
    (folder / name).unlink()
    with pytest.raises(UserError, match=f"{name}: no such file"):
        read(folder)
