import json
import os
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tokenizers import AddedToken, Regex, decoders, models, normalizers, pre_tokenizers
from tokenizers import Tokenizer as Backend

from perlayer.data.corpus import read_corpus
from perlayer.data.tokenizer import (
    BOS,
    BYTE_LEVEL,
    EOS,
    EVERY_BYTE,
    LONGEST_WORD,
    load_published_tokenizer,
    load_tokenizer,
    spread,
    train_tokenizer,
)
from perlayer.errors import UserError


@pytest.fixture(scope="module")
def tokenizer(corpus):
    return train_tokenizer(read_corpus(corpus), 400)


def test_the_vocabulary_is_special_tokens_bytes_and_merges(tokenizer):
    vocabulary = tokenizer.backend.get_vocab()
    assert tokenizer.size == len(vocabulary) == 400
    assert (vocabulary[BOS], vocabulary[EOS]) == (tokenizer.bos_id, tokenizer.eos_id) == (0, 1)
    assert {vocabulary[piece] for piece in pre_tokenizers.ByteLevel.alphabet()} == set(range(2, 258))


def test_every_text_comes_back(tokenizer, texts):
    for text, ids in zip(texts, tokenizer.encode(texts), strict=True):
        assert (ids[0], ids[-1]) == (0, 1)
        assert tokenizer.backend.decode(ids[1:-1].tolist(), skip_special_tokens=False) == text


def test_the_bytes_of_the_tokens_are_the_bytes_of_the_text(tokenizer, texts):
    sizes = tokenizer.bytes_per_token(500)
    assert sizes.shape == (500,) and sizes.dtype == np.int32
    for text, ids in zip(texts, tokenizer.encode(texts), strict=True):
        assert sizes[ids].sum() == len(text.encode())
    assert sizes[:2].sum() == 0 and sizes[400:].sum() == 0
    assert set(sizes[2:258]) == {1}


def test_a_special_token_in_a_text_is_text(tokenizer):
    (ids,) = tokenizer.encode([f"a{EOS}b{BOS}"])
    assert np.flatnonzero(ids == 1).tolist() == [len(ids) - 1]
    assert np.flatnonzero(ids == 0).tolist() == [0]


def test_a_text_too_small_leaves_the_last_ids_without_a_token():
    small = train_tokenizer([["abab"]], 1000)
    assert 258 < small.size < 270
    assert small.bytes_per_token(1000).shape == (1000,)


def test_a_long_word_is_learned_from_in_parts_and_encoded_whole():
    word = "".join(random.Random(0).choices("ACGT", k=20 * LONGEST_WORD))
    parts = [word[start : start + LONGEST_WORD] for start in range(0, len(word), LONGEST_WORD)]
    assert train_tokenizer([[word]], 400).backend.to_str() == train_tokenizer([parts], 400).backend.to_str()
    repeated = train_tokenizer([["ab" * 10 * LONGEST_WORD]], 400)
    assert max(map(len, repeated.pieces)) == LONGEST_WORD
    assert repeated.backend.pre_tokenizer.pre_tokenize_str(word) == [(word, (0, len(word)))]


def test_the_number_of_cores_changes_nothing(corpus, tmp_path):
    script = (
        "import sys; from perlayer.data.tokens import tokenize\n"
        "tokenize(sys.argv[1], None, 400, sys.argv[2] + '/tokenizer', sys.argv[2] + '/tokens')"
    )
    outs = []
    for threads in ("1", "4"):
        out = tmp_path / threads
        environment = os.environ | {"RAYON_NUM_THREADS": threads}
        subprocess.run([sys.executable, "-c", script, corpus, out], check=True, env=environment)
        outs.append({path.relative_to(out): path.read_bytes() for path in sorted(out.rglob("*.*"))})
    assert len(outs[0]) == 8 and outs[0] == outs[1]


def test_a_saved_tokenizer_loads_here_and_in_transformers(tokenizer, texts, tmp_path):
    from transformers import AutoTokenizer

    tokenizer.save(tmp_path / "tokenizer")
    for source in (tmp_path / "tokenizer", tmp_path / "tokenizer" / "tokenizer.json"):
        loaded = load_tokenizer(source)
        assert (loaded.bos_id, loaded.eos_id) == (0, 1)
        assert all(np.array_equal(a, b) for a, b in zip(loaded.encode(texts), tokenizer.encode(texts), strict=True))
    other = AutoTokenizer.from_pretrained(tmp_path / "tokenizer")
    assert (other.bos_token_id, other.eos_token_id) == (0, 1)
    plain = [text for text in texts if "<|" not in text]
    assert other(plain).input_ids == [ids[1:-1].tolist() for ids in tokenizer.encode(plain)]


