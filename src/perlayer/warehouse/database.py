"""The DuckDB database of all results, built on demand from the parquet tables that `collect` writes."""

from __future__ import annotations

import glob
import hashlib
import os
import re
import tempfile
import zlib
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from graphlib import TopologicalSorter
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb

from perlayer.errors import UserError
from perlayer.lifetimes import temporary_folder
from perlayer.store import MANIFEST, read_manifest, verified_files

if TYPE_CHECKING:
    import pyarrow as pa

SQL = resources.files("perlayer.warehouse") / "sql"
READ = re.compile(r"\b(?:FROM|JOIN|UNPIVOT) +(\w+)|[( ]'(\w+)'")  # what a view reads, by way of a macro, too
Fill = Callable[[duckdb.DuckDBPyConnection, Path], None]


def sql(name: str) -> str:
    """The text of `sql/NAME.sql`."""
    return (SQL / f"{name}.sql").read_text(encoding="utf-8")


def meanings() -> str:
    """What tables and their columns mean, as SQL: `sql/tables/TABLE.sql` of each."""
    return "".join(path.read_text(encoding="utf-8") for path in sorted((SQL / "tables").glob("*.sql")))


def quoted(text: str | Path) -> str:
    """`text` as an SQL literal, for statements that take no parameters."""
    return "'" + str(text).replace("'", "''") + "'"


def rows_of(path: str | Path) -> str:
    """What reads one parquet file, for a FROM: in DuckDB's paths `*`, `?`, `[` are a pattern, and a=b is a column."""
    return f"read_parquet({quoted(glob.escape(str(path)))}, hive_partitioning = false)"


def connect(
    warehouse_dir: str | Path,
    views: Mapping[str, str] | None = None,
    complete: Callable[[duckdb.DuckDBPyConnection], None] = lambda connection: None,
    made_from: str = "",
    fill: Fill | None = None,
) -> duckdb.DuckDBPyConnection:
    """Open the database, read-only; build it first when the tables, the views or what completes it have changed.

    The database lies beside the folder of the tables and is a cache: it may be deleted at any time. It is built in a
    file of its own and moved into place, so that processes that read or build it at the same time do no harm.

    Args:
        warehouse_dir: the folder of the tables, TABLE.parquet each.
        views: further views, by name.
        complete: makes further tables, once tables and views are there.
        made_from: a hash of all that `complete` depends on.
        fill: makes what the database holds, from another folder than that of the tables.

    Raises:
        UserError: the tables are missing or damaged, or the database cannot be written.
    """
    warehouse_dir = Path(warehouse_dir)
    database = _place(warehouse_dir)
    every = all_views(views or {})
    fingerprint = _fingerprint(warehouse_dir, every, made_from)
    connection = _open(database, fingerprint)
    if connection is None:
        _build(database, warehouse_dir, fill or partial(_fill, views=every, complete=complete), fingerprint)
        connection = _open(database, fingerprint)
    if connection is None:
        raise UserError(f"{database}: expected the database just built, found another; run the command again")
    return connection


def relations(connection: duckdb.DuckDBPyConnection) -> list[tuple[str, str, str | None]]:
    """Each table and view of the database by name: name, `table` or `view`, and what it means; tables come first."""
    return connection.execute(
        """SELECT table_name AS name, 'table' AS kind, comment FROM duckdb_tables()
        WHERE database_name = current_database() AND schema_name = 'main'
        UNION ALL
        SELECT view_name, 'view', comment FROM duckdb_views()
        WHERE database_name = current_database() AND schema_name = 'main' AND NOT internal
        ORDER BY kind, name"""
    ).fetchall()


