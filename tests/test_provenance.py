"""What manifests say that outs were made from, as dvc.yaml declares it."""

import json
import shutil
from pathlib import Path

import pytest
import yaml

from perlayer.errors import UserError
from perlayer.params import load
from perlayer.provenance import declared, different_params, different_sources, record
from perlayer.store import fresh_folder, read_manifest

ROOT = Path(__file__).parents[1]
PUBLISHED = {"theirs": {"path": "models/theirs", "sequence_length": 128}}


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A folder with this project's dvc.yaml, in which a test writes outs."""
    shutil.copy(ROOT / "dvc.yaml", tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def make(stage, *arguments, params, content="", outs=None):
    """Write the outs of a stage, a file each, and say what they were made from."""
    declaration = declared(stage, arguments, params)
    for out in declaration.outs if outs is None else outs:
        with fresh_folder(out) as folder:
            (folder / "file").write_text(content)
    record(declaration, params)


def about(folder):
    return read_manifest(folder).about


def test_stages_are_declared_as_dvc_resolves_them(project):
    """All of them: of a mapping, of a list, and single ones."""
    from dvc.parsing import DataResolver
    from dvc.repo import Repo

    params = {**load(ROOT / "params.yaml"), "published": PUBLISHED}
    (project / "params.yaml").write_text(yaml.safe_dump(json.loads(json.dumps(params))))
    repo = Repo.init(str(project), no_scm=True)
    resolved = DataResolver(repo, repo.root_dir, yaml.safe_load((project / "dvc.yaml").read_text())).resolve()["stages"]
    assert {name.split("@")[0] for name in resolved} == set(yaml.safe_load((ROOT / "dvc.yaml").read_text())["stages"])
    for name, expected in resolved.items():
        _, script, *arguments = expected["cmd"].split()
        found = declared(Path(script).stem, arguments, params)
        outs = [out if isinstance(out, str) else next(iter(out)) for out in expected["outs"]]
        outs += [next(iter(metric)) for metric in expected.get("metrics", [])]
        rung = params["runs"].get(arguments[0], {}).get("rung") if script == "stages/train.py" else None
        keys = expected.get("params", []) + ([f"rungs.{rung}"] if rung else [])  # which the plan of the run holds
        assert (found.deps, found.params) == (expected["deps"], keys), name
        assert found.outs == outs, name


def test_what_dvc_yaml_does_not_hold(project):
    params = load(ROOT / "params.yaml")
    assert declared("toy", [], params) == declared("toy", ["mine"], params)
    assert declared("toy", [], params).outs == []
    for text in ("", "stages:", "stages: [", "- train"):
        (project / "dvc.yaml").write_text(text)
        with pytest.raises(UserError, match=r"^dvc\.yaml: expected the stages of the pipeline$"):
            declared("train", ["baseline"], params)
    (project / "dvc.yaml").unlink()
    assert declared("train", ["baseline"], params).deps == []


def test_data_says_what_it_was_made_from_and_results_with_which_params(project):
    params = load(ROOT / "params.yaml")
    for stage in ("corpus", "tokenize", "shard"):
        make(stage, params=params)
    make("train", "separate", params=params, outs=["data/models/separate", "metrics/runs/separate"])
    identity = {folder: read_manifest(f"data/{folder}").identity for folder in ("corpus", "tokens", "shards")}
    assert about("data/corpus") == {"made_from": {}}
    assert about("data/tokens") == about("data/tokenizer") == {"made_from": {"data/corpus": identity["corpus"]}}
    made_from = {f"data/{folder}": identity[folder] for folder in ("corpus", "tokens", "shards")}
    assert about("data/models/separate") == {"made_from": made_from}
    recipe = params["recipes"][params["size"]]
    assert about("metrics/runs/separate") == {
        "made_from": made_from,
        "params": {
            "size": params["size"],
            f"recipes.{params['size']}.data.block_cross_document": recipe["data"]["block_cross_document"],
            **{f"recipes.{params['size']}.{section}": recipe[section] for section in ("model", "optimizer", "train")},
            "runs.separate": params["runs"]["separate"],
        },
        "beside": {"data/models/separate": read_manifest("data/models/separate").identity},
    }


def test_a_run_at_a_rung_says_what_the_rung_is(project):
    params = load(ROOT / "params.yaml")
    for stage in ("corpus", "tokenize", "shard"):
        make(stage, params=params)
    make("train", "width_16_plain", params=params, outs=["data/models/width_16_plain", "metrics/runs/width_16_plain"])
    said = about("metrics/runs/width_16_plain")
    assert said["params"]["rungs.width_16"] == params["rungs"]["width_16"]
    changed = {**params, "rungs": {"width_16": {**params["rungs"]["width_16"], "train": {"steps": 9}}}}
    assert different_params(said, params) == []
    assert different_params(said, changed) == ["rungs.width_16.train.steps was 139, and params.yaml says 9"]


def test_an_empty_folder_says_nothing_of_what_a_stage_has_read(project):
    """It is the same whatever that was, and what reads it does not run again."""
    params = load(ROOT / "params.yaml")
    declaration = declared("tokenize", [], params)
    for folder in ("data/tokens", "data/tokenizer"):
        with fresh_folder(folder):
            pass
    record(declaration, params)
    assert about("data/tokens") == {}


def test_differences_are_named_by_key_with_both_values():
    said = {"size": "nano", "recipes.nano.train": {"steps": 600, "batch": 8, "old": 1}, "runs.mine": {"seed": 0}}
    now = {"size": "nano", "recipes": {"nano": {"train": {"steps": 1000, "batch": 8, "new": [1]}}}, "runs": {}}
    assert different_params({"params": said}, now) == [
        "recipes.nano.train.new was None, and params.yaml says [1]",
        "recipes.nano.train.old was 1, and params.yaml says None",
        "recipes.nano.train.steps was 600, and params.yaml says 1000",
        "runs.mine was {'seed': 0}, and params.yaml says None",
    ]
    assert different_params({}, now) == []


@pytest.mark.parametrize(
    ("then", "now", "same"), [(1, 1, True), (1, 1.0, False), (1, True, False), (0.1, 0.1, True), ([1], [2], False)]
)
def test_values_are_the_same_where_params_yaml_says_the_same(then, now, same):
    assert (different_params({"params": json.loads(json.dumps({"a": then}))}, {"size": "s", "a": now}) == []) == same


def test_recipes_of_two_sizes_are_compared_by_what_they_say():
    said = {"params": {"size": "nano", "recipes.nano.lens": {"sequences": 8}, "recipes.nano_2.lens": 1}}
    now = {"size": "smoke", "recipes": {"nano": {}, "smoke": {"lens": {"sequences": 8}}, "nano_2": {"lens": 1}}}
    assert different_params(said, now) == []
    now["recipes"]["smoke"]["lens"]["sequences"] = 4
    assert different_params(said, now) == ["recipes.smoke.lens.sequences was 8, and params.yaml says 4"]


def test_other_sources_are_those_that_are_known_to_be_others():
    said = {"made_from": {"data/corpus": "1", "data/tokens": "2", "data/shards": "3"}}
    assert different_sources(said, {"data/corpus": "1", "data/tokens": "0", "data/prompts": "0"}) == ["data/tokens"]
    assert different_sources({}, {"data/corpus": "1"}) == []
