"""What was made with other params, from another text or from another model is not compared, and is said."""

import copy
import shutil
from pathlib import Path

import duckdb
import made_up_depth
import made_up_results as made_up
import pytest

from perlayer.provenance import declared, record
from perlayer.store import fresh_folder
from perlayer.warehouse.collect import collect

ROOT = Path(__file__).parents[2]
RUNS = {run: made_up.RUNS[run] for run in ("baseline", "probes", "separate")}
DATA = ["data/shards", "data/prompts"]
STAGES = {"data/corpus": "corpus", "data/tokens": "tokenize", "data/shards": "shard", "data/prompts": "prompts"}


class Project:
    """What the stages of a few runs have left; every method does again what one of them does."""

    def __init__(self):
        self.params = made_up.params(RUNS) | {"depth_maps": {"pair": {"from": "baseline", "to": "separate"}}}
        self.params["recipes"] = copy.deepcopy(self.params["recipes"])
        self.params["recipes"]["nano"] |= {"lens": {"sequences": 8}, "tuned_lens": {"steps": 9}}

    def data(self, **contents):
        """Write folders of data with some content, and all that is made from them."""
        for folder, stage in STAGES.items():
            with fresh_folder(folder) as fresh:
                (fresh / "file").write_text(contents.get(Path(folder).name, "usual"))
            self.record(stage)

    def train(self, *runs, seed="usual", params=None):
        for run in runs:
            with fresh_folder(f"data/models/{run}") as folder:
                (folder / "weights").write_text(f"{run} {seed}")
            made_up.write(Path("metrics"), {run: RUNS[run]})
            self.record("train", run, params=params)

    def analyse(self, stage, name, table, params=None):
        made_up.write_analyses(Path("metrics"), {(stage, name): table})
        self.record(stage, name, params=params)

    def read(self, *runs, params=None):
        for run in runs:
            self.analyse("lens", run, made_up.lens(run), params)

    def record(self, stage, *arguments, params=None):
        params = self.params if params is None else params
        record(declared(stage, arguments, params), params)

    def collect(self, params=None):
        """Which results are left out, by stage and name, and why."""
        return collect(self.params if params is None else params, "metrics", "metrics/warehouse", DATA).left_out

    def table(self, sql):
        return duckdb.sql(sql.replace("@", "metrics/warehouse/")).fetchall()

    def but(self, key, value):
        """The params with one key changed."""
        params = copy.deepcopy(self.params)
        *folders, last = key.split(".")
        section = params
        for folder in folders:
            section = section[folder]
        section[last] = value
        return params


