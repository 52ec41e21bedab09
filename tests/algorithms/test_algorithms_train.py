"""What must hold for every algorithm, driven through Composer's Trainer."""

from pathlib import Path

import pytest
import torch
from algorithm_settings import ALGORITHMS, LEAVES_THE_BACKBONE

import perlayer.algorithms
from perlayer.algorithms.ema.algorithm import WeightAverage
from perlayer.algorithms.per_layer_loss.settings import READOUTS
from perlayer.algorithms.per_layer_loss.weighting import choices
from perlayer.algorithms.protocol import RunContext, build_algorithm
from perlayer.losses.reading import Reading


def built(name, seed=0, steps=6):
    readouts = next((one.readouts for folder, one in ALGORITHMS[name] if folder == "per_layer_loss"), "none")
    context = RunContext(seed, steps, readouts)
    return [build_algorithm(folder, settings, context) for folder, settings in ALGORITHMS[name]]


def weights(model):
    return {name: value.clone() for name, value in model.state_dict().items()}


def same(first, second):
    assert first.keys() == second.keys()
    for name, value in first.items():
        assert torch.equal(value, second[name]), name


def test_every_folder_shape_and_schedule_has_a_row():
    rows = [row for rows in ALGORITHMS.values() for row in rows]
    folders = {path.parent.name for path in Path(perlayer.algorithms.__file__).parent.glob("*/algorithm.py")}
    assert {folder for folder, _ in rows} == folders
    weighted = [settings for folder, settings in rows if folder == "per_layer_loss"]
    assert {settings.weighting["shape"] for settings in weighted if settings.weighting} == set(choices("weighting"))
    assert {settings.schedule["kind"] for settings in weighted if settings.schedule} == set(choices("schedule"))
    assert {settings.readouts for settings in weighted} == set(READOUTS) - {"none"}


@pytest.mark.parametrize("name", ALGORITHMS)
def test_trains_and_lowers_the_loss(train, name):
    _, losses = train(built(name, steps=36), steps=36)
    for reading, values in losses.items():
        # the same six batches come again: the last pass must beat the first
        assert sum(values[-6:]) < sum(values[:6]) - 0.3, reading


@pytest.mark.parametrize("name", ALGORITHMS)
def test_resumes_bit_for_bit(train, tmp_path, name):
    first, second = built(name), built(name)
    uninterrupted, expected = train(first)
    train(built(name), stop=4, folder=tmp_path)
    resumed, losses = train(second, folder=tmp_path)
    assert losses == expected
    for model, algorithms in ((uninterrupted, first), (resumed, second)):
        for algorithm in algorithms:
            if isinstance(algorithm, WeightAverage):
                algorithm.restore_training_weights(model)
    same(weights(uninterrupted), weights(resumed))
    for one, other in zip(first, second):
        if isinstance(one, WeightAverage):
            same(one.ema_model.named_parameters_dict, other.ema_model.named_parameters_dict)


@pytest.mark.parametrize("name", LEAVES_THE_BACKBONE)
def test_leaves_the_backbone_bit_for_bit(train, name):
    plain, plain_losses = train()
    algorithms = built(name)
    other, losses = train(algorithms)
    same(weights(plain.decoder), weights(other.decoder))
    head = Reading(3, "head")
    assert losses[head] == plain_losses[head]


@pytest.mark.parametrize("name", ["separate", "shared", "shared_stop_gradient"])
def test_active_readouts_start_as_the_baseline_and_then_change_the_backbone(train, name):
    plain, plain_losses = train()
    other, losses = train(built(name))
    head = Reading(3, "head")
    assert losses[head][0] == plain_losses[head][0]  # the first loss is of the initial weights, which are the same
    assert losses[head][1:] != plain_losses[head][1:]
    assert not torch.equal(
        plain.decoder.model.layers[0].mlp.up_proj.weight, other.decoder.model.layers[0].mlp.up_proj.weight
    )


@pytest.mark.parametrize("name", ["probes", "separate", "sqrt"])
def test_microbatches_sum_to_the_same_losses_and_updates(train, name):
    whole, whole_losses = train(built(name), steps=3)
    parts, part_losses = train(built(name), steps=3, microbatch=1)
    for reading, values in whole_losses.items():
        assert list(part_losses[reading]) == pytest.approx(list(values), rel=1e-4), reading
    torch.testing.assert_close(weights(whole), weights(parts), rtol=1e-3, atol=1e-4)


def test_each_update_has_the_rate_of_the_schedule(train):
    # at six steps a decay of 0.8 falls over int(4.8) = 4 updates: two at the peak, then 1 - j/4
    from composer.core import Algorithm, Event

    class Rates(Algorithm):
        seen = []

        def match(self, event, state):
            return event == Event.AFTER_TRAIN_BATCH

        def apply(self, event, state, logger):
            self.seen.append({group["kind"]: group["lr"] for group in state.optimizers[0].param_groups})

    train([Rates()])
    factors = [1, 1, 1, 0.75, 0.5, 0.25]
    assert [rates["muonh"] for rates in Rates.seen] == pytest.approx([0.02 * factor for factor in factors])
    assert [rates["adam"] for rates in Rates.seen] == pytest.approx([0.008 * factor for factor in factors])


def test_every_layer_is_logged_at_every_step(train):
    _, losses = train(built("separate"))
    assert [(r.layer, r.readout, r.ahead) for r in losses] == [(1, "separate", 1), (2, "separate", 1), (3, "head", 1)]
    assert {len(values) for values in losses.values()} == {6}


def test_the_average_is_of_the_raw_weights(train):
    # closed form: the average starts at the weights after the first update and follows by 1 - 2^(-1/2) an update
    algorithms = built("ema")
    average = algorithms[0]
    model, _ = train(algorithms)
    average.restore_training_weights(model)
    raw = model.decoder.lm_head.weight.detach().clone()
    plain, _ = train()
    assert torch.equal(raw, plain.decoder.lm_head.weight)
    with average.averaged_weights(model):
        averaged = model.decoder.lm_head.weight.detach().double().clone()
    assert torch.equal(model.decoder.lm_head.weight, raw)
    expected = None
    for stop in range(1, 7):
        weight = train(stop=stop)[0].decoder.lm_head.weight.detach().double()
        expected = weight if expected is None else expected + (1 - 2**-0.5) * (weight - expected)
    torch.testing.assert_close(averaged, expected, rtol=1e-5, atol=1e-6)
