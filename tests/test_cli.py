import csv
import dataclasses
import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from ruamel.yaml import YAML

sys.path.insert(0, str(Path(__file__).parent / "warehouse"))

from made_up_results import DEPTH_MATCHED, GAPS, RUNS, warehouse_dir  # noqa: E402, F401

from perlayer import cli, runs  # noqa: E402
from perlayer.algorithms.per_layer_loss.settings import READOUTS  # noqa: E402
from perlayer.algorithms.per_layer_loss.weighting import choices  # noqa: E402
from perlayer.params import load  # noqa: E402
from perlayer.store import read_manifest  # noqa: E402

QUESTION = "SELECT layer, loss FROM final_loss WHERE run = 'separate' ORDER BY layer"


@pytest.fixture
def project(warehouse_dir, tmp_path, monkeypatch):  # noqa: F811
    (tmp_path / "metrics").symlink_to(warehouse_dir.parent)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_query_prints_a_table(project, capsys):
    assert cli.main(["query", QUESTION]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == ["layer   loss", "-----  -----"]
    assert [line.split() for line in lines[2:]] == [
        [str(layer), f"{DEPTH_MATCHED[layer] + gap:.6g}"] for layer, gap in GAPS["separate"].items()
    ]


def test_query_prints_csv_and_json(project, capsys):
    assert cli.main(["query", QUESTION, "--format", "csv"]) == 0
    rows = list(csv.DictReader(capsys.readouterr().out.splitlines()))
    assert cli.main(["query", QUESTION, "--format", "json"]) == 0
    objects = json.loads(capsys.readouterr().out)
    assert len(rows) == len(objects) == 6
    for row, found in zip(rows, objects):
        assert {"layer": int(row["layer"]), "loss": float(row["loss"])} == found
        assert found["loss"] == pytest.approx(DEPTH_MATCHED[found["layer"]] + GAPS["separate"][found["layer"]])


def test_nulls_and_texts(project, capsys):
    cli.main(["query", "SELECT NULL AS a, 'x' AS b, true AS c, 'nan'::DOUBLE AS d", "--format", "json"])
    assert json.loads(capsys.readouterr().out) == [{"a": None, "b": "x", "c": True, "d": None}]
    cli.main(["query", "SELECT NULL AS a, 'x' AS b"])
    assert capsys.readouterr().out == "   a  b\n----  -\nNULL  x\n"
    cli.main(["query", "SELECT 1 AS a WHERE false", "--format", "json"])
    assert json.loads(capsys.readouterr().out) == []


def test_list_shows_everything_with_its_meaning(project, capsys):
    assert cli.main(["query", "--list"]) == 0
    out = capsys.readouterr().out
    for name in ("runs (table)", "layer_metrics (table)", "final_loss (view)", "claims (table)", "noise_floor (view)"):
        assert f"{name}: " in out
    assert "  estimate  " in out and "  The sum of the means of groups, each times its coefficient" in out
    assert "made_from" not in out


@pytest.mark.parametrize(
    "statement, said",
    [
        ("SELECT runn FROM runs", "runn"),
        ("SELEC 1", "syntax error"),
        ("DROP VIEW gap", "read-only"),
        ("CREATE TABLE more AS SELECT 1", "read-only"),
        (" ", "expected one statement"),
        ("SELECT 1; SELECT 2", "expected one statement in SQL, found 2"),
        ("COPY (SELECT 1) TO 'written.csv'", "disabled"),
        ("SELECT * FROM read_csv('params.yaml')", "disabled"),
    ],
)
def test_a_wrong_question_is_one_line_and_status_2(project, capsys, statement, said):
    assert cli.main(["query", statement]) == 2
    captured = capsys.readouterr()
    assert captured.out == "" and captured.err.startswith("error: ") and said in captured.err
    assert captured.err.count("\n") == 1


@pytest.mark.parametrize("arguments", [("query", QUESTION), ("growth", "baseline")])
def test_outside_of_the_root_it_says_so(tmp_path, monkeypatch, capsys, arguments):
    monkeypatch.chdir(tmp_path)
    assert cli.main(arguments) == 1
    assert capsys.readouterr().err == (
        f"error: expected the root of the project as the working folder, found {tmp_path}\n"
    )


def test_without_a_warehouse_it_says_which_command_makes_one(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "params.yaml").touch()
    assert cli.main(["query", QUESTION]) == 1
    assert capsys.readouterr().err == (
        "error: metrics/warehouse: no such folder; `make repro` makes it, `dvc pull` brings what was pushed\n"
    )


@pytest.mark.parametrize("arguments", [("query", QUESTION), ("supervision",)])
def test_it_loads_nothing_heavy(project, arguments):
    cli.main(["query", QUESTION])  # builds the database
    code = (
        "import sys; from perlayer.cli import main; main(sys.argv[1:])\n"
        "print(sorted({'torch', 'composer', 'pandas', 'scipy', 'matplotlib', 'numpy'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_a_question_that_is_not_utf_8_is_one_line(project, capsys):
    assert cli.main(["query", os.fsdecode(b"SELECT 'caf\xe9'")]) == 2
    assert capsys.readouterr() == ("", "error: expected SQL in UTF-8, found \"SELECT 'caf\\udce9'\"\n")


@pytest.mark.parametrize("form", cli.FORMATS)
@pytest.mark.parametrize(("encoding", "letter", "shown"), [("latin-1", "\u00e9", True), ("ascii", "\u2192", False)])
def test_an_answer_that_the_output_cannot_show_is_one_line(project, capsys, monkeypatch, form, encoding, letter, shown):
    out = io.TextIOWrapper(io.BytesIO(), encoding)
    monkeypatch.setattr(sys, "stdout", out)
    status = cli.main(["query", f"SELECT '{letter}' AS x", "--format", form])
    said = capsys.readouterr().err
    if shown:
        assert (status, said) == (0, "") and letter.encode(encoding) in out.buffer.getvalue()
    else:
        assert status == 1 and said.count("\n") == 1
        assert said.startswith(f"error: expected an answer that {encoding}, the encoding of the output, can show")


@pytest.mark.parametrize(
    ("streams", "status", "said"),
    [
        (">/dev/full", 1, "error: the answer cannot be written: No space left on device\n"),
        (">&-", 0, ""),
        ("<&- >&- 2>&-", 0, ""),
    ],
)
def test_an_answer_that_cannot_be_written_is_one_line(project, streams, status, said):
    command = f'"{sys.executable}" -m perlayer.cli query "SELECT 1" {streams}'
    done = subprocess.run(["sh", "-c", command], stderr=subprocess.PIPE, text=True, env=os.environ)
    assert (done.returncode, done.stderr) == (status, said)


def test_a_reader_may_stop_early(project):
    command = [sys.executable, "-m", "perlayer.cli", "query", "SELECT * FROM range(1000000)", "--format", "csv"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=os.environ) as process:
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 0


def ways(capsys):
    """What `perlayer supervision` prints: each way as a run says it, and what it does."""
    assert cli.main(["supervision"]) == 0
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("  ")]
    return [re.split(r"  +", line.strip(), maxsplit=1) for line in lines]


def test_supervision_lists_every_way_with_a_line_each(capsys):
    examples = [example for example, _ in ways(capsys)]
    for name in READOUTS:
        assert f"readouts: {name}" in examples
    for section, name in (("weighting", "shape"), ("schedule", "kind")):
        for key in choices(section):
            assert sum(re.match(rf"{section}: {{{name}: {key}\b", example) is not None for example in examples) == 1
    for key in runs.optional_algorithms():
        assert sum(example.startswith(f"{key}: ") for example in examples) == 1


def test_every_way_it_lists_is_one_that_a_run_may_take(capsys):
    values = {"AT": "1", "WEIGHT": "0.5", "WEIGHTS": "[1, 0.5]", "STEPS": "9", "STEP": "9", "EVERY": "2", "LOSS": "3.5"}
    run = {"residual": "sandwich", "readouts": "separate", "seed": 0, "layers": 3}
    for example, meaning in ways(capsys):
        assert len(meaning) > 5
        text = re.sub(r"\b[A-Z]+\b", lambda name: values[name[0]], example)
        keys = YAML(typ="safe", pure=True).load(text)
        runs.parse_run({"runs": {"mine": {**run, **keys}}}, "mine")


def test_a_method_card_without_an_example_is_named(tmp_path, monkeypatch, capsys):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "settings.py").touch()
    (tmp_path / "mine" / "README.md").write_text("# mine\n\n**In short.** Mine.\n")
    monkeypatch.setattr(runs, "ALGORITHMS", tmp_path)
    assert cli.main(["supervision"]) == 1
    assert capsys.readouterr().err == (
        f"error: {tmp_path}/mine/README.md: expected **In short.** and an example `runs.NAME.KEY: VALUE`\n"
    )


