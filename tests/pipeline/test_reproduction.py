"""The pipeline as its users run it: DVC on a copy of the project, at the smoke size."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from pipeline_code import CLOSURE, ROOT

from perlayer.closure import ImportClosure
from perlayer.params import load
from perlayer.plan import write_code
from perlayer.report.figures import FIGURES


def changed(project):
    """The stages that `dvc status` lists."""
    return set(json.loads(project.dvc("status", "--json")))


def test_a_finished_pipeline_does_nothing(finished):
    before = finished.bytes_of("data", "metrics", "report")
    assert "up to date" in finished.dvc("repro")
    assert changed(finished) == set()
    assert finished.bytes_of("data", "metrics", "report") == before


def test_killed_stages_go_on_to_the_same_bytes(finished):
    """And it is DVC that starts them again, so that forced stages give the same bytes, too."""
    before = finished.bytes_of("data", "metrics")
    environment = finished.environment(PERLAYER_CHECKPOINT_STEPS="1")
    scratch, steps = finished.folder / ".perlayer" / "scratch", {"train": 12, "retrain_heads": 10, "tuned_lens": 6}
    for stage in steps:
        others = set(scratch.rglob("*.pt"))
        command = ["python", f"stages/{stage}.py", "separate"]
        process = subprocess.Popen(command, cwd=finished.folder, env=environment, start_new_session=True)
        deadline = time.monotonic() + 300
        try:
            # of a second checkpoint: the first is whole then
            while not any("ba2-" in path.name for path in set(scratch.rglob("*.pt")) - others):
                assert time.monotonic() < deadline and process.poll() is None, f"{stage} never came there, or ended"
                time.sleep(0.005)
        finally:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    output = finished.dvc("repro", "--force", "--single-item", *(f"{stage}@separate" for stage in steps))
    assert "step 1 of" not in output and all(f"step {last} of {last}" in output for last in steps.values())
    assert finished.bytes_of("data", "metrics") == before
    assert changed(finished) == set()
    assert not list(scratch.iterdir())


def test_two_processes_with_microbatches_give_the_same_numbers(finished):
    outs = ("data/models/separate", "metrics/runs/separate")
    one = json.loads((finished.folder / outs[1] / "summary.json").read_text())
    before = finished.bytes_of(*outs)
    try:
        finished.command(
            "python",
            "stages/train.py",
            "separate",
            PERLAYER_PROCESSES="2",
            PERLAYER_MICROBATCH="4",
            PERLAYER_DEVICE="cpu",
            RANK="0",  # of a scheduler, which has started one process and knows nothing of these
            WORLD_SIZE="1",
        )
        assert finished.bytes_of(outs[0]) != {name: before[name] for name in finished.bytes_of(outs[0])}
        two = json.loads((finished.folder / outs[1] / "summary.json").read_text())
        # the same sequences an update, added in another order: float32 rounding apart, all is equal
        assert two == pytest.approx(one, rel=1e-5)
    finally:
        for path, content in before.items():
            (finished.folder / path).unlink(missing_ok=True)
            (finished.folder / path).write_bytes(content)


def test_surroundings_change_no_byte(finished, tmp_path):
    """Each of these is one that changed bytes, or ended a stage in a traceback, or may on another machine."""
    copy = type(finished)(tmp_path / "a b'[c]")
    shutil.copytree(finished.folder, copy.folder, ignore=shutil.ignore_patterns(".git", ".dvc", ".perlayer"))
    (copy.folder / "matplotlibrc").write_text("text.usetex: True\nfont.size: 20\nbackend: nonsense\n")
    outs = "data/models/baseline", "metrics", "report"
    for out in outs:
        shutil.rmtree(copy.folder / out)
    shutil.copytree(finished.folder / "metrics", copy.folder / "metrics", ignore=shutil.ignore_patterns("warehouse"))
    shutil.rmtree(copy.folder / "metrics/runs/baseline")
    nowhere = str(tmp_path / "nowhere")
    hostile = {
        "MPLBACKEND": "module://matplotlib_inline.backend_inline",
        **dict.fromkeys(("RANK", "LOCAL_RANK", "NODE_RANK", "BASE_RANK", "SLURM_PROCID"), "1"),
        **{"WORLD_SIZE": "4", "MASTER_ADDR": "nowhere.invalid", "TORCHELASTIC_USE_AGENT_STORE": "True"},
        **dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "RAYON_NUM_THREADS"), "3"),
        **{"OMP_DYNAMIC": "true", "MKL_CBWR": "COMPATIBLE", "ATEN_CPU_CAPABILITY": "default"},
        **{"TORCH_LOGS": "nonsense", "TORCH_COMPILE_DISABLE": "1", "CUDA_VISIBLE_DEVICES": ""},
        **{"PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "LC_ALL": "C", "PYTHONIOENCODING": "ascii"},
        **{"PYTHONWARNINGS": "error", "PYTHONOPTIMIZE": "2", "PYTHONHASHSEED": "7"},
        **dict.fromkeys(("HOME", "TMPDIR", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "MPLCONFIGDIR"), nowhere),
        **{"TZ": "Pacific/Kiritimati", "SOURCE_DATE_EPOCH": "1", "COLUMNS": "3", "NO_COLOR": "1"},
    }
    for command in ("train.py baseline", "collect.py", "plot.py", "report.py"):
        said = copy.command("sh", "-c", f"umask 077; exec python stages/{command}", **hostile)
        assert "Traceback" not in said
    assert copy.bytes_of(*outs) == finished.bytes_of(*outs)


def test_a_new_design_or_algorithm_leaves_every_other_run_alone(finished):
    package = finished.folder / "src" / "perlayer"
    toy = package / "algorithms" / "toy"
    design = package / "model" / "residual" / "toy.py"
    try:
        toy.mkdir()
        for file in (package / "algorithms" / "ema").glob("*.py"):
            (toy / file.name).write_text(file.read_text().replace("algorithms.ema", "algorithms.toy"))
        design.write_text((package / "model" / "residual" / "pre_ln.py").read_text())
        assert changed(finished) == {"plan"}
        finished.dvc("repro", "plan")
        assert changed(finished) == {"collect", "plot", "report"}  # which ask the settings of every algorithm
        # a run that uses them is trained, and again when they change
        finished.edit(
            "params.yaml",
            "\nruns:\n",
            "\nruns:\n  mine: {residual: toy, readouts: none, seed: 0, toy: {half_life: 2}}\n",
        )
        finished.dvc("repro", "train@mine")
        design.write_text(design.read_text() + "CHANGED = True\n")
        finished.dvc("repro", "plan")
        assert [stage for stage in changed(finished) if stage.startswith("train@")] == ["train@mine"]
    finally:
        design.unlink()
        subprocess.run(["rm", "-r", str(toy)], check=True)
        finished.command("git", "checkout", "-q", ".")
        finished.dvc("checkout", "-q")


FIGURE = "src/perlayer/report/figures/noise_floor.py"
WORDS = [  # files, and what of them becomes what
    ("stages/train.py", '"""Train one', '"""Do train one'),
    ("src/perlayer/training/run.py", "    recipe = recipe.of(run)\n", "    recipe = recipe.of(run)  # its own\n\n"),
    ("src/perlayer/model/residual/sandwich.py", "\n\n\nclass", "\n\n\n\n# More words.\nclass"),
    ("src/perlayer/algorithms/per_layer_loss/loss.py", "\n\n\ndef ", "\n\n\n# More words.\ndef "),
    ("src/perlayer/questions/q1_layer_contribution/question.py", "\n\nQUESTION", "\n\n# More words.\nQUESTION"),
    (
        FIGURE,
        '    """One row a layer: readout, runs, spread and std of the noise floor, and every setup\'s difference."""\n',
        "",
    ),
]


