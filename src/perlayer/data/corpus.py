"""The corpus: every document of a text in order, as parquet with the columns id and text."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from perlayer.data.sources import documents
from perlayer.errors import UserError
from perlayer.store import fresh_folder, verified_files

VALIDATION = "validation"

# A row group is what memory holds at once, here and in the stages that read the corpus.
ROW_GROUP_BYTES = 8 * 2**20
ROW_GROUP_ROWS = 8192
ROW_GROUPS_PER_FILE = 128


@dataclass(frozen=True)
class CorpusSize:
    """How much text a corpus holds."""

    documents: int
    bytes: int  # of UTF-8
    empty: int  # documents without text, left out


def build_corpus(
    corpus: str, text_column: str, destination: str | Path, validation: str | None = None
) -> dict[str, CorpusSize]:
    """Write a corpus to `destination/part-*.parquet`, and a validation text to `destination/validation/`.

    Rows keep the order of the source. The column `id` is the number of the document in its source, counted from 0,
    and a hash of its text: it depends on nothing but the source. Memory is bounded by a row group or by the longest
    document, whichever is larger.

    Args:
        corpus: see `perlayer.data.sources.documents`.
        text_column: the column of a table that holds the text, in the corpus and in the validation text.
        destination: a folder; what it held is removed.
        validation: a text of its own to evaluate on, or None.

    Returns:
        The sizes, under `corpus` and, if there is one, `validation`.

    Raises:
        UserError: a source is empty or cannot be read, or `destination` cannot be written.
    """
    with fresh_folder(destination) as folder:
        sizes = {"corpus": _write(corpus, documents(corpus, text_column), folder)}
        if validation is not None:
            (folder / VALIDATION).mkdir()
            sizes[VALIDATION] = _write(validation, documents(validation, text_column), folder / VALIDATION)
    return sizes


def read_corpus(folder: str | Path) -> Iterator[list[str]]:
    """Yield the texts of a corpus in order, a list for each row group.

    Raises:
        UserError: the folder holds no corpus, or a file of it is broken.
    """
    import pyarrow
    import pyarrow.parquet

    for path in _parts(folder):
        try:
            with pyarrow.parquet.ParquetFile(path) as file:
                for group in range(file.num_row_groups):
                    yield file.read_row_group(group, columns=["text"]).column("text").to_pylist()
        except (pyarrow.ArrowException, OSError) as error:
            raise UserError(f"{path}: expected a parquet file of the corpus, found: {error}".splitlines()[0]) from None


def corpus_bytes(folder: str | Path) -> int:
    """The UTF-8 bytes of a corpus, from the headers of its files alone."""
    import pyarrow.parquet

    total = 0
    for path in _parts(folder):
        metadata = pyarrow.parquet.read_metadata(path)
        groups = [metadata.row_group(group).column(1) for group in range(metadata.num_row_groups)]
        # Plainly encoded text: four bytes of length before each. Page headers make the sum a little larger.
        total += sum(column.total_uncompressed_size for column in groups) - 4 * metadata.num_rows
    return total


def _parts(folder: str | Path) -> list[Path]:
    parts = verified_files(folder, "part-*.parquet")
    if not parts:
        raise UserError(f"{folder}: expected part-*.parquet, found none; run the stage corpus")
    return parts


def _write(source: str, texts: Iterable[str], folder: Path) -> CorpusSize:
    import pyarrow
    import pyarrow.parquet
    from tqdm import tqdm

    schema = pyarrow.schema([("id", pyarrow.string()), ("text", pyarrow.string())])
    written = size = empty = groups = 0
    writer = None
    try:
        for ids, group, group_bytes, skipped in _row_groups(tqdm(texts, source, unit=" documents", disable=None)):
            empty += skipped
            if not ids:
                continue
            if groups % ROW_GROUPS_PER_FILE == 0:
                if writer is not None:
                    writer.close()
                path = folder / f"part-{groups // ROW_GROUPS_PER_FILE:05d}.parquet"
                # Neither dictionary nor statistics: the sizes in the headers stay those of the text.
                writer = pyarrow.parquet.ParquetWriter(
                    path, schema, compression="zstd", use_dictionary=False, write_statistics=False
                )
            writer.write_table(pyarrow.table({"id": ids, "text": group}, schema), row_group_size=len(ids))
            groups += 1
            written += len(ids)
            size += group_bytes
    finally:
        if writer is not None:
            writer.close()
    if not written:
        found = f"{empty} documents, all of them empty" if empty else "no document"
        raise UserError(f"corpus {source}: expected text, found {found}")
    return CorpusSize(written, size, empty)


def _row_groups(texts: Iterable[str]) -> Iterator[tuple[list[str], list[str], int, int]]:
    """Group texts to bounded row groups: (ids, texts, bytes, empty documents left out)."""
    ids, group, size, empty = [], [], 0, 0
    for number, text in enumerate(texts):
        if not text:
            empty += 1
            continue
        content = text.encode("utf-8")
        if group and (size + len(content) > ROW_GROUP_BYTES or len(group) == ROW_GROUP_ROWS):
            yield ids, group, size, empty
            ids, group, size, empty = [], [], 0, 0
        ids.append(f"{number:010d}-{hashlib.blake2b(content, digest_size=4).hexdigest()}")
        group.append(text)
        size += len(content)
    yield ids, group, size, empty