def test_growth_prints_what_a_run_may_say(project, capsys):
    assert cli.main(["growth", "baseline"]) == 0
    printed = capsys.readouterr().out
    # layers lose ever less from the first to the fifth; without the sixth the model is better
    shares = enumerate((0.3, 0.2, 0.2, 0.1, 0.05), start=1)
    stages = [{"layers": [layer], "share": share} for layer, share in shares]
    keys = YAML(typ="safe", pure=True).load(printed)
    assert keys == {"growth": {"stages": stages, "excluded": [6]}}
    mine = {"residual": "sandwich", "readouts": "none", "seed": 0, **keys}
    assert runs.parse_run({"runs": {"mine": mine}}, "mine").algorithms["growth"].stages == stages


def test_growth_by_a_run_without_anatomy_is_one_line(project, capsys):
    assert cli.main(["growth", "depth_1"]) == 1
    said = capsys.readouterr().err
    assert said == (
        "error: metrics/analyses/anatomy/depth_1: depth_1 has no anatomy yet; once anatomy.runs of params.yaml names "
        "it, `dvc repro anatomy@depth_1` makes it\n"
    )


def test_list_of_one_table_or_view_shows_that_alone(project, capsys):
    assert cli.main(["query", "--list", "final_loss"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("final_loss (view): ") and "noise_floor" not in out and "  loss " in out
    assert cli.main(["query", "--list", "final_los"]) == 2
    said = capsys.readouterr().err
    assert said.startswith("error: expected a table or a view (") and said.endswith("), found 'final_los'\n")


def test_numbers_of_other_params_are_answered_with_a_word(project, capsys, monkeypatch):
    said = load(Path(__file__).parents[1] / "params.yaml")["runs"]
    about = {"params": {"size": "smoke", "runs": {**said, "separate": {**said["separate"], "seed": 1}}}}
    real = read_manifest(project / "metrics/warehouse")
    monkeypatch.setattr(
        "perlayer.warehouse.database.read_manifest", lambda folder: dataclasses.replace(real, about=about)
    )
    text = (Path(__file__).parents[1] / "params.yaml").read_text()
    for size, said in (
        ("nano", "size was smoke, and params.yaml says nano"),
        ("smoke", "runs.separate.seed was 1, and params.yaml says 0"),
    ):
        (project / "params.yaml").write_text(re.sub(r"^size: \w+", f"size: {size}", text, flags=re.MULTILINE))
        assert cli.main(["query", "SELECT 1 AS a"]) == 0
        assert capsys.readouterr().err == (
            f"answered from metrics/warehouse, where {said}; `dvc repro -s collect` reads anew\n"
        )
    (project / "params.yaml").unlink()
    assert cli.main(["query", "SELECT 1 AS a"]) == 0
    assert capsys.readouterr().err == ""