def columns(connection: duckdb.DuckDBPyConnection, name: str) -> list[tuple[str, str, str | None]]:
    """Each column of a table or view, in order: its name, its type and what it means.

    A column of which a view says nothing is what the table `runs` says of the column of that name.
    """
    return connection.execute(
        """WITH columns AS (
            FROM duckdb_columns() WHERE database_name = current_database() AND schema_name = 'main'
        )
        SELECT mine.column_name, lower(mine.data_type), coalesce(mine.comment, of_runs.comment)
        FROM columns AS mine
        LEFT JOIN columns AS of_runs ON of_runs.table_name = 'runs' AND of_runs.column_name = mine.column_name
        WHERE mine.table_name = ? ORDER BY mine.column_index""",
        [name],
    ).fetchall()


def differing_params(warehouse_dir: Path) -> str:
    """How params.yaml of the working folder differs from what the tables were collected with; empty if it does not."""
    from perlayer import params
    from perlayer.provenance import different_params

    try:
        about, now = read_manifest(warehouse_dir).about, params.load()
    except (OSError, UserError):
        return ""  # no project here
    size = about.get("params", {}).get("size", now["size"])
    if size != now["size"]:
        return f"size was {size}, and params.yaml says {now['size']}"
    differences = different_params(about, now)
    more = f", and {len(differences) - 1} more" if len(differences) > 1 else ""
    return f"{differences[0]}{more}" if differences else ""


def _place(warehouse_dir: Path) -> Path:
    """Where the database lies: beside the tables, or among temporary files where that is read-only."""
    beside = warehouse_dir.parent / "perlayer.duckdb"
    if os.access(beside.parent, os.W_OK) or not beside.parent.exists():
        return beside
    project = zlib.crc32(os.fsencode(beside.absolute()))
    return Path(tempfile.gettempdir(), f"perlayer-{os.getuid()}-{project:08x}.duckdb")


def create(connection: duckdb.DuckDBPyConnection) -> None:
    """Create the empty tables in the current database of `connection`."""
    from perlayer.tables import empty_table
    from perlayer.warehouse.tables import TABLES

    for name, kind in TABLES.items():
        create_table(connection, name, empty_table(kind))
    connection.execute(meanings())


def create_table(connection: duckdb.DuckDBPyConnection, name: str, table: pa.Table) -> None:
    """Create a table with the rows of another."""
    connection.register("incoming", table)
    connection.execute(f"CREATE TABLE {name} AS FROM incoming")
    connection.unregister("incoming")


def insert(connection: duckdb.DuckDBPyConnection, name: str, rows: pa.Table | Sequence[Any]) -> None:
    """Add rows to a table, in the order in which it keeps them.

    Args:
        rows: a table of its kind of row, or instances of that.
    """
    import pyarrow as pa

    from perlayer.tables import table_of
    from perlayer.warehouse.tables import TABLES, order

    connection.register("incoming", rows if isinstance(rows, pa.Table) else table_of(TABLES[name], rows))
    connection.execute(f"INSERT INTO {name} BY NAME SELECT * FROM incoming ORDER BY {order(name)}")
    connection.unregister("incoming")


def described(connection: duckdb.DuckDBPyConnection, name: str, order: str = "ALL") -> pa.Table:
    """A table or view in order; its metadata say what it means, and under `column NAME` what each column does."""
    table = connection.sql(f'SELECT * FROM "{name}" ORDER BY {order}').to_arrow_table()
    ((meaning,),) = [(meaning,) for relation, _, meaning in relations(connection) if relation == name]
    said = {"table": meaning, **{f"column {column}": means for column, _, means in columns(connection, name)}}
    return table.replace_schema_metadata({key: text for key, text in said.items() if text})


def all_views(further: Mapping[str, str]) -> dict[str, str]:
    """The views of the warehouse and further ones, each after those that it reads."""
    texts = {path.stem: path.read_text(encoding="utf-8") for path in sorted(SQL.glob("*.sql"))} | dict(further)
    texts = {name: text for name, text in texts.items() if name != "macros"}
    reads = {
        name: sorted({read for found in READ.findall(text) for read in found if read in texts and read != name})
        for name, text in texts.items()
    }
    return {name: texts[name] for name in TopologicalSorter(reads).static_order()}


