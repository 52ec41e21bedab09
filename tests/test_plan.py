import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import perlayer
from perlayer.closure import ImportClosure
from perlayer.errors import UserError
from perlayer.params import load
from perlayer.plan import check_params, compile_code, run_files, write_plans
from perlayer.runs import parse_run

PACKAGE = Path(perlayer.__file__).parent


def run(**keys):
    return parse_run({"runs": {"mine": {"residual": "sandwich", "readouts": "none", "seed": 0, **keys}}}, "mine")


def names(one, package=PACKAGE):
    return {path.relative_to(package).as_posix() for path in run_files(one, ImportClosure(package))}


def test_a_run_uses_its_design_and_its_algorithms_alone():
    plain = names(run())
    assert "model/residual/sandwich.py" in plain and "model/residual/pre_ln.py" not in plain
    assert not any("per_layer_loss" in name or "ema" in name for name in plain)
    both = names(run(readouts="probes", ema={"half_life": 2}, residual="pre_ln"))
    assert {"model/residual/pre_ln.py", "algorithms/ema/algorithm.py", "algorithms/per_layer_loss/loss.py"} <= both
    assert "model/residual/sandwich.py" not in both


def test_an_imported_helper_counts(tmp_path):
    package = tmp_path / "perlayer"
    shutil.copytree(PACKAGE, package)
    design = package / "model/residual/sandwich.py"
    design.write_text("from perlayer.model.residual.helper import x\n" + design.read_text())
    (package / "model/residual/helper.py").write_text("x = 1\n")
    assert "model/residual/helper.py" in names(run(), package)


def test_plans_hold_hashes_and_are_the_same_every_time(tmp_path):
    runs = {run.residual: run for run in check_params(load())}.values()  # one of each design
    for name in ("first", "second"):
        write_plans(runs, {}, ImportClosure(PACKAGE), tmp_path / name)
    for one in runs:
        first, second = (tmp_path / name / f"{one.name}.json" for name in ("first", "second"))
        assert first.read_bytes() == second.read_bytes()
        assert all(len(value) == 64 for value in json.loads(first.read_text())["files"].values())


@pytest.mark.parametrize("size", load()["recipes"])
def test_every_size_fits_all_that_params_name(size):
    assert check_params({**load(), "size": size})


def test_what_a_design_has_not_is_said_before_any_work():
    params = load()
    params["runs"]["mine"] = {"residual": "moda", "readouts": "none", "seed": 0, "value_residual": "learnable"}
    with pytest.raises(UserError, match=r"runs\.mine\.value_residual: expected .* usual attention, found 'moda'"):
        check_params(params)
    del params["runs"]["mine"]
    params["routing"]["runs"] = ["baseline"]
    with pytest.raises(UserError, match=r"routing\.runs: expected runs whose .* routes, and baseline has sandwich"):
        check_params(params)


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"future_probes": 65}, "future_probes.ahead: expected at most 64, the sequence length, found 65"),
        ({"multi_token_prediction": {"depth": 64}}, "multi_token_prediction.depth: expected at most 63 .* found 64"),
        ({"residual": "moda", "value_residual": "identity"}, "value_residual: expected .* found 'moda'"),
    ],
)
def test_what_fits_neither_design_nor_text_is_named_where_it_stands(keys, message):
    params = load()
    params["runs"]["mine"] = {"residual": "sandwich", "readouts": "none", "seed": 0, **keys}
    with pytest.raises(UserError, match=rf"params\.yaml: runs\.mine\.{message}"):
        check_params(params)


def test_a_misspelt_section_is_named():
    with pytest.raises(UserError, match="params.recipies: unknown key; did you mean recipes?"):
        check_params({**load(), "recipies": {}})
    params = load()
    params["recipes"]["nano"]["data"] = None
    with pytest.raises(UserError, match="recipes.nano.data: expected a mapping of keys, found None"):
        check_params(params)


def test_a_published_model_that_is_not_there_is_named():
    params = {**load(), "published": {"other": {"path": "nowhere"}}}
    with pytest.raises(UserError, match="^nowhere: no such folder; expected a published model"):
        check_params(params)


@pytest.mark.parametrize(
    ("section", "named"),
    [
        ("depth_maps", {"from": "baseline", "to": "separate"}),
        ("published", {"path": "nowhere"}),
    ],
)
def test_what_is_named_like_a_run_is_refused(section, named):
    params = load()
    params[section] = {"width_16_plain": named}
    said = rf"^params.yaml: {section}.width_16_plain: expected another name than that of a run$"
    with pytest.raises(UserError, match=said):
        check_params(params)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "no such file; expected prompts, one JSON object a line"),
        ('{"problem": "1 + 1"}\n', "line 1: solution: expected a text, found None"),
    ],
)
def test_a_wrong_file_of_prompts_is_named(tmp_path, text, said):
    path = tmp_path / "math.jsonl"
    if text is not None:
        path.write_text(text)
    params = load()
    params["depth"]["prompts"]["levels"] = {"file": str(path), "format": "math"}
    with pytest.raises(UserError) as error:
        check_params(params)
    assert str(error.value) == f"{path}: {said}"


