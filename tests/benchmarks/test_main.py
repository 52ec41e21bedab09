"""What `python -m benchmarks` prints, and how it ends."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import __main__ as benchmarks
from benchmarks.measure import Row

ROOT = Path(__file__).parents[2]
GOOD = Row("a ÷ b", 1.04, 1.01, 1.1, 1.3, "×", "1 MB")
BAD = Row("all of it", 16.0, None, None, 15.0, "min")


@pytest.fixture
def fakes(monkeypatch):
    monkeypatch.setattr(benchmarks, "BENCHMARKS", ("good", "bad"))
    monkeypatch.setattr(benchmarks, "measure", lambda module: [{"good": GOOD, "bad": BAD}[module.split(".")[1]]])


def test_an_unknown_name_is_one_line_that_lists_the_known_ones():
    command = [sys.executable, "-m", "benchmarks", "no_such_thing", "--json"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1 and "no_such_thing" in done.stderr
    assert all(name in done.stderr for name in benchmarks.BENCHMARKS)


def test_every_benchmark_has_its_line():
    modules = {path.stem for path in (ROOT / "benchmarks").glob("*.py") if "\ndef rows() ->" in path.read_text()}
    assert set(benchmarks.BENCHMARKS) == modules


def test_json_is_a_list_of_rows_and_the_status_says_whether_all_hold(fakes, capsys):
    assert benchmarks.main(["--json"]) == 1
    out, err = capsys.readouterr()
    assert json.loads(out) == [GOOD.to_json(), BAD.to_json()]
    assert "good" in err and "bad" in err
    assert benchmarks.main(["good", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == [GOOD.to_json()]


def test_the_table_shows_each_row_with_its_note(fakes, capsys):
    assert benchmarks.main([]) == 1
    assert capsys.readouterr().out.splitlines() == [
        "           measured  quartiles     bound     holds",
        "a ÷ b      1.04 ×    1.01 to 1.10  1.30 ×    yes",
        "  1 MB",
        "all of it  16.0 min  -             15.0 min  NO",
    ]


def module(folder, body):
    (folder / "made_up.py").write_text(f"from benchmarks.measure import Row\n\ndef rows():\n{body}\n")


@pytest.mark.parametrize(
    ("body", "row"),
    [
        ("    print('{')\n    return [Row('a', 1.0, None, None, 2.0, 's')]", Row("a", 1.0, None, None, 2.0, "s")),
        (
            "    import os\n    return [Row(os.environ.get('GIT_DIR', 'none'), 1.0, None, None, 2.0, 's')]",
            Row("none", 1.0, None, None, 2.0, "s"),
        ),
        (
            "    raise ValueError('no such thing')",
            Row("made_up", None, None, None, None, "", "failed: ValueError: no such thing"),
        ),
        (
            "    import os\n    os.kill(os.getpid(), 9)",
            Row("made_up", None, None, None, None, "", "failed: ended by signal 9"),
        ),
    ],
    ids=["prints", "in a hook of git", "raises", "is killed"],
)
def test_a_benchmark_in_a_process_of_its_own(body, row, tmp_path, monkeypatch, capsys):
    module(tmp_path, body)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setenv("GIT_DIR", str(ROOT / ".git"))
    assert benchmarks.measure("made_up") == [row]
    assert capsys.readouterr().out == ""
