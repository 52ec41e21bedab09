"""The small tables and views of the database as files of their own, in git: a fresh clone answers from them."""

from __future__ import annotations

import json
import re
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
    import pyarrow.parquet as parquet

    with fresh_folder(destination) as folder:
        for name, _, comment in database.relations(connection):
            ((rows,),) = connection.execute(f'SELECT count(*) FROM "{name}"').fetchall()
            if rows > MOST_ROWS:
                continue
            table = connection.sql(f'SELECT * FROM "{name}" ORDER BY ALL').to_arrow_table()
            columns = {column: meaning for column, _, meaning in database.columns(connection, name)}
            meaning = json.dumps({"comment": comment, "columns": columns})
            parquet.write_table(
                table.replace_schema_metadata({"meaning": meaning}), folder / f"{name}.parquet", compression="zstd"
            )


def only_answers(warehouse_dir: Path) -> Path | None:
    """The folder of the small tables beside that of the warehouse, where they are all that there is; else None."""
    folder = warehouse_dir.with_name("answers")
    return folder if (folder / MANIFEST).exists() and not (warehouse_dir / MANIFEST).exists() else None


def lacking(statement: str, connection: duckdb.DuckDBPyConnection) -> list[str]:
    """The tables and views of the whole database that a statement names and the small tables do not hold."""
    here = {name for name, *_ in database.relations(connection)}
    return sorted({*database.TABLES, *database.VIEWS, "claims"} & set(re.findall(r"\w+", statement)) - here)


def connect(folder: Path) -> duckdb.DuckDBPyConnection:
    """Open a database of the small tables alone, read-only.

    Raises:
        UserError: a file is missing or damaged.
    """
    return database.connect(folder, fill=_read)


def _read(connection: duckdb.DuckDBPyConnection, source: Path) -> None:
    for path in verified_files(source, "*.parquet"):
        connection.execute(f'CREATE TABLE "{path.stem}" AS FROM {database.rows_of(path)}')
        found = f"SELECT value FROM parquet_kv_metadata({database.quoted(path)}) WHERE key = 'meaning'"
        meaning = json.loads(connection.execute(found).fetchone()[0])
        connection.execute(f'COMMENT ON TABLE "{path.stem}" IS {_literal(meaning["comment"])}')
        for column, comment in meaning["columns"].items():
            connection.execute(f'COMMENT ON COLUMN "{path.stem}"."{column}" IS {_literal(comment)}')


def _literal(text: str | None) -> str:
    return "NULL" if text is None else database.quoted(text)