@pytest.fixture
def edited(finished):
    """Edits files, and has them as they were in the end."""
    yield lambda edits: [finished.edit(*edit) for edit in edits]
    finished.command("git", "checkout", "-q", ".")
    finished.dvc("checkout", "-q")


def test_an_edit_of_comments_and_docstrings_runs_nothing(finished, edited):
    edited(WORDS)
    assert changed(finished) == {"plan"}
    finished.dvc("repro", "plan")
    assert changed(finished) == set()


@pytest.mark.parametrize(
    ("edit", "stages"),
    [
        ((FIGURE, "TITLE = ", "TITLE = 'Again: ' + "), {"plot", "report"}),
        (("src/perlayer/warehouse/sql/gap.sql", "\n", "\n\n"), {"plan", "collect", "plot", "report"}),
        (("src/perlayer/report/page.html.jinja", "<!doctype html>", "<!DOCTYPE html>"), {"report"}),
    ],
    ids=["figure", "SQL", "page"],
)
def test_an_edit_of_code_runs_what_uses_it(finished, tmp_path, edit, stages):
    """The plan writes other hashes of their code, as it does in the next test, where DVC is asked what that changes."""
    name, old, new = edit
    folder = finished.folder
    before = (folder / name).read_text()
    finished.edit(name, old, new)
    try:
        write_code(folder / "stages", ImportClosure(folder / "src/perlayer"), tmp_path)
    finally:
        (folder / name).write_text(before)
    hashes = {path.stem: path.read_bytes() for path in tmp_path.glob("*.json")}
    assert hashes.keys() == {path.stem for path in (folder / "data/code").glob("*.json")}
    assert {stage for stage in hashes if hashes[stage] != (folder / f"data/code/{stage}.json").read_bytes()} == stages


