"""LayerSkip's layer dropout: its probabilities, its draws, and what a skipped layer leaves behind."""

import itertools
import math
from types import SimpleNamespace

import pytest
import torch
from composer.core import Event
from composer.utils import dist
from small_decoder import LAYERS, TwoStreams, assert_gradients, build, layer_written_out, some_tokens

from perlayer.algorithms.layer_dropout.algorithm import LayerDropout
from perlayer.algorithms.layer_dropout.settings import Settings
from perlayer.algorithms.layer_dropout.skipping import (
    SkippingLayer,
    draw_skips,
    require_steady_state,
    skip_probability,
)
from perlayer.algorithms.per_layer_loss.algorithm import build as build_per_layer_loss
from perlayer.algorithms.per_layer_loss.settings import Settings as PerLayerLossSettings
from perlayer.algorithms.protocol import RunContext
from perlayer.errors import InvalidValue, UserError
from perlayer.runs import parse_run

ROOT_2 = 1.41421356  # exp(ln2 / 2): half-way, both factors are this less 1


@pytest.mark.parametrize(
    ("layer", "step", "over_training", "expected"),
    [
        (1, 10, "constant", 0.0),  # l = 0: exp(0) - 1
        (3, 0, "constant", 0.2 * (ROOT_2 - 1)),  # l = 2 of 4: exp(ln2 / 2) - 1
        (5, 4, "constant", 0.2),  # l = 4 of 4: exp(ln2) - 1 = 1
        (5, 0, "exponential", 0.0),  # t = 0
        (5, 5, "exponential", 0.2 * (ROOT_2 - 1)),  # t = 5 of 10
        (3, 5, "exponential", 0.2 * (ROOT_2 - 1) ** 2),
        (5, 10, "exponential", 0.2),  # t = T - 1
        (2, 3, "exponential", 0.2 * (2**0.25 - 1) * (2**0.3 - 1)),
    ],
)
def test_probabilities_are_the_sources(layer, step, over_training, expected):
    # LayerSkip: p = S(t) D(l) p_max with L = 5 layers, T = 11 updates, p_max = 0.2
    assert skip_probability(layer, 5, step, 11, 0.2, over_training) == pytest.approx(expected, rel=1e-7)


def test_an_only_layer_and_an_only_update_skip_nothing():
    assert skip_probability(1, 1, 3, 10, 0.5, "constant") == 0
    assert skip_probability(4, 4, 0, 1, 0.5, "exponential") == 0


def test_draws_come_as_often_as_their_probability_says_and_independently():
    # 40000 draws: a share differs from p by less than 4 standard errors, sqrt(p (1 - p) / 40000)
    probabilities, sequences = [0.0, 0.03, 0.1, 0.5, 1.0], 4000
    skips = torch.cat([draw_skips(0, step, probabilities, sequences) for step in range(10)]).double()
    count = len(skips)

    def close(found, expected):
        return abs(found - expected) <= 4 * math.sqrt(expected * (1 - expected) / count)

    assert [close(share, p) for share, p in zip(skips.mean(0).tolist(), probabilities)] == [True] * 5
    assert skips[:, 0].sum() == 0 and skips[:, 4].sum() == count
    for (one, p), (other, q) in itertools.combinations(enumerate(probabilities), 2):
        assert close((skips[:, one] * skips[:, other]).mean().item(), p * q)  # of two layers
    for column, p in enumerate(probabilities):
        shifted = skips.roll(1, 0), skips.roll(sequences, 0)  # of two sequences, and of two updates
        assert all(close((skips[:, column] * other[:, column]).mean().item(), p * p) for other in shifted)


def test_draws_depend_on_seed_and_update_alone():
    before = torch.get_rng_state()
    first = draw_skips(3, 7, [0.5] * 4, 32)
    assert torch.equal(torch.get_rng_state(), before)
    torch.rand(5)
    assert torch.equal(draw_skips(3, 7, [0.5] * 4, 32), first)
    assert not torch.equal(draw_skips(4, 7, [0.5] * 4, 32), first)
    assert not torch.equal(draw_skips(3, 8, [0.5] * 4, 32), first)


def skipping(model, skips):
    """Let sequences skip as told; returns which layers ran, in order."""
    ran, usual = [], model.decoder.run_layer

    def run_layer(design, state, attention, mlp, rotary, mask):
        ran.append(attention.layer)
        return usual(design, state, attention, mlp, rotary, mask)

    model.decoder.run_layer = SkippingLayer(run_layer)
    model.decoder.run_layer.skips = skips
    return ran


