"""The stages: from a model and its text to the tables that `collect` reads."""

from dataclasses import replace

import pytest
from edited import settings

from perlayer.anatomy import analyses
from perlayer.anatomy.analyses import anatomize_run
from perlayer.anatomy.published import anatomize_published
from perlayer.anatomy.tables import TABLES
from perlayer.environment import Machine
from perlayer.errors import UserError
from perlayer.model.config import ModelConfig
from perlayer.model.decoder import Decoder
from perlayer.model.published_settings import PublishedSettings
from perlayer.model.weights import save_model
from perlayer.params import load
from perlayer.plan import check_params
from perlayer.store import fresh_folder
from perlayer.tables import columns_of, read_table

MACHINE = Machine(device="cpu", compile="off")
LAYERS = 3


def anatomized(folder, shards):
    decoder = Decoder(ModelConfig("sandwich", LAYERS, 16, 24, 2, 1, 8, 10000.0, 1e-5, 300, 16, 1, True))
    decoder.initialize(seed=0)
    with fresh_folder(folder / "models/mine") as model:
        save_model(model, decoder)
    chosen = settings(sequences=12)
    anatomize_run("mine", 0, chosen, 0.99, shards, folder / "models", folder / "metrics", MACHINE)
    return folder / "metrics/mine"


def rows_of(folder):
    """The rows of each table, checked as `collect` checks them."""
    return {path.stem: read_table(TABLES[path.stem], path).to_pylist() for path in folder.glob("*.parquet")}


def test_a_weight_that_is_not_finite_is_named(tmp_path, small_shards):
    decoder = Decoder(ModelConfig("sandwich", LAYERS, 16, 24, 2, 1, 8, 10000.0, 1e-5, 300, 16, 1, True))
    decoder.initialize(seed=0)
    decoder.model.layers[1].mlp.up_proj.weight.data[2, 3] = float("nan")
    with fresh_folder(tmp_path / "models/mine") as model:
        save_model(model, decoder)
    with pytest.raises(UserError, match=r"mine: model\.layers\.1\.mlp\.up_proj\.weight: expected finite weights"):
        anatomize_run("mine", 0, settings(), 0.99, small_shards, tmp_path / "models", tmp_path / "metrics", MACHINE)
    assert not (tmp_path / "metrics/mine").exists()


def test_a_number_that_is_not_finite_is_named_and_nothing_is_written(tmp_path, small_shards, monkeypatch):
    measured = analyses.measure_deltas

    def damaged(*arguments):
        first, *others = measured(*arguments)
        return [replace(first, initial=float("nan")), *others]

    monkeypatch.setattr(analyses, "measure_deltas", damaged)
    with pytest.raises(UserError) as error:
        anatomized(tmp_path, small_shards)
    assert str(error.value) == (
        "delta_correlations.parquet: run mine, layer 2, matrix q_proj: expected finite numbers, found initial nan; "
        "nothing was written"
    )
    assert not (tmp_path / "metrics/mine").exists()


def test_a_run_leaves_every_table_the_same_bytes_each_time(tmp_path, small_shards):
    one, two = (anatomized(tmp_path / name, small_shards) for name in "ab")
    assert all(path.read_bytes() == (two / path.name).read_bytes() for path in one.iterdir())
    rows = rows_of(one)
    assert set(rows) == set(TABLES) and all(rows.values())
    assert {row["run"] for each in rows.values() for row in each} == {"mine"}
    assert all(columns_of(kind)[0].name == "run" for kind in TABLES.values())
    # an untrained model is what it was before training
    assert all(row["r2"] == row["initial"] for row in rows["predictability"])
    assert all(row["correlation"] == row["initial"] for row in rows["delta_correlations"])


@pytest.mark.parametrize("with_recovery", [False, True])
def test_a_published_model_is_trained_back_only_where_that_is_asked(
    tmp_path, small_published, monkeypatch, with_recovery
):
    read, asked = analyses.held_out_rows, []
    monkeypatch.setattr(analyses, "held_out_rows", lambda *place: asked.append(place) or read(*place))
    model = PublishedSettings(str(small_published / "model"), 16, sequences=9)
    shards, metrics = small_published / "shards", tmp_path / "metrics"
    anatomize_published("theirs", model, settings(sequences=2), 0.99, with_recovery, shards, metrics, MACHINE)
    rows = rows_of(tmp_path / "metrics/theirs")
    assert {row["run"] for each in rows.values() for row in each} == {"theirs"}
    empty = {name for name, each in rows.items() if not each}
    # a model of two layers has no three layers in a row
    assert empty - {"recovery_orders"} == {"delta_correlations"} | (set() if with_recovery else {"recoveries"})
    assert asked == [(shards, 9)]  # as the model's own settings have it


def test_a_model_that_is_not_there_is_named(tmp_path, small_shards):
    with pytest.raises(UserError, match="mine/manifest.json: no such file; remove .*mine and run `dvc repro`"):
        anatomize_run("mine", 0, settings(), 0.99, small_shards, tmp_path, tmp_path / "metrics", MACHINE)


@pytest.mark.parametrize(
    ("section", "said"),
    [
        ({"runs": ["nobody"]}, "anatomy.runs: expected names of runs"),
        ({"runs": ["baseline", "baseline"]}, "anatomy.runs: expected baseline once"),
        ({"published_recovery": ["theirs"]}, "anatomy.published_recovery: expected names of published models (there"),
    ],
)
def test_a_wrong_list_is_named_before_any_work(section, said):
    params = load()
    with pytest.raises(UserError) as error:
        check_params({**params, "anatomy": {**params["anatomy"], **section}})
    assert said in str(error.value) and "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("sequences", 1, "expected at least 2, found 1"),
        ("resamples", 39, "expected at least 40, for an interval of 95 %, and at most 10000, found 39"),
        ("resamples", 10**6, "expected at least 40, for an interval of 95 %, and at most 10000, found 1000000"),
        ("entries", 3, "expected at least 4, two to fit to and two to measure on, found 3"),
        ("strengths", [0.1, 0.5], "expected 0.1 and 1.0 among them, which are compared, found [0.1, 0.5]"),
        ("strengths", [0.05, 1.0], "expected 0.1 and 1.0 among them, which are compared, found [0.05, 1.0]"),
        ("strengths", [0.1, 1.5], "expected rising numbers above 0 and up to 1, found"),
        ("strengths", [0.5, 0.1], "expected rising numbers above 0 and up to 1, found"),
        ("strengths", ["much"], "expected rising numbers above 0 and up to 1, found"),
        ("strengths", [], "expected rising numbers above 0 and up to 1, found"),
        ("noise", 0.0, "expected a positive number, found 0"),
        ("recovery_steps", -1, "expected from 0 to"),
        ("recovery_within", -0.1, "expected a positive number, found -0.1"),
    ],
)
def test_a_wrong_choice_is_named_before_any_work(key, value, said):
    params = load()
    params["recipes"]["nano"]["anatomy"][key] = value
    with pytest.raises(UserError) as error:
        check_params(params)
    assert f"params.yaml: recipes.nano.anatomy.{key}: {said}" in str(error.value) and "\n" not in str(error.value)
