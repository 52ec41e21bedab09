"""What `perlayer query` prints of every kind of value, and how it ends when it is interrupted."""

import csv
import json
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

sys.path.insert(0, str(Path(__file__).parent / "warehouse"))

from made_up_results import warehouse_dir  # noqa: E402, F401

from perlayer import cli  # noqa: E402


@pytest.fixture
def project(warehouse_dir, tmp_path, monkeypatch):  # noqa: F811
    (tmp_path / "metrics").symlink_to(warehouse_dir.parent)
    monkeypatch.chdir(tmp_path)
    return tmp_path


VALUES = {  # of DuckDB's types: in CSV as its cast to VARCHAR gives it, in JSON as its to_json does
    "1.50::DECIMAL(4, 2)": ("1.50", 1.5),
    "MAP {1: [2, NULL]}": ("{1=[2, NULL]}", {"1": [2, None]}),
    "[DATE '2020-01-31']": ("[2020-01-31]", ["2020-01-31"]),
    "'infinity'::DATE": ("infinity", "infinity"),
    "DATE '20000-01-01'": ("20000-01-01", "20000-01-01"),
    "INTERVAL 178956970 YEARS": ("178956970 years", "178956970 years"),
    "'a\\xFF'::BLOB": ("a\\xFF", "a\\xFF"),
    "{'a': true, 'b': 'infinity'::DOUBLE}": ("{'a': true, 'b': inf}", {"a": True, "b": None}),
    "TIMESTAMPTZ '2020-01-01 00:00:00+00'": ("2020-01-01 00:00:00+00", "2020-01-01 00:00:00+00"),
    "340282366920938463463374607431768211455::UHUGEINT": (str(2**128 - 1), 2**128 - 1),
}


@pytest.mark.parametrize("value", VALUES)
def test_values_of_every_type_are_what_duckdb_makes_of_them(project, capsys, monkeypatch, value):
    monkeypatch.setenv("TZ", "UTC")
    found = []
    for form in ("csv", "json", "table"):
        assert cli.main(["query", f"SELECT {value} AS a", "--format", form]) == 0
        found.append(capsys.readouterr().out)
    text, number = VALUES[value]
    assert list(csv.reader(found[0].splitlines())) == [["a"], [text]]
    assert json.loads(found[1]) == [{"a": number}]
    assert found[2].splitlines()[-1].strip() == text


def test_csv_tells_an_empty_text_from_none(project, capsys):
    """DuckDB, which reads it back, takes nothing for NULL and quotes for a text."""
    question = """SELECT * FROM (VALUES ('', NULL, 'a,b'), (NULL, '', 'a"b'), ('NULL', 'a', 'a\rb\nc')) AS t(a, b, c)"""
    assert cli.main(["query", question, "--format", "csv"]) == 0
    Path("written.csv").write_text(capsys.readouterr().out, newline="")
    read = "SELECT * FROM read_csv('written.csv', all_varchar=true, allow_quoted_nulls=false, strict_mode=true)"
    assert duckdb.sql(read).fetchall() == duckdb.sql(question).fetchall()
    assert Path("written.csv").read_text().splitlines()[:2] == ["a,b,c", '"",,"a,b"']


def test_names_that_stand_twice_keep_all_columns(project, capsys):
    cli.main(["query", "SELECT 1 AS a, 2 AS a_2, 3 AS a, 4 AS a", "--format", "json"])
    assert json.loads(capsys.readouterr().out) == [{"a": 1, "a_2": 2, "a_3": 3, "a_4": 4}]


@pytest.mark.parametrize(
    "arguments",
    [("query", "SELECT sum(a.range * b.range) FROM range(1000000) AS a, range(1000000) AS b"), ("preview",)],
)
def test_an_interruption_is_one_line(project, arguments):
    (project / "params.yaml").symlink_to(Path(__file__).parents[1] / "params.yaml")
    code = (
        "import os, sys, signal, threading, perlayer.preview, perlayer.questions\n"
        "def preview(choices):\n    while True: pass\n"
        "perlayer.preview.preview = preview\n"
        "from perlayer.cli import main\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "threading.Timer(1.0, os.kill, [os.getpid(), signal.SIGINT]).start()\n"
        "sys.exit(main(sys.argv[1:]))"
    )
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "error: interrupted\n")