@pytest.mark.parametrize(
    ("section", "key", "value", "message"),
    [
        ("model", "layers", 0, "recipes.nano.model.layers: expected from 1 to 4096, found 0"),
        ("model", "hidden_size", 33, "recipes.nano.model.hidden_size: expected attention_heads x head_dim"),
        ("model", "hiden_size", 32, "recipes.nano.model.hiden_size: unknown key; did you mean hidden_size?"),
        ("model", "key_value_heads", 5, "recipes.nano.model.key_value_heads: expected a divisor"),
        (
            "optimizer",
            "learning_rate",
            "2e-2x",
            "recipes.nano.optimizer.learning_rate: expected a number, found '2e-2x'",
        ),
        ("optimizer", "learning_rate", "0.02", "recipes.nano.optimizer.learning_rate: expected a number, found '0.02'"),
        ("optimizer", "learning_rate", float("nan"), "learning_rate: expected a number"),
        ("optimizer", "schedule", "step", "recipes.nano.optimizer.schedule: expected linear or cosine"),
        ("optimizer", "decay", 0, "recipes.nano.optimizer.decay: expected a share"),
        ("train", "steps", 1.5, "recipes.nano.train.steps: expected a whole number, found 1.5"),
        ("train", "steps", 0, "recipes.nano.train.steps: expected from 1 to 1000000000 updates, found 0"),
        ("optimizer", "warmup", 1110, "recipes.nano.optimizer.warmup: expected fewer than the 1110 steps of the run"),
        (
            "retrain_heads",
            "evaluations",
            401,
            "evaluations: expected from 1 to the 400 updates",
        ),
        (
            "tuned_lens",
            "checkpoints",
            10**12,
            "checkpoints: expected from 1 to the 250 updates",
        ),
        ("tuned_lens", "weight_decay", 1e39, "weight_decay: expected a number from 0 to 1, found 1e+39"),
        ("optimizer", "rate_multiplier", 0, "rate_multiplier: expected a number above 0, up to 100, found 0"),
        ("data", "val_fraction", 1.5, "recipes.nano.data.val_fraction"),
        ("data", "vocab_size", "many", "recipes.nano.data.vocab_size: expected a whole number"),
    ],
)
def test_a_wrong_choice_is_named_before_any_work(section, key, value, message):
    params = load()
    params["recipes"]["nano"][section][key] = value
    with pytest.raises(UserError) as error:
        check_params(params)
    assert message in str(error.value) and "\n" not in str(error.value)


def test_what_a_run_routes_is_its_design_s_own():
    params = load()
    params["routing"]["runs"] = ["plain"]
    params["runs"]["plain"] = {"residual": "mhc", "readouts": "none", "seed": 0}
    check_params(params)
    params["runs"]["plain"] = {**params["runs"]["baseline"], "value_residual": "identity"}
    with pytest.raises(UserError, match=r"routing\.runs: expected runs whose .* routes, and plain has sandwich"):
        check_params(params)


def test_what_is_compiled_holds_for_what_a_source_holds_not_for_its_date(tmp_path, monkeypatch):
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
    module = tmp_path / "package/number.py"
    module.parent.mkdir()
    said = []
    for number, compiled in enumerate((False, True, False)):
        module.write_text(f"print({number})\n")
        os.utime(module, ns=(1, 1))
        if compiled:
            compile_code(module.parent)
        said.append(subprocess.check_output([sys.executable, "-c", "import number"], cwd=module.parent))
    assert said == [b"0\n", b"1\n", b"2\n"]


def test_a_run_that_is_deleted_is_missed_wherever_its_name_still_stands():
    params = load(PACKAGE.parents[1] / "params.yaml")
    del params["runs"]["probes"]
    with pytest.raises(UserError) as error:
        check_params(params)
    said = str(error.value)
    assert said.startswith(
        "params.yaml: retrain_heads.runs, lens.tuned: expected names of runs, found 'probes'; runs: "
    )
    params["depth_maps"]["mine"] = {"from": "gone", "to": "probes"}
    with pytest.raises(UserError) as error:
        check_params(params)
    assert (
        "lens.tuned, depth_maps.mine.to: expected names of runs, found 'probes'; depth_maps.mine.from: expected "
        in str(error.value)
    )