@pytest.fixture
def project(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shutil.copy(ROOT / "dvc.yaml", tmp_path)
    project = Project()
    project.data()
    project.train(*RUNS)
    project.read(*RUNS)
    return project


def test_what_fits_is_compared_as_if_nothing_were_said_of_it(project, tmp_path):
    assert project.collect() == {}
    assert project.table("SELECT run, left_out FROM '@runs.parquet' WHERE present ORDER BY run") == [
        (run, None) for run in sorted(RUNS)
    ]
    made_up.write(tmp_path / "bare", RUNS)
    made_up.write_analyses(tmp_path / "bare", {("lens", run): made_up.lens(run) for run in RUNS})
    collect(project.params, tmp_path / "bare", tmp_path / "bare/warehouse")
    for path in (tmp_path / "bare/warehouse").glob("*.parquet"):
        assert path.read_bytes() == (tmp_path / "metrics/warehouse" / path.name).read_bytes()


def test_runs_of_another_recipe_or_definition_are_left_out_everywhere(project):
    project.train("probes", seed="other", params=project.but("recipes.nano.train.steps", 600))
    project.train("separate", params=project.but("runs.separate.seed", 7))
    steps = "recipes.nano.train.steps was 600, and params.yaml says 120"
    seed = "runs.separate.seed was 7, and params.yaml says 0"
    read = "made from other data/models/"
    assert project.collect() == {
        ("train", "probes"): steps,
        ("train", "separate"): seed,
        ("lens", "probes"): f"{read}probes",
        ("lens", "separate"): f"{read}separate",  # of a run that is left out, though it is the one that was read
    }
    assert project.table("SELECT * FROM '@left_out.parquet' ORDER BY ALL") == [
        ("lens", "probes", f"{read}probes"),
        ("lens", "separate", f"{read}separate"),
        ("train", "probes", steps),
        ("train", "separate", seed),
    ]
    assert project.table("SELECT run, left_out FROM '@runs.parquet' WHERE NOT present ORDER BY run") == [
        ("probes", steps),
        ("separate", seed),
    ]
    assert project.table("SELECT DISTINCT run FROM '@layer_metrics.parquet'") == [("baseline",)]
    project.train("probes", "separate")
    assert project.collect() == {}  # the same trainings as were read


def test_what_is_left_out_is_not_called_absent(project):
    params = project.params
    for number in range(5):
        params = copy.deepcopy(params)
        params["recipes"]["nano"]["train"][f"key_{number}"] = number
    project.train("probes", params=params)
    project.read("probes", params=project.but("recipes.nano.lens.sequences", 4))
    shutil.rmtree("metrics/runs/separate")
    absent = collect(project.params, "metrics", "metrics/warehouse", DATA)
    assert absent.runs == ["separate"] and "lens" not in absent.analyses
    said = absent.left_out["train", "probes"]
    assert said.count("params.yaml says None") == 3 and said.endswith("; 2 more")
    assert absent.left_out["lens", "probes"].startswith("recipes.nano.lens.sequences was 4, and params.yaml says 8")


@pytest.mark.parametrize("data", [["corpus", "tokens", "shards"], ["tokens", "shards"]], ids=["text", "tokenizer"])
def test_runs_of_another_text_or_tokenizer_are_left_out(project, data):
    project.data(**dict.fromkeys(data, "other"))
    project.train("probes")
    project.read("probes")
    found = project.collect()
    assert found.keys() == {(stage, run) for stage in ("train", "lens") for run in ("baseline", "separate")}
    made_from = {*found["train", "separate"].removeprefix("made from other ").split(", ")}
    assert made_from == {f"data/{name}" for name in data}


def test_readings_of_another_training_of_a_run_are_left_out(project):
    project.analyse("retrain_heads", "separate", made_up.retrained("separate"))
    project.analyse("depth_maps", "pair", made_up_depth.maps("pair", [6] * 6, 6))
    assert project.collect() == {}
    project.train("separate", seed="other")
    said = "made from other data/models/separate"
    assert project.collect() == {
        ("retrain_heads", "separate"): said,
        ("lens", "separate"): said,
        ("depth_maps", "pair"): said,
    }


def test_results_of_another_size_are_absent_as_before(project):
    absent = collect(project.but("size", "smoke"), "metrics", "metrics/warehouse", DATA)
    assert (absent.runs, absent.analyses["lens"], absent.left_out) == (sorted(RUNS), sorted(RUNS), {})


def test_results_on_other_prompts_are_left_out(project):
    project.params["depth"] = {"runs": ["baseline", "separate"], "prompts": {}}
    for run in ("baseline", "separate"):
        project.analyse("depth", run, made_up_depth.dissection(run))
    project.data(prompts="other")
    project.analyse("depth", "separate", made_up_depth.dissection("separate"))
    assert project.collect() == {("depth", "baseline"): "made from other data/prompts"}


def test_what_no_folder_settles_the_first_result_does(project):
    """The text in the tokens of a published model: no stage that every project has depends on it."""
    for text, stage in (("new", "published_lens"), ("old", "published_depth")):
        with fresh_folder("data/published/deep_model") as folder:
            (folder / "file").write_text(text)
        table = made_up.lens("deep_model", "published")
        if stage == "published_depth":
            table = made_up_depth.dissection("deep_model")
        project.analyse(stage, "deep_model", table)
    (said,) = project.collect().values()
    assert said == "made from other data/published/deep_model"
