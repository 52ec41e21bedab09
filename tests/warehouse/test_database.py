import subprocess
import sys
import tempfile
from operator import methodcaller
from pathlib import Path

import duckdb
import made_up_results as made_up
import pandas as pd
import pytest

from perlayer import questions
from perlayer.errors import UserError
from perlayer.store import fresh_folder
from perlayer.warehouse import database
from perlayer.warehouse.collect import collect

SOME = {run: made_up.RUNS[run] for run in ("baseline", "probes", "depth_1")}


def runs_in(connection):
    return [run for (run,) in connection.execute("SELECT run FROM runs WHERE present ORDER BY run").fetchall()]


def test_the_database_is_kept_until_the_tables_change(gather):
    warehouse_dir = gather({"baseline": SOME["baseline"]}, SOME)
    file = warehouse_dir.parent / "perlayer.duckdb"
    with database.connect(warehouse_dir) as first:
        built = file.stat()
        with database.connect(warehouse_dir) as again:
            assert runs_in(again) == ["baseline"]
        assert (file.stat().st_ino, file.stat().st_mtime_ns) == (built.st_ino, built.st_mtime_ns)

        made_up.write(warehouse_dir.parent, SOME)
        collect(made_up.params(SOME), warehouse_dir.parent, warehouse_dir)
        with database.connect(warehouse_dir) as rebuilt:  # while the old one is open in this very process
            assert runs_in(rebuilt) == sorted(SOME)
        assert runs_in(first) == ["baseline"]
    assert {path.name for path in warehouse_dir.parent.iterdir()} == {
        "headline.json",
        "perlayer.duckdb",
        "runs",
        "warehouse",
    }


def test_the_database_changes_with_its_views(gather):
    warehouse_dir = gather(SOME)
    for number in (1, 2):
        views = {
            "later": f"CREATE VIEW later AS FROM earlier WHERE {number} > 0",
            "earlier": f"CREATE VIEW earlier AS SELECT {number}",
        }
        with database.connect(warehouse_dir, views) as connection:
            assert connection.execute("FROM later").fetchall() == [(number,)]


def test_the_database_changes_with_what_completes_it(gather):
    warehouse_dir = gather(SOME)
    for made_from in ("first", "second"):
        complete = methodcaller("execute", f"CREATE TABLE more AS SELECT '{made_from}'")
        with database.connect(warehouse_dir, {}, complete, made_from) as connection:
            assert connection.execute("FROM more").fetchall() == [(made_from,)]


def test_it_may_lie_in_any_folder(tmp_path):
    metrics = tmp_path / "run=1 a'b[c]*" / "metrics"
    made_up.write(metrics, SOME)
    collect(made_up.params(SOME), metrics, metrics / "warehouse")
    with database.connect(metrics / "warehouse") as connection:
        assert runs_in(connection) == sorted(SOME)


def test_in_a_read_only_project_it_lies_among_temporary_files(gather, monkeypatch):
    warehouse_dir = gather(SOME)
    monkeypatch.setattr("os.access", lambda path, mode: False)
    for _ in range(2):
        with database.connect(warehouse_dir) as connection:
            assert runs_in(connection) == sorted(SOME)
    assert not (warehouse_dir.parent / "perlayer.duckdb").exists()
    assert len(list(Path(tempfile.gettempdir()).glob("perlayer-*.duckdb"))) == 1


@pytest.mark.parametrize("content", [b"", b"no database at all", b"\0" * 5000])
def test_a_damaged_database_is_built_anew(gather, content):
    warehouse_dir = gather(SOME)
    (warehouse_dir.parent / "perlayer.duckdb").write_bytes(content)
    with database.connect(warehouse_dir) as connection:
        assert runs_in(connection) == sorted(SOME)


def test_it_is_read_only(warehouse_dir):
    with database.connect(warehouse_dir) as connection:
        for statement in ("DROP VIEW gap", "DELETE FROM runs", "CREATE TABLE more (a INTEGER)"):
            with pytest.raises(duckdb.Error):
                connection.execute(statement)


def test_processes_may_build_it_at_the_same_time(gather):
    warehouse_dir = gather(SOME)
    code = (
        "import sys; from perlayer.warehouse.database import connect\n"
        "for _ in range(3): print(len(connect(sys.argv[1]).execute('FROM final_loss').fetchall()))"
    )
    command = [sys.executable, "-c", code, str(warehouse_dir)]
    processes = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    # baseline has one layer that is read, probes six, depth_1 one
    assert [process.communicate()[0].split() for process in processes] == [["8"] * 3] * 3


def test_missing_tables_name_the_command_that_makes_them(tmp_path):
    with pytest.raises(
        UserError, match="warehouse: no such folder; `make repro` makes it, `dvc pull` brings what was pushed"
    ):
        database.connect(tmp_path / "metrics/warehouse")


def test_damaged_tables_are_named_in_one_line(gather):
    warehouse_dir = gather(SOME)
    path = warehouse_dir / "layer_metrics.parquet"
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(UserError, match="layer_metrics.parquet: damaged: "):
        database.connect(warehouse_dir)


def test_tables_of_another_version_are_named_in_one_line(gather):
    warehouse_dir = gather(SOME)
    tables = {path.name: pd.read_parquet(path) for path in warehouse_dir.glob("*.parquet")}
    tables["runs.parquet"]["surplus"] = 1
    with fresh_folder(warehouse_dir) as folder:
        for name, table in tables.items():
            table.to_parquet(folder / name)
    with pytest.raises(UserError, match="runs.parquet: expected"):
        database.connect(warehouse_dir)


def test_a_place_that_cannot_be_written_is_named(gather):
    warehouse_dir = gather(SOME)
    (warehouse_dir.parent / "perlayer.duckdb" / "occupied").mkdir(parents=True)
    with pytest.raises(UserError, match="perlayer.duckdb: cannot be written"):
        database.connect(warehouse_dir)


def test_every_table_view_and_column_says_what_it_means(warehouse_dir):
    with questions.connect(warehouse_dir) as connection:
        relations = database.relations(connection)
        said = {(name, ""): meaning for name, _, meaning in relations}
        said |= {(name, row[0]): row[2] for name, *_ in relations for row in database.columns(connection, name)}
        views = {name for name, kind, _ in relations if kind == "view"}
    assert [place for place, meaning in said.items() if not meaning] == []
    assert views == {*database.all_views(questions.views())}