def existing(folder, config=None, name="tokenizer_config.json", pieces=(), special=("<start>", "<stop>"), **changes):
    """A byte-level tokenizer in a folder: the special tokens, the bytes, and pieces without merges."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {piece: number for number, piece in enumerate([*alphabet, *pieces])}
    backend = Backend(models.BPE(vocabulary, []))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    backend.add_special_tokens(list(special))
    for key, value in changes.items():
        setattr(backend, key, value)
    folder.mkdir(exist_ok=True)
    backend.save(str(folder / "tokenizer.json"))
    if config is not None:
        (folder / name).write_text(json.dumps(config))
    return folder


@pytest.mark.parametrize("name", ["tokenizer_config.json", "special_tokens_map.json"])
def test_the_beginning_and_the_end_are_read_from_the_configuration(tmp_path, name):
    config = {"bos_token": {"content": "<start>", "lstrip": False}, "eos_token": "<stop>"}
    loaded = load_tokenizer(existing(tmp_path / "a", config, name))
    assert (loaded.bos_id, loaded.eos_id) == (256, 257)
    (ids,) = loaded.encode(["a<stop>"])
    assert ids[0] == 256 and ids[-1] == 257 and len(ids) == 9


@pytest.mark.parametrize("names", [(BOS, EOS), ("<s>", "</s>"), ("<|endoftext|>", "<|endoftext|>")])
def test_a_tokenizer_alone_may_use_the_usual_names(tmp_path, names):
    loaded = load_tokenizer(existing(tmp_path / "a", special=sorted(set(names), key=names.index)) / "tokenizer.json")
    assert (loaded.bos_id, loaded.eos_id) == (256, 255 + len(set(names)))


@pytest.mark.parametrize(
    ("config", "found"),
    [
        (None, "expected a bos_token named in its tokenizer_config.json, found none"),
        ({"bos_token": "<start>", "eos_token": None}, "expected a eos_token named in .*, found none"),
        ({"bos_token": "<gone>", "eos_token": "<stop>"}, "found '<gone>', which is not in the vocabulary"),
    ],
)
def test_a_tokenizer_without_beginning_or_end_is_an_error(tmp_path, config, found):
    with pytest.raises(UserError, match=found):
        load_tokenizer(existing(tmp_path / "a", config))


def test_truncation_and_padding_of_an_existing_tokenizer_are_off(tmp_path):
    folder = existing(tmp_path / "a", {"bos_token": "<start>", "eos_token": "<stop>"})
    backend = Backend.from_file(str(folder / "tokenizer.json"))
    backend.enable_truncation(4)
    backend.enable_padding(length=50)
    backend.save(str(folder / "tokenizer.json"))
    assert [len(ids) for ids in load_tokenizer(folder).encode(["a" * 100, "b"])] == [102, 3]


def test_added_tokens_that_are_text_have_their_bytes(tmp_path):
    folder = existing(tmp_path / "a", {"bos_token": "<start>", "eos_token": "<stop>"})
    backend = Backend.from_file(str(folder / "tokenizer.json"))
    backend.add_tokens(["日本"])
    backend.add_special_tokens(["<pad>"])
    backend.save(str(folder / "tokenizer.json"))
    loaded = load_tokenizer(folder)
    (ids,) = loaded.encode(["a日本é"])
    assert len(ids) == 2 + 1 + 1 + 2
    assert loaded.bytes_per_token(260)[ids].tolist() == [0, 1, 6, 1, 1, 0]
    assert loaded.bytes_per_token(260)[loaded.backend.token_to_id("<pad>")] == 0


def test_the_bytes_of_a_byte_fallback_tokenizer(tmp_path):
    pieces = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256)), "\u2581", "a", "é", "\u2581a"]
    backend = Backend(
        models.BPE(
            {piece: i for i, piece in enumerate(pieces)}, [("\u2581", "a")], unk_token="<unk>", byte_fallback=True
        )
    )
    backend.normalizer = normalizers.Replace(" ", "\u2581")
    backend.add_special_tokens(["<unk>", "<s>", "</s>"])
    backend.save(str(tmp_path / "tokenizer.json"))
    loaded = load_tokenizer(tmp_path)
    text = "a aé é日"
    (ids,) = loaded.encode([text])
    # By hand: BOS, a, " a", é, " ", é, three bytes of 日, EOS.
    assert loaded.bytes_per_token(300)[ids].tolist() == [0, 1, 2, 2, 1, 2, 1, 1, 1, 0]


def test_a_tokenizer_that_does_not_tell_its_bytes_is_an_error(tmp_path):
    backend = Backend(models.WordPiece({"[UNK]": 0, "<s>": 1, "</s>": 2}, unk_token="[UNK]"))
    backend.pre_tokenizer = pre_tokenizers.Whitespace()
    backend.save(str(tmp_path / "tokenizer.json"))
    with pytest.raises(UserError, match="expected a byte-level or byte-fallback tokenizer.*found WordPiece"):
        load_tokenizer(tmp_path).bytes_per_token(300)


def test_the_bytes_of_pieces_are_those_of_the_library():
    for piece, token in pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False).pre_tokenize_str("é\n a"):
        assert (bytes(BYTE_LEVEL[character] for character in piece), token) == ("é\n a".encode(), (0, 4))
    assert set(BYTE_LEVEL) == set(pre_tokenizers.ByteLevel.alphabet())
    # All bytes that UTF-8 has: without 0xc0, 0xc1 and those from 0xf5 on.
    assert {byte for character in EVERY_BYTE for byte in character.encode()} == {*range(0xF5)} - {0xC0, 0xC1}


BYTES = pre_tokenizers.ByteLevel(add_prefix_space=False)
LLAMA3 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|"
    r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)


@pytest.mark.parametrize(
    "changes",
    [
        {"pre_tokenizer": pre_tokenizers.Sequence([pre_tokenizers.Digits(True), BYTES])},  # SmolLM2's
        {
            "pre_tokenizer": pre_tokenizers.Sequence(
                [
                    pre_tokenizers.Split(Regex(LLAMA3), "isolated"),
                    pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
                ]
            )
        },  # Llama 3's
        {"pre_tokenizer": pre_tokenizers.ByteLevel(add_prefix_space=True)},
        {"decoder": None},
        {"added": [AddedToken("  "), AddedToken("hello", single_word=True)]},  # as GPT-NeoX has for spaces
        {"added": [AddedToken("<pad>", lstrip=True, rstrip=True, special=True)]},
    ],
)
def test_a_tokenizer_that_keeps_every_byte_is_taken(tmp_path, texts, changes):
    loaded = load_tokenizer(changed(tmp_path, **changes))
    for text, ids in zip(texts, loaded.encode(texts)):
        assert b"".join(loaded.pieces[token] for token in ids).removeprefix(b" ") == text.encode().removeprefix(b" ")


def changed(folder, added=(), **changes):
    """A byte-level tokenizer with other parts, or with more added tokens."""
    existing(folder, {"bos_token": "<start>", "eos_token": "<stop>"}, **changes)
    backend = Backend.from_file(str(folder / "tokenizer.json"))
    backend.add_tokens(list(added))
    backend.save(str(folder / "tokenizer.json"))
    return folder


NORMALIZERS = ["NFC", "NFD", "NFKC", "NFKD", "Lowercase", "Strip", "StripAccents", "Nmt", "BertNormalizer"]


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        *(({"normalizer": getattr(normalizers, name)()}, f"take {name} out of the normalizer") for name in NORMALIZERS),
        ({"normalizer": normalizers.Replace(Regex(" {2,}"), " ")}, "take Replace out of the normalizer"),
        (
            {"pre_tokenizer": pre_tokenizers.Sequence([pre_tokenizers.Whitespace(), BYTES])},
            "its pre_tokenizer leaves characters out",
        ),
        (
            {"pre_tokenizer": pre_tokenizers.Sequence([pre_tokenizers.Split(" ", "removed"), BYTES])},
            "its pre_tokenizer leaves characters out",
        ),
        ({"added": [AddedToken("hello", lstrip=True)]}, "its added token 'hello' takes more than its name"),
        ({"added": [AddedToken("hello", rstrip=True)]}, "its added token 'hello' takes more than its name"),
        ({"added": [AddedToken("e", special=True)]}, "its BPE has no token for some bytes, or tokens that stand for"),
        ({"model": models.BPE({"a": 0}, [])}, "its BPE has no token for some bytes"),
        ({"model": models.BPE({"a": 0}, [], unk_token="a")}, "its BPE has no token for some bytes"),
        ({"model": models.BPE({"a</w>": 0}, [], end_of_word_suffix="</w>")}, "its BPE has no token for some bytes"),
        (
            {"model": models.BPE({"a": 0}, [], unk_token="b")},
            "one that reads every text, found: Unk token `b`",
        ),
    ],
)
def test_a_tokenizer_that_loses_bytes_is_refused_for_texts_of_our_own(tmp_path, changes, found):
    folder = changed(tmp_path, **changes)
    with pytest.raises(UserError) as caught:
        load_tokenizer(folder)
    assert str(caught.value).startswith(f"{folder}: expected a tokenizer that keeps every byte") or "Unk" in found
    assert found in str(caught.value) and "\n" not in str(caught.value)
    assert load_published_tokenizer(folder).bos_id is None  # as the model reads


@pytest.mark.parametrize("load", [load_tokenizer, load_published_tokenizer])
def test_a_tokenizer_reads_a_text_always_alike(corpus, tmp_path, load):
    train_tokenizer(read_corpus(corpus), 400).save(tmp_path / "t")
    description = json.loads((tmp_path / "t/tokenizer.json").read_text())
    description["model"]["dropout"] = 0.5
    (tmp_path / "t/tokenizer.json").write_text(json.dumps(description))
    texts = [text for group in read_corpus(corpus) for text in group]
    assert len({tuple(np.concatenate(load(tmp_path / "t").encode(texts))) for _ in range(3)}) == 1
    load_tokenizer(tmp_path / "t").save(tmp_path / "t")
    assert json.loads((tmp_path / "t/tokenizer.json").read_text())["model"]["dropout"] is None


@pytest.mark.parametrize(
    ("config", "found"),
    [
        ("[]", r"tokenizer_config.json: expected an object, found \[\]"),
        ('{"eos_token": 5}', "tokenizer_config.json: eos_token: expected a str, found 5"),
        ('{"eos_token": ["<stop>"]}', "tokenizer_config.json: eos_token: expected a str, found"),
        ('{"eos_token": {"lstrip": true}}', "expected a eos_token named in its tokenizer_config.json, found none"),
        ("[" * 100_000, "tokenizer_config.json: not valid JSON: "),
        ("{", "tokenizer_config.json: not valid JSON: "),
    ],
)
def test_a_configuration_that_says_nothing_sensible_is_named(tmp_path, config, found):
    (existing(tmp_path) / "tokenizer_config.json").write_text(config)
    with pytest.raises(UserError, match=found):
        load_published_tokenizer(tmp_path)


def test_a_panic_of_the_library_is_one_line(tmp_path):
    existing(tmp_path, {"bos_token": "<start>", "eos_token": "<stop>"}, pieces=["ab"])
    description = json.loads((tmp_path / "tokenizer.json").read_text())
    description["model"] |= {"continuing_subword_prefix": "##", "merges": [["a", "b"]]}
    (tmp_path / "tokenizer.json").write_text(json.dumps(description))
    with pytest.raises(UserError, match="expected a tokenizer.json, found: byte index 2 is out of bounds"):
        load_tokenizer(tmp_path)


@pytest.mark.parametrize("source", ["./absent", "/no/such/tokenizer.json", "/" + "a" * 300, "a/b/c", "tokenizer.json"])
def test_a_path_without_a_tokenizer_is_named(source):
    with pytest.raises(UserError, match=f"^data.tokenizer: expected a tokenizer.json, .*, found '{source}'$"):
        load_tokenizer(source)


def test_a_broken_tokenizer_is_named(tmp_path):
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(UserError, match="tokenizer.json: expected a tokenizer.json, found: "):
        load_tokenizer(tmp_path)


def test_a_folder_without_a_tokenizer_is_named(tmp_path):
    with pytest.raises(UserError, match="expected a tokenizer.json"):
        load_tokenizer(tmp_path)


def test_a_hub_name_is_fetched_file_by_file(tmp_path, monkeypatch):
    import huggingface_hub
    from huggingface_hub.errors import EntryNotFoundError

    folder = existing(tmp_path / "a", {"bos_token": "<start>", "eos_token": "<stop>"})

    def download(name, file):
        assert name == "somebody/some-tokenizer"
        if not (folder / file).exists():
            raise EntryNotFoundError(f"no {file}")
        return str(folder / file)

    monkeypatch.setattr(huggingface_hub, "hf_hub_download", download)
    assert load_tokenizer("somebody/some-tokenizer").bos_id == 256


def test_a_hub_that_does_not_answer_is_one_line(monkeypatch):
    import huggingface_hub

    def download(name, file):
        raise OSError("the hub is away\nsecond line")

    monkeypatch.setattr(huggingface_hub, "hf_hub_download", download)
    with pytest.raises(UserError) as caught:
        load_tokenizer("somebody/some-tokenizer")
    assert str(caught.value) == (
        "data.tokenizer: somebody/some-tokenizer: no such file or folder here, "
        "and the hub gave no tokenizer.json: the hub is away"
    )


def test_a_large_text_is_thinned_evenly():
    groups = [list(range(0, 5)), list(range(5, 6)), list(range(6, 20))]
    assert [number for group in spread(groups, 100, limit=100) for number in group] == list(range(20))
    assert [number for group in spread(groups, 301, limit=100) for number in group] == [0, 4, 8, 12, 16]


def test_importing_the_tokenizer_imports_no_torch():
    code = "import sys, perlayer.data.tokens; print('torch' in sys.modules, 'transformers' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "False False\n"


def test_files_of_the_folder(tokenizer, tmp_path):
    tokenizer.save(tmp_path / "t")
    names = sorted(path.name for path in Path(tmp_path / "t").iterdir())
    assert names == ["manifest.json", "tokenizer.json", "tokenizer_config.json"]
