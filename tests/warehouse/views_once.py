"""The views of the database, made once for all tests: DuckDB takes half a second to make them, and none to copy."""

import duckdb
import pytest

from perlayer.warehouse import database


@pytest.fixture(scope="session")
def empty_database(tmp_path_factory):
    """The file of a database with the empty tables and all views."""
    file = tmp_path_factory.mktemp("views") / "empty.duckdb"
    with duckdb.connect(file) as connection:
        database.create(connection)
        database.create_views(connection)
    return file


@pytest.fixture(scope="module", autouse=True)
def views_once(empty_database):
    """Tables and views are copied into each database, with all that they say of themselves."""

    def create(connection):
        (here,) = connection.execute("SELECT current_database()").fetchone()
        connection.execute(
            f"ATTACH {database.quoted(empty_database)} AS empty (READ_ONLY); "
            f"COPY FROM DATABASE empty TO {here}; DETACH empty"
        )

    shared = database.all_views({})

    def create_views(connection, views=shared):
        for name, text in views.items():
            if shared.get(name) != text:
                connection.execute(text)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(database, "create", create)
        patch.setattr(database, "create_views", create_views)
        yield
