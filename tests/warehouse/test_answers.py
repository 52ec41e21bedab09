"""What a fresh clone answers from, against the whole database that it was taken from."""

import shutil

import pytest

from perlayer import cli
from perlayer.questions import connect
from perlayer.store import MANIFEST
from perlayer.warehouse import answers
from perlayer.warehouse.database import columns, relations

QUESTION = "SELECT question, statement, verdict FROM claims ORDER BY ALL"


@pytest.fixture(scope="module")
def small(supervision_dir, tmp_path_factory):
    folder = tmp_path_factory.mktemp("clone") / "metrics/answers"
    with connect(supervision_dir) as connection:
        answers.write_answers(connection, folder)
    return folder


def test_the_small_tables_hold_what_the_whole_database_does(supervision_dir, small):
    names = {path.stem for path in small.glob("*.parquet")}
    assert {"runs", "final_loss", "claims", "gap", "noise_floor"} <= names and "layer_metrics" not in names
    with connect(supervision_dir) as whole, answers.connect(small) as connection:
        for name in names:
            question = f'SELECT * FROM "{name}" ORDER BY ALL'
            found, expected = connection.execute(question), whole.execute(question)
            assert [column[0] for column in found.description] == [column[0] for column in expected.description]
            assert str(found.fetchall()) == str(expected.fetchall())  # as text: a NaN is not itself
            meanings, expected = (
                [(column, meaning) for column, _, meaning in columns(each, name)] for each in (connection, whole)
            )
            assert meanings == expected
        said, expected = ({name: m for name, _, m in relations(each)} for each in (connection, whole))
        assert said == {name: expected[name] for name in names}


def test_the_same_results_give_the_same_bytes(supervision_dir, small, tmp_path):
    with connect(supervision_dir) as connection:
        answers.write_answers(connection, tmp_path / "again")
    assert {path.name: path.read_bytes() for path in (tmp_path / "again").iterdir()} == {
        path.name: path.read_bytes() for path in small.iterdir()
    }


def test_a_clone_answers_and_says_what_it_lacks(supervision_dir, small, tmp_path, monkeypatch, capsys):
    shutil.copytree(small, tmp_path / "metrics/answers")
    monkeypatch.chdir(tmp_path)
    assert cli.main(["query", QUESTION, "--format", "csv"]) == 0
    found = capsys.readouterr().out
    assert cli.main(["query", "SELECT * FROM layer_metrics"]) == 2
    said = capsys.readouterr().err
    assert said == "error: layer_metrics: not among the small tables of a clone; `make repro` or `dvc pull` brings it\n"
    assert cli.main(["query", "SELECT * FROM claimz"]) == 2
    assert "claimz" in capsys.readouterr().err  # which no pull brings
    assert cli.main(["query", "--list", "claims"]) == 0
    assert "  verdict " in capsys.readouterr().out
    shutil.copytree(supervision_dir, tmp_path / "metrics/warehouse")  # the whole is there now
    assert (tmp_path / "metrics/warehouse" / MANIFEST).exists()
    assert cli.main(["query", QUESTION, "--format", "csv"]) == 0
    assert capsys.readouterr().out == found
    assert cli.main(["query", "SELECT count(*) FROM layer_metrics"]) == 0
