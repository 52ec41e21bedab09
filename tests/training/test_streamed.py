"""A training whose shards lie in a store of the kind of S3."""

import dataclasses
import os
import shutil
from pathlib import Path

import pytest
from s3_store import BUCKET
from small_files import small_files

from perlayer import stage
from perlayer.data import remote
from perlayer.data.dataset import read_dataset
from perlayer.data.shards import write_shards
from perlayer.data.streamed_shards import StreamedShards  # noqa: F401 (what is loaded later would count as other code)
from perlayer.errors import UserError
from perlayer.training.layer_log import LayerLog
from perlayer.training.run import train

STEPS = 30


@pytest.fixture(scope="module")
def many(shards, tmp_path_factory):
    """The small shards, in many files."""
    folder = tmp_path_factory.mktemp("many") / "shards"
    with small_files(1000):
        write_shards(shards.with_name("tokens"), folder, val_fraction=0.1, sequence_length=16, seed=42, batch=4)
    return folder


@pytest.fixture
def elsewhere(many, store, tmp_path, monkeypatch):
    """The working folder with the manifest of the shards alone; the shards are in the store."""
    monkeypatch.chdir(tmp_path)
    Path("shards").mkdir()
    shutil.copy(many / "manifest.json", "shards")
    Path("params.yaml").write_text("size: tiny\nrecipes: {tiny: {}}\nruns: {separate: {}}\n")
    monkeypatch.setenv("PERLAYER_SHARDS", store.put(many, "shards"))
    monkeypatch.setattr(remote, "PATIENCE", 0.0)
    return Path("shards")


def outs(folder):
    return {
        path.relative_to(folder): path.read_bytes()
        for kind in ("models", "metrics")
        for path in (folder / kind).rglob("*")
        if path.is_file()
    }


@pytest.mark.parametrize("workers", [0, 2])
def test_a_store_that_goes_away_costs_a_line_and_the_run_goes_on_when_it_is_back(
    many, elsewhere, store, recipe, run_of, machine, tmp_path, monkeypatch, capfd, workers
):
    """To the bytes of a run on shards that lie here."""
    recipe = dataclasses.replace(recipe, train=dataclasses.replace(recipe.train, steps=STEPS))
    machine = dataclasses.replace(machine, workers=workers, checkpoint_steps=STEPS)
    steps, real = [], LayerLog.batch_end

    def noted(self, state, logger):
        real(self, state, logger)
        steps.append(state.timestamp.batch.value)
        if len(steps) == 2:
            store.stop()

    def run(shards, folder):
        return stage.run(
            lambda params: train(run_of(), recipe, shards, folder / "models", folder / "metrics", machine), "toy", []
        )

    with monkeypatch.context() as patch:
        patch.delenv("PERLAYER_SHARDS")
        assert run(many, tmp_path / "here") == 0
    capfd.readouterr()
    monkeypatch.setattr(LayerLog, "batch_end", noted)
    assert run(elsewhere, tmp_path) == 1
    said = [line for line in capfd.readouterr().err.splitlines() if not line.startswith("separate: step")]
    address = f"s3://{BUCKET}/shards/train/shard.000"
    assert len(said) == 1 and said[0].startswith(f"error: {address}") and "Could not connect to the endpoint" in said[0]
    done = steps[-1]
    assert 2 <= done < STEPS
    assert said[0].endswith(f"; the run stopped after {done} updates and goes on when it is started again")
    store.start()
    store.put(many, "shards")
    assert run(elsewhere, tmp_path) == 0
    assert steps[done:] == list(range(done + 1, STEPS + 1))
    assert outs(tmp_path) == outs(tmp_path / "here")


def refused(shards):
    with pytest.raises(UserError) as error:
        read_dataset(shards)
    return str(error.value)


def test_what_the_store_refuses_is_said_in_a_line(elsewhere, store, monkeypatch):
    store.know_keys(False)
    assert refused(elsewhere) == f"s3://{BUCKET}/shards/dataset.json: cannot be read: 403 Forbidden"
    store.know_keys(True)
    with monkeypatch.context() as patch:
        patch.delenv("AWS_ACCESS_KEY_ID")
        patch.setenv("HOME", os.getcwd())
        patch.setenv("AWS_EC2_METADATA_DISABLED", "true")
        assert refused(elsewhere).endswith("/dataset.json: cannot be read: Unable to locate credentials")
    with monkeypatch.context() as patch:
        patch.setenv("PERLAYER_SHARDS", "s3://another/shards")
        assert refused(elsewhere) == "s3://another/shards/dataset.json: cannot be read: 404 Not Found"
    assert read_dataset(elsewhere).train_sequences > 4 * STEPS