# three sequences, four layers: nobody skips the first, everybody the third
SKIPS = torch.tensor([[False, True, True, False], [False, False, True, True], [False, False, True, False]])


def test_a_sequence_that_skips_passes_its_state_and_the_others_are_computed_as_always():
    model, plain, tokens = build(), build(), some_tokens()
    ran = skipping(model, SKIPS)
    taps = model({"tokens": tokens})
    assert ran == [1, 2, 4]
    assert torch.equal(taps[1], plain({"tokens": tokens})[1])
    inputs = tokens[:, :-1]
    for layer in range(1, LAYERS + 1):
        computed = layer_written_out(plain.decoder, layer, taps[layer - 1], inputs)
        for row, skip in enumerate(SKIPS[:, layer - 1]):
            assert torch.equal(taps[layer][row], taps[layer - 1][row] if skip else computed[row])


def test_gradients_equal_those_of_each_sequence_alone_through_the_layers_it_keeps():
    model, tokens = build(), some_tokens()
    skipping(model, SKIPS)
    weights = torch.randn(3, 11, 16, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    taps = model({"tokens": tokens})
    sum((tap * weights).sum() for tap in taps[1:]).backward()

    alone = build()
    for row, sequence in enumerate(tokens[:, :-1]):
        hidden = alone.decoder.model.embed_tokens(sequence[None])
        for layer in range(1, LAYERS + 1):
            if not SKIPS[row, layer - 1]:
                hidden = layer_written_out(alone.decoder, layer, hidden, sequence[None])
            (hidden * weights[row]).sum().backward(retain_graph=True)
    expected = {
        name: torch.zeros_like(parameter) if parameter.grad is None else parameter.grad
        for name, parameter in alone.named_parameters()
    }
    assert_gradients(model, expected)
    # a layer that everybody skips has gradients of zero, which the optimizer and other processes wait for
    for parameter in model.decoder.model.layers[2].parameters():
        assert parameter.grad is not None and not parameter.grad.any()


def test_states_of_any_kind_are_passed_whole():
    model, plain, tokens = build(), build(), some_tokens()
    for one in (model, plain):
        one.decoder.design = TwoStreams(one.decoder.config)
    skipping(model, SKIPS)
    states, usual = [], []
    model.decoder(tokens, lambda layer, before, after, run: states.append(after) or (after, after))
    plain.decoder(tokens, lambda layer, before, after, run: usual.append(after) or (after, after))
    for stream in (lambda state: state["first"], lambda state: state["others"][0]):
        found, expected = [stream(state) for state in states], [stream(state) for state in usual]
        assert torch.equal(found[2][0], found[1][0])
        assert torch.equal(found[2][1:], expected[2][1:])
        assert torch.equal(found[3], found[2])


class Growing(TwoStreams):
    def write(self, state, sublayer, output):
        state = super().write(state, sublayer, output)
        return {**state, "others": [*state["others"], output]}


def test_a_state_that_grows_is_refused_at_start():
    model = build()
    require_steady_state(model.decoder)
    model.decoder.design = Growing(model.decoder.config)
    with pytest.raises(InvalidValue, match="^layer_dropout: expected a residual design whose state keeps its shape"):
        require_steady_state(model.decoder)


@pytest.fixture
def half():
    return LayerDropout(Settings(0.5, "constant"), seed=0, steps=6)


def test_without_probability_training_is_the_same_bit_for_bit(train):
    plain, plain_losses = train()
    other, losses = train([LayerDropout(Settings(0.0), seed=0, steps=6)])
    assert losses == plain_losses
    for name, value in plain.state_dict().items():
        assert torch.equal(value, other.state_dict()[name]), name
    _, losses = train([LayerDropout(Settings(0.5, "constant"), seed=0, steps=6)])
    assert losses != plain_losses


def test_training_draws_from_no_random_state_of_torch(train):
    class Disturbed(LayerDropout):
        states = []

        def apply(self, event, state, logger):
            before = torch.get_rng_state()
            super().apply(event, state, logger)
            assert torch.equal(torch.get_rng_state(), before)
            self.states.append(event)
            torch.rand(1)  # and what others draw in between changes nothing

    _, expected = train([LayerDropout(Settings(0.5, "constant"), seed=0, steps=6)])
    _, losses = train([Disturbed(Settings(0.5, "constant"), seed=0, steps=6)])
    assert losses == expected
    assert set(Disturbed.states) >= {Event.INIT, Event.BEFORE_TRAIN_BATCH, Event.BEFORE_FORWARD}


def test_the_last_update_skips_most(train):
    class Watching(LayerDropout):
        seen = []

        def apply(self, event, state, logger):
            super().apply(event, state, logger)
            if event == Event.BEFORE_FORWARD:
                self.seen.append(self.layer.skips)

    train([Watching(Settings(1.0, "exponential"), seed=0, steps=6)])
    assert len(Watching.seen) == 6
    assert not Watching.seen[0].any()  # t = 0: S = 0
    assert Watching.seen[5][:, 2].all() and not Watching.seen[5][:, 0].any()  # t = T - 1: D = 1 at the last layer


@pytest.mark.parametrize("microbatch", [1, 3])
def test_microbatches_of_any_size_draw_the_same(train, microbatch):
    def losses(size):
        algorithms = [build_per_layer_loss(PerLayerLossSettings("separate"), RunContext(0, 3))]
        return train([*algorithms, LayerDropout(Settings(0.5, "constant"), 0, 3)], steps=3, microbatch=size)[1]

    whole, parts = losses(4), losses(microbatch)
    for reading, values in whole.items():
        assert list(parts[reading]) == pytest.approx(list(values), rel=1e-4), reading


@pytest.mark.parametrize("processes", [2, 4])
def test_processes_draw_for_their_own_sequences(half, monkeypatch, processes):
    from streaming.base.partition import get_partitions

    half.layers = 4
    whole = half.draw(step=3, sequences=8)
    monkeypatch.setattr(dist, "get_world_size", lambda: processes)
    # the samples of one update, as the loader of `train_loader` deals them out: (nodes, ranks, workers, batches, batch)
    dealt = get_partitions("relaxed", 8, 1, 1, processes, 1, 8 // processes).reshape(processes, -1)
    for rank, samples in enumerate(dealt):
        monkeypatch.setattr(dist, "get_global_rank", lambda rank=rank: rank)
        assert torch.equal(half.draw(step=3, sequences=len(samples)), whole[samples])


def test_it_calls_what_stood_in_its_place_and_reading_without_training_skips_nothing(half):
    model, tokens, called = build(), some_tokens(), []
    usual = model.decoder.run_layer
    model.decoder.run_layer = lambda *arguments: called.append(1) or usual(*arguments)
    timestamp = SimpleNamespace(batch=SimpleNamespace())
    state = SimpleNamespace(run_name="test", model=model, batch={"tokens": tokens}, timestamp=timestamp)
    state.timestamp.batch.value = 3
    expected = build()({"tokens": tokens})

    def reads_plainly():
        taps = model({"tokens": tokens})
        return all(torch.equal(tap, other) for tap, other in zip(taps, expected, strict=True))

    half.apply(Event.INIT, state, None)
    assert reads_plainly() and len(called) == 4
    half.apply(Event.BEFORE_TRAIN_BATCH, state, None)
    assert reads_plainly()
    half.apply(Event.BEFORE_FORWARD, state, None)
    assert not reads_plainly()
    half.apply(Event.AFTER_FORWARD, state, None)
    assert reads_plainly()


def test_a_trained_model_reads_without_skipping(train, half):
    model, _ = train([half])
    tokens = some_tokens()
    taps = model.eval_forward({"tokens": tokens})
    plain, _ = train(stop=1)
    plain.load_state_dict(model.state_dict())
    for tap, expected in zip(taps, plain({"tokens": tokens}), strict=True):
        assert torch.equal(tap, expected)


def run_of(value):
    return parse_run(
        {"runs": {"mine": {"residual": "sandwich", "readouts": "none", "seed": 0, "layer_dropout": value}}}, "mine"
    )


def test_a_run_names_it():
    assert run_of({"most": 0.1}).algorithms["layer_dropout"] == Settings(0.1, "exponential")
    assert run_of({"most": 1, "over_training": "constant"}).algorithms["layer_dropout"] == Settings(1.0, "constant")


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"most": 1.5}, "params.yaml: runs.mine.layer_dropout.most: expected a share from 0 to 1, found 1.5"),
        (
            {"most": 0.1, "over_training": "linear"},
            "params.yaml: runs.mine.layer_dropout.over_training: expected exponential or constant, found 'linear'",
        ),
        ({}, "params.yaml: runs.mine.layer_dropout.most: missing"),
    ],
)
def test_what_cannot_be_is_said_when_params_are_checked(value, message):
    with pytest.raises(UserError) as error:
        run_of(value)
    assert str(error.value) == message
