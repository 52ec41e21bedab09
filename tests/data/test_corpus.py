import hashlib
import json

import pyarrow.parquet as parquet
import pytest

from perlayer.data import corpus as corpus_module
from perlayer.data.corpus import CorpusSize, build_corpus, corpus_bytes, read_corpus
from perlayer.errors import UserError
from perlayer.store import fresh_folder

PART = "part-00000.parquet"


def write_jsonl(path, texts):
    path.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    return str(path)


def test_rows_keep_the_order_and_have_stable_ids(corpus, texts):
    table = parquet.read_table(corpus / PART)
    # The byte order mark that opens a text file is no part of its text.
    expected = [text.removeprefix("\ufeff") for text in texts]
    assert table.column_names == ["id", "text"]
    assert table["text"].to_pylist() == expected
    hashes = [hashlib.blake2b(text.encode(), digest_size=4).hexdigest() for text in expected]
    assert table["id"].to_pylist() == [f"{number:010d}-{digest}" for number, digest in enumerate(hashes)]
    assert [text for group in read_corpus(corpus) for text in group] == expected


def test_the_same_source_gives_the_same_bytes(text_folder, corpus, tmp_path):
    build_corpus(f"{text_folder}/*.txt", "text", tmp_path / "again")
    assert (tmp_path / "again" / PART).read_bytes() == (corpus / PART).read_bytes()


def test_row_groups_and_files_are_bounded(tmp_path, monkeypatch):
    monkeypatch.setattr(corpus_module, "ROW_GROUP_BYTES", 100)
    monkeypatch.setattr(corpus_module, "ROW_GROUP_ROWS", 6)
    monkeypatch.setattr(corpus_module, "ROW_GROUPS_PER_FILE", 2)
    texts = ["y" * 60, "z" * 60, "w" * 300, *(["a"] * 20)]
    build_corpus(write_jsonl(tmp_path / "a.jsonl", texts), "text", tmp_path / "corpus")
    # By hand: 60 + 60 > 100; 300 alone is a group; then groups of six rows.
    assert [len(group) for group in read_corpus(tmp_path / "corpus")] == [1, 1, 1, 6, 6, 6, 2]
    assert [text for group in read_corpus(tmp_path / "corpus") for text in group] == texts
    assert sorted(path.name for path in (tmp_path / "corpus").glob("*.parquet")) == [
        f"part-{number:05d}.parquet" for number in range(4)
    ]


def test_empty_documents_are_left_out_and_counted(tmp_path):
    source = write_jsonl(tmp_path / "a.jsonl", ["", "é", "", "bc"])
    sizes = build_corpus(source, "text", tmp_path / "corpus")
    assert sizes == {"corpus": CorpusSize(documents=2, bytes=4, empty=2)}
    ids = parquet.read_table(tmp_path / "corpus" / PART)["id"].to_pylist()
    assert [name.split("-")[0] for name in ids] == ["0000000001", "0000000003"]  # numbers of the source


def test_bytes_are_counted_from_the_headers(corpus, texts):
    exact = sum(len(text.removeprefix("\ufeff").encode()) for text in texts)
    assert exact <= corpus_bytes(corpus) <= exact + 200  # one page header


def test_the_bytes_of_equal_texts_count_each_time(tmp_path):
    build_corpus(write_jsonl(tmp_path / "a.jsonl", ["x" * 1000] * 100), "text", tmp_path / "corpus")
    assert 100_000 <= corpus_bytes(tmp_path / "corpus") <= 100_200


def test_a_validation_text_has_a_folder_of_its_own(tmp_path):
    source, validation = tmp_path / "a.jsonl", tmp_path / "v.jsonl"
    sizes = build_corpus(
        write_jsonl(source, ["a", "b"]), "text", tmp_path / "corpus", write_jsonl(validation, ["c", "d", "e"])
    )
    assert [sizes["corpus"].documents, sizes["validation"].documents] == [2, 3]
    assert list(read_corpus(tmp_path / "corpus")) == [["a", "b"]]
    assert list(read_corpus(tmp_path / "corpus/validation")) == [["c", "d", "e"]]


@pytest.mark.parametrize(
    ("texts", "found"), [([], "found no document"), (["", ""], "found 2 documents, all of them empty")]
)
def test_an_empty_corpus_is_an_error_and_leaves_no_half_written_folder(tmp_path, texts, found):
    source = write_jsonl(tmp_path / "a.jsonl", texts)
    with pytest.raises(UserError, match=f"^corpus {source}: expected text, {found}$"):
        build_corpus(source, "text", tmp_path / "corpus")
    assert not (tmp_path / "corpus").exists()


def test_a_broken_row_leaves_no_half_written_folder(tmp_path, monkeypatch):
    monkeypatch.setattr(corpus_module, "ROW_GROUP_ROWS", 1)
    source = write_jsonl(tmp_path / "a.jsonl", ["a", "b", None])
    with pytest.raises(UserError, match="row 3"):
        build_corpus(source, "text", tmp_path / "corpus")
    assert not (tmp_path / "corpus").exists()


def test_an_unwritable_destination_is_named(tmp_path):
    (tmp_path / "data").touch()
    with pytest.raises(UserError, match=r"data/corpus: cannot be written: Not a directory"):
        build_corpus(write_jsonl(tmp_path / "a.jsonl", ["a"]), "text", tmp_path / "data/corpus")


def test_a_folder_without_a_corpus_is_named(tmp_path):
    with pytest.raises(UserError, match="manifest.json: no such file; remove .* and run `dvc repro`"):
        next(read_corpus(tmp_path))
    with fresh_folder(tmp_path / "empty"):
        pass
    with pytest.raises(UserError, match=r"empty: expected part-\*.parquet, found none; run the stage corpus"):
        next(read_corpus(tmp_path / "empty"))


def test_a_broken_part_is_named(tmp_path):
    build_corpus(write_jsonl(tmp_path / "a.jsonl", ["a"]), "text", tmp_path / "corpus")
    path = tmp_path / "corpus" / PART
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(UserError, match=f"{PART}: damaged: "):
        next(read_corpus(tmp_path / "corpus"))