def test_another_name_of_a_local_variable_of_training_trains_anew(finished, edited):
    edited([("src/perlayer/training/run.py", "totals", "sums")])
    finished.dvc("repro", "plan")
    trained = {f"train@{run}" for run in ("baseline", "separate", "narrow_multi_token", "growing")}
    assert trained <= changed(finished) and not {"corpus", "tokenize", "shard", "collect"} & changed(finished)


NOTING = """
import os, sys

log = os.open(os.environ["OPENED"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
folders = tuple(os.path.join(os.environ["ROOT"], folder, "") for folder in ("src", "stages"))

def note(event, arguments):
    if event == "open" and isinstance(arguments[0], str) and os.path.abspath(arguments[0]).startswith(folders):
        os.write(log, f"{os.path.relpath(arguments[0], os.environ['ROOT'])}\\n".encode())

sys.addaudithook(note)
"""


@pytest.fixture(scope="module")
def noted(finished, tmp_path_factory):
    """A copy of what the stages have left, with some figure in place of those that the small project lacks."""
    names = ".git", ".dvc", ".perlayer", "src", "stages"
    folder = tmp_path_factory.mktemp("noted") / "project"
    shutil.copytree(finished.folder, folder, ignore=shutil.ignore_patterns(*names))
    for name in FIGURES:
        for some in (folder / "report/figures").glob("noise_floor.*"):
            if not some.with_stem(name).exists():
                shutil.copy(some, some.with_stem(name))
    return type(finished)(folder)


@pytest.mark.parametrize("name", ["collect", "report"])
def test_what_a_stage_opens_of_the_code_is_hashed(noted, tmp_path, name):
    """Of all the code there is, with every question and figure."""
    (tmp_path / "sitecustomize.py").write_text(NOTING)  # which every Python runs at its start
    environment = {"PYTHONPATH": str(tmp_path), "OPENED": str(tmp_path / "opened"), "PYTHONDONTWRITEBYTECODE": "1"}
    noted.command(sys.executable, str(ROOT / f"stages/{name}.py"), ROOT=str(ROOT), **environment)
    opened = {file for file in (tmp_path / "opened").read_text().split("\n") if Path(file).suffix not in ("", ".pyc")}
    write_code(ROOT / "stages", CLOSURE, tmp_path / "code")
    hashed = json.loads((tmp_path / f"code/{name}.json").read_text())["files"]
    assert any(file.endswith(".sql") for file in opened) and opened <= set(hashed)


