"""Retraining the readouts of a small finished run."""

import dataclasses

import numpy as np
import pyarrow.parquet as parquet
import pytest
import torch
from safetensors.torch import load_file
from torch.nn import functional

from perlayer.data.batches import read_split
from perlayer.environment import Machine
from perlayer.errors import UserError
from perlayer.heads.readouts import load_retrained
from perlayer.heads.retraining import ReadoutRetraining, RetrainRecipe, retrain_heads
from perlayer.heads.settings import RetrainSettings
from perlayer.model.config import AttentionSettings, ModelSettings
from perlayer.model.weights import load_model, load_readouts
from perlayer.optim.hyperball import Hyperball
from perlayer.optim.schedules import schedule_factor
from perlayer.optim.settings import OptimizerSettings
from perlayer.runs import TrainSettings, parse_run

OPTIMIZER = OptimizerSettings(0.02, 0.008, 0.95, 0.9, 0.98, 1e-20, 1e-5, 5, 1.0, "linear", 0.8, 0)
TRAIN = TrainSettings(steps=12, batch=4, compute_dtype="float32")
RECIPE = RetrainRecipe("tiny", OPTIMIZER, TRAIN, RetrainSettings(steps=9, warmup=2, evaluations=3))
MACHINE = Machine(device="cpu", threads=1, checkpoint_steps=2, compile="off")
READOUTS = ("probes", "separate", "none")


@pytest.fixture(scope="module")
def finished(tmp_path_factory, small_shards):
    """Finished runs of three layers, and what training left of them."""
    from perlayer.runs import Recipe
    from perlayer.training.run import train

    folder = tmp_path_factory.mktemp("finished")
    recipe = Recipe("tiny", ModelSettings(3, 16, 24, 2, 1, 8, 10000.0, 1e-5), OPTIMIZER, TRAIN, AttentionSettings(True))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for readouts in READOUTS:
            run = parse_run({"runs": {readouts: {"residual": "sandwich", "readouts": readouts, "seed": 0}}}, readouts)
            train(run, recipe, small_shards, folder / "models", folder / "metrics", MACHINE)
    return folder


@pytest.fixture
def retrain(finished, small_shards, tmp_path, monkeypatch):
    """Retrain a run and publish into a folder; returns the rows of its table."""
    monkeypatch.chdir(tmp_path)

    def retrain(run="separate", into="out", recipe=RECIPE, **machine):
        retrain_heads(
            run,
            recipe,
            small_shards,
            finished / "models",
            tmp_path / into / "heads",
            tmp_path / into / "metrics",
            dataclasses.replace(MACHINE, **machine),
        )
        return parquet.read_table(tmp_path / into / f"metrics/{run}/layers.parquet").to_pylist()

    return retrain


def values(rows, metric, split):
    chosen = [row for row in rows if (row["metric"], row["split"]) == (metric, split)]
    return {(row["layer"], row["step"]): row["value"] for row in chosen}


