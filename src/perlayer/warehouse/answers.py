"""The small tables and views of the database as files of their own, in git: a fresh clone answers from them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import duckdb

from perlayer.store import MANIFEST, fresh_folder, verified_files
from perlayer.warehouse import database

MOST_ROWS = 2000  # of a table that lies in git


def write_answers(connection: duckdb.DuckDBPyConnection, destination: Path) -> None:
    """Write NAME.parquet of each table and view that is small, its rows in order, with what it and its columns mean.

    Args:
        connection: of the whole database, see `database.connect`.
    """
    from perlayer.tables import write_parquet

    with fresh_folder(destination) as folder:
        for name, _, _ in database.relations(connection):
            ((rows,),) = connection.execute(f'SELECT count(*) FROM "{name}"').fetchall()
            if rows > MOST_ROWS:
                continue
            write_parquet(database.described(connection, name), folder / f"{name}.parquet")


def only_answers(warehouse_dir: Path) -> Path | None:
    """The folder of the small tables beside that of the warehouse, where they are all that there is; else None."""
    folder = warehouse_dir.with_name("answers")
    return folder if (folder / MANIFEST).exists() and not (warehouse_dir / MANIFEST).exists() else None


def lacking(statement: str, connection: duckdb.DuckDBPyConnection, names: Iterable[str]) -> list[str]:
    """The tables and views of the whole database, by name, that a statement reads and the small tables do not hold."""
    from perlayer.warehouse.tables import TABLES

    here = {name for name, *_ in database.relations(connection)}
    return sorted({*TABLES, *names} & set(re.findall(r"\w+", statement)) - here)


def connect(folder: Path) -> duckdb.DuckDBPyConnection:
    """Open a database of the small tables alone, read-only.

    Raises:
        UserError: a file is missing or damaged.
    """
    return database.connect(folder, fill=_read)


def _read(connection: duckdb.DuckDBPyConnection, source: Path) -> None:
    for path in verified_files(source, "*.parquet"):
        connection.execute(f'CREATE TABLE "{path.stem}" AS FROM {database.rows_of(path)}')
        said = f"SELECT decode(key), decode(value) FROM parquet_kv_metadata({database.quoted(path)})"
        for key, meaning in connection.execute(said).fetchall():
            kind, _, column = key.partition(" ")
            if kind == "table":
                connection.execute(f'COMMENT ON TABLE "{path.stem}" IS {database.quoted(meaning)}')
            elif kind == "column":
                connection.execute(f'COMMENT ON COLUMN "{path.stem}"."{column}" IS {database.quoted(meaning)}')