def test_experiments_change_one_choice_or_add_a_run(finished):
    steps = {**dict.fromkeys(load(finished.folder / "params.yaml")["recipes"], 2345), "smoke": 8}
    try:
        # a key of every size: their names must be ones that DVC's -S can address
        choices = [word for size, count in steps.items() for word in ("-S", f"recipes.{size}.train.steps={count}")]
        output = finished.dvc("exp", "run", *choices, "train@separate")
        assert "separate: step 8 of 8" in output
        recipes = load(finished.folder / "params.yaml")["recipes"]
        assert {size: recipe["train"]["steps"] for size, recipe in recipes.items()} == steps
        difference = json.loads(finished.dvc("metrics", "diff", "--json").splitlines()[-1])
        tokens = difference["metrics/runs/separate/summary.json"]["tokens"]
        assert (tokens["old"], tokens["new"]) == (12 * 16 * 64, 8 * 16 * 64)

        finished.command("git", "checkout", "-q", ".")
        output = finished.dvc("repro", "-s", "collect", "report")  # with the run of other settings than params says
        said = "recipes.smoke.train.steps was 8, and params.yaml says 12"
        assert f"train: separate is left out: {said}" in output
        page = (finished.folder / "report/index.html").read_text()
        assert "Left out of everything above" in page and said in page
        output = finished.dvc("repro", "train@separate")  # flipped back: answered from the run-cache
        assert "Stage 'train@separate' is cached" in output or "didn't change" in output
        assert "Running stage" not in output

        added = "+runs.mine={residual: pre_ln, readouts: shared, seed: 7}"
        changes = ("runs.separate.seed=3", "++runs.separate.layers=1", added)
        finished.dvc("exp", "run", *(word for change in changes for word in ("-S", change)), "train@mine")
        assert load(finished.folder / "params.yaml")["runs"]["separate"] == {
            "residual": "sandwich",
            "readouts": "separate",
            "seed": 3,
            "layers": 1,
        }
        summary = json.loads((finished.folder / "metrics/runs/mine/summary.json").read_text())
        assert summary["tokens"] == 12 * 16 * 64
        shown = json.loads(finished.dvc("metrics", "diff", "--json").splitlines()[-1])
        assert "metrics/runs/mine/summary.json" in shown
    finally:
        finished.command("git", "checkout", "-q", ".")
        finished.command("git", "clean", "-fdq", "metrics")
        finished.dvc("checkout", "-q", ok=True)


def test_what_was_pushed_is_pulled_and_nothing_runs(finished, tmp_path):
    finished.dvc("remote", "add", "--force", "--local", "--default", "store", str(tmp_path / "store"))
    finished.dvc("push", "-q")
    finished.command("git", "clone", "-q", ".", str(tmp_path / "clone"))
    clone = type(finished)(tmp_path / "clone")
    clone.dvc("remote", "add", "--local", "--default", "store", str(tmp_path / "store"))
    clone.dvc("pull", "-q")
    assert "up to date" in clone.dvc("repro")
    assert clone.bytes_of("data", "metrics", "report") == finished.bytes_of("data", "metrics", "report")


def test_a_size_is_run_by_target_and_the_report_names_what_is_absent(finished):
    try:
        finished.edit("params.yaml", "recipes:\n", "recipes:\n  other: &other {}\n")
        params = (finished.folder / "params.yaml").read_text()
        start, end = params.index("  smoke:"), params.index("\n  qwen3_1_2b:")
        smoke = params[start:end].replace("  smoke:", "  other:", 1).replace("steps: 12", "steps: 6")
        (finished.folder / "params.yaml").write_text(params.replace("  other: &other {}\n", smoke + "\n"))
        finished.dvc("exp", "run", "-S", "size=other", "train@separate")
        finished.dvc("repro", "-s", "collect", "report")  # with the figures as they are
        page = (finished.folder / "report/index.html").read_text()
        assert "other" in page and "baseline" in page
        rows = finished.command(
            "python", "-m", "perlayer.cli", "query", "--format", "csv", "SELECT run, present FROM runs ORDER BY run"
        )
        assert dict(line.split(",") for line in rows.lower().split()[1:]) == {
            "baseline": "false",
            "growing": "false",
            "narrow_multi_token": "false",
            "separate": "true",
        }
    finally:
        finished.command("git", "checkout", "-q", ".")
        finished.command("git", "clean", "-fdq", "metrics")
        finished.dvc("checkout", "-q")


def test_bad_params_cost_no_work(finished):
    try:
        output = finished.dvc("exp", "run", "-S", "runs.separate.readouts=probe", ok=False)
        assert "error: params.yaml: runs.separate.readouts: expected one of none, probes" in output
        assert "Traceback" not in output
        assert "Running stage 'train" not in output and "Running stage 'corpus" not in output
    finally:
        finished.command("git", "checkout", "-q", ".")
        finished.dvc("checkout", "-q")
