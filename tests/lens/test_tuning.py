"""Training a tuned lens on a small model of our own."""

import dataclasses

import numpy as np
import pyarrow.parquet as parquet
import pytest
import torch
from safetensors.torch import load_file
from tiny_model import tiny_decoder

from perlayer.data.batches import read_split
from perlayer.environment import Machine
from perlayer.errors import UserError
from perlayer.lens.lenses import load_lens
from perlayer.lens.settings import LensSettings, TunedLensSettings
from perlayer.lens.tuned import tune_run
from perlayer.lens.tuning import TranslatorSGD
from perlayer.model.weights import load_model, save_model
from perlayer.store import fresh_folder

SETTINGS = TunedLensSettings(12, 4, 3, 10, 1.0, 0.9, 1e-3, 1.0)


@pytest.fixture(autouse=True)
def in_a_folder(tmp_path, monkeypatch, small_shards):
    """A finished model of 300 tokens, and the shards that it reads."""
    monkeypatch.chdir(tmp_path)
    decoder = tiny_decoder(vocabulary=300, length=16)
    with fresh_folder(tmp_path / "models/mine") as folder:
        save_model(folder, decoder)
    return tmp_path


@pytest.fixture
def tune(tmp_path, small_shards):
    """Train and publish into a folder; returns the rows of its table."""

    def tune(into="out", settings=SETTINGS, **machine):
        tune_run(
            "mine",
            "tiny",
            settings,
            LensSettings(sequences=8),
            "float32",
            small_shards,
            tmp_path / "models",
            tmp_path / into / "lenses",
            tmp_path / into / "metrics",
            Machine(**{"device": "cpu", "checkpoint_steps": 2, **machine}),
        )
        return parquet.read_table(tmp_path / into / "metrics/mine/layers.parquet").to_pylist()

    return tune


def values(rows, metric, split):
    return {
        (row["layer"], row["step"]): row["value"] for row in rows if (row["metric"], row["split"]) == (metric, split)
    }


def full_kl(decoder, hidden, final):
    log_p, log_q = ((each @ decoder.lm_head.weight.T).log_softmax(-1) for each in (final, hidden))
    return (log_p.exp() * (log_p - log_q)).sum(-1).mean()


def test_it_is_the_published_recipe(tune, small_shards, tmp_path):
    """Three updates of plain torch: KL of full logits, each translator by itself.

    Nesterov's SGD at 1.0 x (1 - 0.9), falling linearly to zero, with weight decay and a clipped norm.
    """
    settings = dataclasses.replace(SETTINGS, steps=3, checkpoints=1)
    rows = tune(settings=settings)
    decoder = load_model(tmp_path / "models/mine").freeze()
    data = torch.from_numpy(read_split(small_shards, "train")[:12])
    expected = {}
    for layer in range(3):
        weight, bias = torch.zeros(16, 16, requires_grad=True), torch.zeros(16, requires_grad=True)
        momentum = [torch.zeros(16, 16), torch.zeros(16)]
        for step in range(3):
            taps = decoder(data[4 * step : 4 * step + 4, :-1])
            hidden = taps[layer] + taps[layer] @ weight.T + bias
            loss = full_kl(decoder, decoder.model.norm(hidden), decoder.model.norm(taps[-1]))
            gradients = torch.autograd.grad(loss, [weight, bias])
            norm = torch.sqrt(sum(gradient.square().sum() for gradient in gradients))
            expected[layer, step + 1] = loss.item()
            rate = 0.1 * (1 - step / 3)
            with torch.no_grad():
                for value, gradient, buffer in zip((weight, bias), gradients, momentum):
                    gradient = gradient * min(1.0, 1.0 / norm) + 1e-3 * value
                    buffer.mul_(0.9).add_(gradient)
                    value.sub_(rate * (gradient + 0.9 * buffer))
        found = load_file(tmp_path / "out/lenses/mine/lens.safetensors")
        torch.testing.assert_close(found[f"translators.{layer}.weight"], weight.detach(), rtol=1e-4, atol=1e-6)
        torch.testing.assert_close(found[f"translators.{layer}.bias"], bias.detach(), rtol=1e-4, atol=1e-6)
    assert values(rows, "kl_final_lens", "train") == pytest.approx(expected, rel=1e-5)