def contents(folder):
    return {path.relative_to(folder): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.mark.parametrize("run", ["probes", "separate"])
def test_before_is_what_training_left_and_every_number_is_there(retrain, finished, run):
    rows = retrain(run)
    assert {row["readout"] for row in rows} == {"retrained"} and {row["run"] for row in rows} == {run}
    held_out = values(rows, "loss", "val")
    assert held_out.keys() == {(layer, step) for layer in (1, 2, 3) for step in (0, 3, 6, 9)}
    assert values(rows, "loss", "train").keys() == {(layer, step) for layer in (1, 2, 3) for step in range(1, 10)}
    training = parquet.read_table(finished / f"metrics/{run}/layers.parquet").to_pylist()
    for (layer, _), value in values(training, "loss", "val").items():
        assert held_out[layer, 0] == pytest.approx(value, rel=1e-6)
    assert {row["tokens"] for row in rows if row["step"] == 9} == {9 * 4 * 16}


def test_after_and_its_errors_are_those_of_the_published_readouts(retrain, finished, small_shards, tmp_path):
    rows = retrain()
    decoder = load_model(finished / "models/separate")
    before, after = (
        load_readouts(finished / "models/separate"),
        load_retrained(tmp_path / "out/heads/separate", decoder.config),
    )
    data = torch.from_numpy(read_split(small_shards, "val")[:])
    taps = decoder(data[:, :-1])

    def by_sequence(logits):
        losses = functional.cross_entropy(logits.flatten(0, 1), data[:, 1:].flatten(), reduction="none")
        return losses.view(len(data), -1).mean(1).detach().double().numpy()

    found = {
        metric: values(rows, metric, "val")
        for metric in ("loss", "loss_standard_error", "change", "change_standard_error")
    }
    for layer in (1, 2, 3):
        first = by_sequence(decoder.logits(taps[3]) if layer == 3 else before[str(layer)](taps[layer]))
        last = by_sequence(after[str(layer)](taps[layer]))
        error = lambda each: each.std(ddof=1) / np.sqrt(len(each))  # noqa: E731
        assert found["loss"][layer, 9] == pytest.approx(last.mean(), rel=1e-5)
        assert found["loss_standard_error"][layer, 9] == pytest.approx(error(last), rel=1e-4)
        assert found["change"][layer, 9] == pytest.approx((last - first).mean(), abs=1e-5)
        assert found["change_standard_error"][layer, 9] == pytest.approx(error(last - first), rel=1e-3)


def test_each_readout_is_trained_by_its_own_loss_on_the_same_taps(retrain, finished, small_shards, tmp_path):
    """Against a plain loop: full logits, autograd, and an optimizer for the auxiliary readouts and one for the head."""
    rows = retrain()
    decoder = load_model(finished / "models/separate").freeze()
    auxiliary = load_readouts(finished / "models/separate")
    weights = {layer: (auxiliary[str(layer)].norm.weight, auxiliary[str(layer)].lm_head.weight) for layer in (1, 2)} | {
        3: (decoder.model.norm.weight.clone().requires_grad_(), decoder.lm_head.weight.clone().requires_grad_())
    }
    groups = []
    for members in ((1, 2), (3,)):  # clipped apart: the auxiliary readouts, and the model's own
        for kind, index, rate in (("adam", 0, 0.008), ("adamh", 1, 0.02)):
            groups.append(
                {"params": [weights[layer][index] for layer in members], "kind": kind, "lr": rate, "peak": rate}
            )
    optimizer = Hyperball.from_settings(groups, OPTIMIZER)
    data = torch.from_numpy(read_split(small_shards, "train")[: 9 * 4])
    expected = {}
    for step in range(9):
        tokens = data[4 * step : 4 * step + 4]
        taps = decoder(tokens[:, :-1])
        total = 0.0
        for layer, (norm, head) in weights.items():
            normed = functional.rms_norm(taps[layer], (16,), norm, 1e-5)
            loss = functional.cross_entropy((normed @ head.T).flatten(0, 1), tokens[:, 1:].flatten())
            expected[layer, step + 1] = loss.item()
            total = total + loss
        optimizer.zero_grad()
        total.backward()
        for group in optimizer.param_groups:
            group["lr"] = group["peak"] * schedule_factor(step, 9, "cosine", 2, 1.0)
        optimizer.step()
    assert values(rows, "loss", "train") == pytest.approx(expected, rel=1e-5)
    published = load_file(tmp_path / "out/heads/separate/readouts.safetensors")
    for layer, (norm, head) in weights.items():
        torch.testing.assert_close(published[f"readouts.{layer}.norm.weight"], norm.detach(), rtol=1e-3, atol=1e-5)
        torch.testing.assert_close(published[f"readouts.{layer}.lm_head.weight"], head.detach(), rtol=1e-3, atol=1e-5)


def test_the_backbone_is_bit_for_bit_as_it_was(retrain, finished, monkeypatch):
    models = []
    real = ReadoutRetraining.__init__

    def remember(self, decoder, *rest):
        models.append(decoder)
        real(self, decoder, *rest)

    monkeypatch.setattr(ReadoutRetraining, "__init__", remember)
    before = contents(finished / "models")
    retrain()
    assert contents(finished / "models") == before
    (decoder,) = models
    weights = load_file(finished / "models/separate/model.safetensors")
    assert all(torch.equal(value, weights[name]) for name, value in decoder.state_dict().items())


def test_the_backbone_works_once_for_all_readouts(retrain, small_shards, monkeypatch):
    from perlayer.model.decoder import Decoder

    calls = []
    real = Decoder.forward
    monkeypatch.setattr(
        Decoder, "forward", lambda self, *rest: calls.append(torch.is_grad_enabled()) or real(self, *rest)
    )
    retrain(recipe=dataclasses.replace(RECIPE, retrain=RetrainSettings(steps=3, warmup=0, evaluations=1)))
    assert not any(calls)
    # three updates, and the held-out text in batches of four before and after
    assert len(calls) == 3 + 2 * -(-len(read_split(small_shards, "val")) // 4)


def test_an_interrupted_retraining_goes_on_to_the_same_bytes(retrain, tmp_path, interrupt_at):
    retrain(into="whole")

    steps = interrupt_at(7)
    with pytest.raises(KeyboardInterrupt):
        retrain(into="parts")
    assert not (tmp_path / "parts/heads/separate").exists()
    retrain(into="parts")
    assert steps[7] == 7  # the checkpoint after step 6 was found
    assert contents(tmp_path / "parts") == contents(tmp_path / "whole")
    assert not list((tmp_path / ".perlayer/scratch").iterdir())


def test_microbatches_train_the_same_readouts(retrain, tmp_path):
    retrain(into="whole")
    retrain(into="parts", microbatch=1)
    whole, parts = (load_file(tmp_path / name / "heads/separate/readouts.safetensors") for name in ("whole", "parts"))
    torch.testing.assert_close(whole, parts, rtol=1e-3, atol=1e-4)


def test_a_run_without_readouts_is_refused(retrain):
    with pytest.raises(UserError, match="models/none: this run was trained without readouts of its own"):
        retrain("none")


def test_retrained_readouts_of_another_model_are_refused(retrain, finished, tmp_path):
    retrain()
    config = load_model(finished / "models/separate").config
    with pytest.raises(UserError, match="readouts.3.* is missing|belongs to no part"):
        load_retrained(tmp_path / "out/heads/separate", dataclasses.replace(config, layers=2))