def create_views(connection: duckdb.DuckDBPyConnection, views: Mapping[str, str] | None = None) -> None:
    """Create views in the current database of `connection`, which has the tables: by default those of the warehouse."""
    for text in (sql("macros"), *(all_views({}) if views is None else views).values()):
        connection.execute(text)


def _fingerprint(warehouse_dir: Path, views: Mapping[str, str], made_from: str) -> str:
    """A hash of all that the database is made from."""
    digest = hashlib.blake2b(digest_size=16)
    for text in (duckdb.__version__, meanings(), sql("macros"), *views.values(), made_from):
        digest.update(hashlib.blake2b(text.encode()).digest())
    if not (warehouse_dir / MANIFEST).exists():
        raise UserError(f"{warehouse_dir}: no such folder; `make repro` makes it, `dvc pull` brings what was pushed")
    digest.update(read_manifest(warehouse_dir).identity.encode())
    verified_files(warehouse_dir)
    return digest.hexdigest()


def _open(database: Path, fingerprint: str) -> duckdb.DuckDBPyConnection | None:
    """Attach the database read-only, or return None when it is missing, unreadable or made from something else."""
    if not database.exists():
        return None
    # A private instance: DuckDB shares one between all connections of a process to a path, even when the file has
    # been replaced. One thread: the order of summation, and so every last digit, stays the same.
    connection = duckdb.connect(config={"threads": 1})
    try:
        connection.execute("SET enable_progress_bar = false")  # it would stand in logs, too
        connection.execute(f"ATTACH {quoted(database)} AS perlayer (READ_ONLY)")
        connection.execute("USE perlayer")
        connection.execute("SET enable_external_access = false")  # a question writes and reads no other file
        found = connection.execute("SELECT fingerprint FROM internal.made_from").fetchall()  # none is left over
    except duckdb.Error:
        found = None
    if found != [(fingerprint,)]:
        connection.close()
        return None
    return connection


def _build(database: Path, warehouse_dir: Path, fill: Fill, fingerprint: str) -> None:
    """Build the database in a folder of its own, then move it into place."""
    try:
        with temporary_folder(f"{database.name}.", database.parent) as folder:
            new = folder / database.name
            connection = duckdb.connect()  # all threads: rows keep their order
            try:
                connection.execute("SET enable_progress_bar = false")
                connection.execute(f"ATTACH {quoted(new)} AS perlayer")
                connection.execute("USE perlayer")
                fill(connection, warehouse_dir)
                connection.execute("CREATE SCHEMA internal")
                connection.execute(f"CREATE TABLE internal.made_from AS SELECT {quoted(fingerprint)} AS fingerprint")
                connection.execute("USE memory")
                connection.execute("DETACH perlayer")
            finally:
                connection.close()
            os.replace(new, database)
    except OSError as error:
        raise UserError(f"{database}: cannot be written: {error.strerror}") from None
    except duckdb.IOException as error:
        raise UserError(f"{database}: cannot be written: {first_line(error)}") from None


def _fill(
    connection: duckdb.DuckDBPyConnection,
    warehouse_dir: Path,
    views: Mapping[str, str],
    complete: Callable[[duckdb.DuckDBPyConnection], None],
) -> None:
    from perlayer.warehouse.tables import TABLES

    create(connection)
    for table in TABLES:
        _load(connection, table, warehouse_dir / f"{table}.parquet")
    create_views(connection, views)
    connection.execute("SET threads = 1")  # as whoever asks: the order of a sum decides its last digit
    complete(connection)


def _load(connection: duckdb.DuckDBPyConnection, table: str, path: Path) -> None:
    try:
        connection.execute(f"INSERT INTO {table} BY NAME SELECT * FROM {rows_of(path)}")
    except duckdb.Error as error:
        raise UserError(
            f"{path}: expected the table {table} of `dvc repro collect`, found {first_line(error)}"
        ) from None


def first_line(error: duckdb.Error) -> str:
    """What DuckDB says, as one line, without the excerpt of the statement."""
    return " ".join(str(error).split("\n\n")[0].split())
