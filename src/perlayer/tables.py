"""Parquet tables: a kind of row is a frozen dataclass, whose annotations say the columns and what is checked of them.

Columns annotated `Measured` hold what was measured, numbers among it finite; the others together say of what, and no
two rows say the same. A column may be null where its annotation says `| None`.
"""

from __future__ import annotations

import functools
import types
import typing
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as compute
import pyarrow.parquet as parquet

from perlayer.errors import UserError

Int8 = Annotated[int, "int8"]
Int16 = Annotated[int, "int16"]
Int32 = Annotated[int, "int32"]
Int64 = Annotated[int, "int64"]
MEASURED = "measured"
Measured = Annotated[TypeVar("T"), MEASURED]
_TYPES = {str: pa.string(), bool: pa.bool_(), float: pa.float64()}


@dataclass(frozen=True)
class Column:
    """What a kind of row says of one of its columns."""

    name: str
    type: pa.DataType
    optional: bool
    measured: bool


@functools.cache
def columns_of(kind: type) -> tuple[Column, ...]:
    """The columns of a kind of row, in order."""
    hints = typing.get_type_hints(kind, include_extras=True)
    return tuple(_column(field.name, hints[field.name]) for field in fields(kind))


def _column(name: str, hint: Any) -> Column:
    optional = isinstance(hint, types.UnionType) or typing.get_origin(hint) is typing.Union
    if optional:
        (hint,) = (part for part in typing.get_args(hint) if part is not type(None))
    if typing.get_origin(hint) is not Annotated:
        return Column(name, _TYPES[hint], optional, measured=False)
    kind, *said = typing.get_args(hint)
    aliases = [pa.type_for_alias(alias) for alias in said if alias != MEASURED]
    return Column(name, *(aliases or [_TYPES[kind]]), optional, measured=MEASURED in said)


def schema_of(kind: type) -> pa.Schema:
    """The schema of the tables of a kind of row."""
    return pa.schema([(column.name, column.type) for column in columns_of(kind)])


def order_of(kind: type) -> str:
    """The order of rows, as SQL has it: by what they are of, column by column."""
    return ", ".join(f"{column.name} NULLS FIRST" for column in columns_of(kind) if not column.measured)


def empty_table(kind: type) -> pa.Table:
    """A table of no rows."""
    return pa.Table.from_batches([], schema_of(kind))  # `Schema.empty_table` imports pandas


def table_of(kind: type, rows: Iterable[Any]) -> pa.Table:
    """A table of rows, each an instance of `kind`."""
    return pa.Table.from_pylist([vars(row) for row in rows], schema_of(kind))


def table_of_columns(kind: type, rows: int, columns: Mapping[str, np.ndarray | Sequence[Any] | str | int | None]):
    """A table by columns: an array of as many numbers as there are rows, or a value that all rows share."""
    schema = schema_of(kind)
    return pa.table({field.name: _array(columns[field.name], field.type, rows) for field in schema}, schema=schema)


# Arrow's own constructors of arrays import pandas, to see whether the values are of its kinds: 0.3 s a run.
def _array(values: Any, type: pa.DataType, rows: int) -> pa.Array:
    if values is None:
        return pa.nulls(rows, type)
    if isinstance(values, str):
        content = values.encode()
        ends = np.arange(rows + 1, dtype=np.int32) * np.int32(len(content))
        return pa.StringArray.from_buffers(rows, pa.py_buffer(ends), pa.py_buffer(content * rows))
    dtype = np.dtype(type.to_pandas_dtype())
    numbers = np.ascontiguousarray(np.broadcast_to(np.asarray(values), (rows,)).astype(dtype))
    return pa.Array.from_buffers(type, rows, [None, pa.py_buffer(numbers)])


def write_table(kind: type, table: pa.Table, path: Path) -> None:
    """Write a table of a kind of row as parquet; the same table gives the same bytes.

    Raises:
        UserError: a measured number is not finite, or a row stands twice; nothing is written then.
    """
    try:
        require_fit(kind, table, path.name)
    except UserError as error:
        raise UserError(f"{error}; nothing was written") from None
    said, schema = table.schema.metadata, schema_of(kind)
    write_parquet(table.cast(schema.with_metadata(said) if said else schema), path)


def write_tables(kinds: Mapping[str, type], found: Mapping[str, Iterable[Any]], folder: Path) -> None:
    """Write rows as TABLE.parquet in a folder, by the name of their table; see `write_table`."""
    for name, rows in found.items():
        write_table(kinds[name], table_of(kinds[name], rows), folder / f"{name}.parquet")


def write_parquet(table: pa.Table, path: Path) -> None:
    """Write any table as parquet; the same table gives the same bytes."""
    parquet.write_table(table, path, compression="zstd")


def read_table(kind: type, path: Path) -> pa.Table:
    """Read a table of a kind of row.

    Raises:
        UserError: the file is no parquet file of this kind, or its rows are not as `require_fit` asks.
    """
    try:
        table = parquet.read_table(path, partitioning=None)
    except (pa.ArrowException, OSError) as error:
        raise UserError(f"{path}: expected a parquet file, found: {str(error).splitlines()[0]}") from None
    expected = schema_of(kind)
    missing = [name for name in expected.names if name not in table.column_names]
    if missing:
        raise UserError(f"{path}: expected the columns {', '.join(expected.names)}, found no {', '.join(missing)}")
    try:
        table = table.select(expected.names).cast(expected)
    except pa.ArrowInvalid as error:
        raise UserError(f"{path}: expected the types {expected.types}, found: {str(error).splitlines()[0]}") from None
    require_fit(kind, table, str(path))
    return table


def require_fit(kind: type, table: pa.Table, where: str) -> None:
    """Check the rows of a table.

    Raises:
        UserError: a null stands where none may, a measured number is not finite, or two rows are of the same thing.
    """
    key = [column.name for column in columns_of(kind) if not column.measured]
    for column in columns_of(kind):
        values = table[column.name]
        if not column.optional and values.null_count:
            raise UserError(f"{where}: {column.name}: expected a value in each row, found {values.null_count} without")
        if column.measured and pa.types.is_floating(column.type):
            bad = compute.fill_null(compute.invert(compute.is_finite(values)), False)
            if compute.any(bad).as_py():
                row = table.filter(bad).slice(0, 1).to_pylist()[0]
                found = f"{column.name} {row[column.name]}"
                raise UserError(f"{where}: {_place(row, key)}: expected finite numbers, found {found}")
    # `count_all` counts rows; a column of counts is added to the key
    counted = table.group_by(key, use_threads=False).aggregate([([], "count_all")])
    twice = counted.filter(compute.greater(counted["count_all"], 1))
    if len(twice):
        row = twice.slice(0, 1).to_pylist()[0]
        raise UserError(f"{where}: {_place(row, key)}: expected one row, found {row['count_all']}")


def _place(row: Mapping[str, Any], key: Sequence[str]) -> str:
    return ", ".join(f"{name} {row[name]}" for name in key if row[name] is not None)
