"""The stages: from a model and its text to the one table that `collect` reads."""

import numpy as np
import pyarrow.parquet as parquet
import pytest
from edited import settings

from perlayer.anatomy.analyses import anatomize_run
from perlayer.anatomy.importance import importance_of
from perlayer.anatomy.published import anatomize_published
from perlayer.depth.tables import DissectionNumber
from perlayer.environment import Machine
from perlayer.errors import UserError
from perlayer.model.config import ModelConfig
from perlayer.model.decoder import Decoder
from perlayer.model.published_settings import PublishedSettings
from perlayer.model.weights import save_model
from perlayer.params import load
from perlayer.plan import check_params
from perlayer.store import fresh_folder
from perlayer.tables import schema_of

DIAGNOSTICS = {"ablation", "predictability", "replacement", "structure", "manipulation", "recovery", "controls"}
MACHINE = Machine(device="cpu", compile="off")
LAYERS = 3


def anatomized(folder, shards):
    decoder = Decoder(ModelConfig("sandwich", LAYERS, 16, 24, 2, 1, 8, 10000.0, 1e-5, 300, 16, 1, True))
    decoder.initialize(seed=0)
    with fresh_folder(folder / "models/mine") as model:
        save_model(model, decoder)
    chosen = settings(sequences=12)
    anatomize_run("mine", "tiny", 0, chosen, 0.99, shards, folder / "models", folder / "metrics", MACHINE)
    (path,) = (folder / "metrics/mine").glob("*.parquet")  # `collect` reads one
    return path


def test_a_weight_that_is_not_finite_is_named(tmp_path, small_shards):
    decoder = Decoder(ModelConfig("sandwich", LAYERS, 16, 24, 2, 1, 8, 10000.0, 1e-5, 300, 16, 1, True))
    decoder.initialize(seed=0)
    decoder.model.layers[1].mlp.up_proj.weight.data[2, 3] = float("nan")
    with fresh_folder(tmp_path / "models/mine") as model:
        save_model(model, decoder)
    with pytest.raises(UserError, match=r"mine: model\.layers\.1\.mlp\.up_proj\.weight: expected finite weights"):
        anatomize_run(
            "mine", "tiny", 0, settings(), 0.99, small_shards, tmp_path / "models", tmp_path / "metrics", MACHINE
        )
    assert not (tmp_path / "metrics/mine").exists()


def test_a_run_leaves_one_table_the_same_bytes_each_time(tmp_path, small_shards):
    paths = [anatomized(tmp_path / name, small_shards) for name in "ab"]
    assert paths[0].read_bytes() == paths[1].read_bytes()
    table = parquet.read_table(paths[0])
    assert table.schema.equals(schema_of(DissectionNumber))
    rows = table.to_pylist()
    assert {(row["run"], row["size"]) for row in rows} == {("mine", "tiny")}
    assert {row["analysis"] for row in rows} == DIAGNOSTICS
    assert all(np.isfinite(row["value"]) for row in rows)
    assert len({tuple(row[key] for key in row if key != "value") for row in rows}) == len(rows)
    assert len(importance_of(table).importance) == LAYERS
    # an untrained model is what it was before training
    r2 = {(row["layer"], row["sublayer"], row["metric"]): row["value"] for row in rows if row["metric"][:2] == "r2"}
    assert all(value == r2[layer, kind, "r2"] for (layer, kind, name), value in r2.items() if name == "r2_initial")


@pytest.mark.parametrize("with_recovery", [False, True])
def test_a_published_model_is_trained_back_only_where_that_is_asked(tmp_path, small_published, with_recovery):
    model = PublishedSettings(str(small_published / "model"), 16, sequences=9)
    chosen = settings(sequences=2)
    anatomize_published(
        "theirs", model, chosen, 0.99, with_recovery, small_published / "shards", tmp_path / "metrics", MACHINE
    )
    (path,) = (tmp_path / "metrics/theirs").glob("*.parquet")
    rows = parquet.read_table(path).to_pylist()
    assert {(row["run"], row["size"]) for row in rows} == {("theirs", "published")}
    # a model of two layers has no three layers in a row
    assert {row["analysis"] for row in rows} == DIAGNOSTICS - (set() if with_recovery else {"recovery"})
    (targets,) = [row["value"] for row in rows if row["metric"] == "targets"]
    assert targets == 9 * 16  # as the model's own settings have it


def test_a_model_that_is_not_there_is_named(tmp_path, small_shards):
    with pytest.raises(UserError, match="mine/manifest.json: no such file; remove .*mine and run `dvc repro`"):
        anatomize_run("mine", "tiny", 0, settings(), 0.99, small_shards, tmp_path, tmp_path / "metrics", MACHINE)


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