def test_it_comes_closer_to_the_final_output_than_the_logit_lens(tune):
    rows = tune(settings=dataclasses.replace(SETTINGS, steps=60))
    sample = values(rows, "sample_kl_final_lens", "train")
    assert sample.keys() == {(layer, step) for layer in range(3) for step in (0, 20, 40, 60)}
    for layer in range(3):
        assert sample[layer, 60] < 0.9 * sample[layer, 0]
    # the last layer is the final output itself
    assert [row["value"] for row in rows if (row["layer"], row["metric"]) == (3, "kl_final_lens")] == [0.0]


def test_the_sample_is_the_last_training_sequences_and_starts_at_the_logit_lens(tune, small_shards, tmp_path):
    sample = values(tune(), "sample_kl_final_lens", "train")
    decoder = load_model(tmp_path / "models/mine").freeze()
    taps = decoder(torch.from_numpy(read_split(small_shards, "train")[-10:])[:, :-1])
    for layer in range(3):
        expected = full_kl(decoder, decoder.model.norm(taps[layer]), decoder.model.norm(taps[3])).item()
        assert sample[layer, 0] == pytest.approx(expected, rel=1e-5)


def test_each_layer_keeps_the_step_at_which_it_was_best(tune, tmp_path, monkeypatch):
    real = TranslatorSGD.step

    def one_goes_astray(self, closure=None):
        real(self, closure)
        with torch.no_grad():
            self.param_groups[1]["params"][1].add_(torch.arange(16.0))

    monkeypatch.setattr(TranslatorSGD, "step", one_goes_astray)
    rows = tune()
    sample = values(rows, "sample_kl_final_lens", "train")
    best = {layer: min((0, 4, 8, 12), key=lambda step, at=layer: sample[at, step]) for layer in range(3)}
    assert best[1] == 0 and best[0] > 0 and best[2] > 0
    assert {layer: step for layer, step in values(rows, "loss", "val")} == {**best, 3: 0}
    lens = load_lens(tmp_path / "out/lenses/mine", load_model(tmp_path / "models/mine"))
    for layer, step in best.items():
        assert any(parameter.any() for parameter in lens.translators[str(layer)].parameters()) == (step > 0)


def test_the_model_is_left_as_it_was(tune, tmp_path):
    before = {path.name: path.read_bytes() for path in (tmp_path / "models/mine").iterdir()}
    tune()
    assert {path.name: path.read_bytes() for path in (tmp_path / "models/mine").iterdir()} == before


def outs(folder):
    return {path.name: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_an_interrupted_training_goes_on_to_the_same_bytes(tune, tmp_path, interrupt_at):
    tune("whole")

    steps = interrupt_at(7)
    with pytest.raises(KeyboardInterrupt):
        tune("parts")
    assert not (tmp_path / "parts/lenses/mine").exists()
    tune("parts")
    assert steps[7] == 7  # the checkpoint after step 6 was found
    assert outs(tmp_path / "parts") == outs(tmp_path / "whole")
    assert not list((tmp_path / ".perlayer/scratch").iterdir())


def test_microbatches_train_the_same_lens(tune, tmp_path):
    tune("whole")
    tune("parts", microbatch=1)
    whole, parts = (load_file(tmp_path / name / "lenses/mine/lens.safetensors") for name in ("whole", "parts"))
    torch.testing.assert_close(whole, parts, rtol=1e-3, atol=1e-6)


def test_held_out_numbers_are_of_the_kept_lens(tune, tmp_path, small_shards):
    rows = tune()
    decoder = load_model(tmp_path / "models/mine").freeze()
    lens = load_lens(tmp_path / "out/lenses/mine", decoder)
    taps = decoder(torch.from_numpy(read_split(small_shards, "val")[:8])[:, :-1])
    found = {layer: value for (layer, _), value in values(rows, "kl_final_lens", "val").items()}
    expected = [
        full_kl(decoder, lens.hidden(decoder, layer, taps[layer]), decoder.model.norm(taps[3])).item()
        for layer in range(4)
    ]
    np.testing.assert_allclose([found[layer] for layer in range(4)], expected, rtol=1e-5, atol=1e-7)


def test_a_batch_larger_than_the_text_is_refused(tune):
    with pytest.raises(UserError, match="recipes.tiny.tuned_lens.batch: expected at most the .* sequences of"):
        tune(settings=dataclasses.replace(SETTINGS, batch=10_000))
