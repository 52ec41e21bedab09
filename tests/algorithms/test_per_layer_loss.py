"""Per-layer losses: every gradient against a plain autograd reference, and what must stay bit for bit."""

from types import SimpleNamespace

import pytest
import torch
from composer.core import Event
from torch.nn import functional

from perlayer.algorithms.per_layer_loss.algorithm import PerLayerLoss
from perlayer.algorithms.per_layer_loss.loss import layer_loss
from perlayer.errors import UserError
from perlayer.losses.reading import Reading
from perlayer.model.config import ModelConfig
from perlayer.model.decoder import Decoder
from perlayer.model.readouts import auxiliary_readouts
from perlayer.training.composer_model import PerLayerModel

CONFIG = ModelConfig("sandwich", 3, 16, 24, 2, 1, 8, 10000.0, 1e-5, 30, 12, 1, True)
KINDS = ("probes", "separate", "shared", "shared_stop_gradient")


def build():
    decoder = Decoder(CONFIG)
    decoder.initialize(0)
    readouts = auxiliary_readouts(CONFIG, 0)
    with torch.no_grad():
        for module in (decoder, readouts):
            for name, parameter in module.named_parameters():
                if "norm" in name:
                    generator = torch.Generator().manual_seed(len(name))
                    parameter.add_(0.2 * torch.randn(parameter.shape, generator=generator))
    return decoder.double(), readouts.double()


def plain_loss(decoder, norm, head, hidden, targets):
    """Cross-entropy through a norm and a head, written out."""
    scaled = hidden / torch.sqrt(hidden.pow(2).mean(-1, keepdim=True) + 1e-5) * norm
    return functional.cross_entropy((scaled @ head.T).flatten(0, 1), targets.flatten())


def reference_gradients(kind, tokens):
    """What recipe section 6a says reaches each parameter: assembled from one autograd call a loss and an owner."""
    decoder, readouts = build()
    named = {f"decoder.{n}": p for n, p in decoder.named_parameters()}
    named |= {f"readouts.{n}": p for n, p in readouts.named_parameters()}
    trunk = [n for n in named if n.startswith("decoder.model.") and n != "decoder.model.norm.weight"]
    output = ["decoder.model.norm.weight", "decoder.lm_head.weight"]
    total = {name: torch.zeros_like(p) for name, p in named.items()}

    def add(loss, names):
        gradients = torch.autograd.grad(loss, [named[n] for n in names], retain_graph=True, allow_unused=True)
        for name, gradient in zip(names, gradients):
            if gradient is not None:
                total[name] += gradient

    taps, targets = decoder(tokens[:, :-1]), tokens[:, 1:]
    add(plain_loss(decoder, named[output[0]], named[output[1]], taps[3], targets), trunk + output)
    for k in (1, 2):
        own = [f"readouts.{k}.norm.weight", f"readouts.{k}.lm_head.weight"]
        norm, head = (named[n] for n in (own if kind in ("probes", "separate") else output))
        loss = plain_loss(decoder, norm, head, taps[k], targets)
        add(
            loss,
            {"probes": own, "separate": trunk + own, "shared": trunk + output, "shared_stop_gradient": trunk}[kind],
        )
    return total


@pytest.fixture
def tokens():
    return torch.randint(0, 30, (2, 11), generator=torch.Generator().manual_seed(4))


@pytest.mark.parametrize("kind", KINDS)
def test_the_gradient_of_every_parameter_equals_plain_autograd(kind, tokens):
    from perlayer.losses.linear_cross_entropy import linear_cross_entropy

    decoder, readouts = build()
    taps, targets = decoder(tokens[:, :-1]), tokens[:, 1:]
    loss = linear_cross_entropy(decoder.model.norm(taps[3]), decoder.lm_head.weight, targets)
    for layer in (1, 2):
        loss = loss + layer_loss(decoder, readouts, kind, layer, taps[layer], targets)
    loss.backward()
    for name, expected in reference_gradients(kind, tokens).items():
        owner, _, rest = name.partition(".")
        found = (decoder if owner == "decoder" else readouts).get_parameter(rest).grad
        found = torch.zeros_like(expected) if found is None else found
        torch.testing.assert_close(found, expected, rtol=1e-9, atol=1e-12, msg=name)


def test_every_layer_starts_with_a_readout_of_its_own():
    decoder, readouts = Decoder(CONFIG), auxiliary_readouts(CONFIG, 0)
    decoder.initialize(0)
    heads = [readouts["1"].lm_head.weight, readouts["2"].lm_head.weight, decoder.lm_head.weight]
    for first in range(3):
        for second in range(first):
            assert not torch.equal(heads[first], heads[second])
    assert heads[0].std().item() == pytest.approx(heads[2].std().item(), rel=0.1)
    again = auxiliary_readouts(CONFIG, 0)
    assert all(torch.equal(p, q) for p, q in zip(readouts.parameters(), again.parameters()))


def weighted_step(kind, tokens, step=0, **chosen):
    """The model after the algorithm has made its total loss at an update, and that loss is back-propagated."""
    decoder, readouts = build()
    model = PerLayerModel(decoder)
    model.readouts = readouts if kind == "separate" else None
    algorithm = PerLayerLoss(kind, 0, steps=10, **chosen)
    algorithm.model = model
    batch = {"tokens": tokens}
    taps = model(batch)
    state = SimpleNamespace(
        batch=batch,
        outputs=taps,
        loss=model.loss(taps, batch),
        timestamp=SimpleNamespace(batch=SimpleNamespace(value=step)),
    )
    algorithm.apply(Event.AFTER_LOSS, state, None)
    state.loss["total"].mul_(0.5)  # as Composer does for a microbatch of half the batch
    state.loss["total"].backward()
    found = {f"decoder.{name}": parameter.grad for name, parameter in decoder.named_parameters()}
    found |= {f"readouts.{name}": parameter.grad for name, parameter in readouts.named_parameters()}
    return {key: loss.item() for key, loss in state.loss.items()}, found


def plain_step(kind, tokens, weights):
    """The same by plain autograd: sum of weight times loss; an own readout of weight 0 is read as a probe."""
    decoder, readouts = build()
    taps, targets = decoder(tokens[:, :-1]), tokens[:, 1:]
    norm, head = decoder.model.norm.weight, decoder.lm_head.weight
    losses = {3: plain_loss(decoder, norm, head, taps[3], targets)}
    total = weights[3] * losses[3]
    for layer in (1, 2):
        tap, weight = taps[layer], weights[layer]
        if kind == "separate":
            own = readouts[str(layer)]
            through = own.norm.weight, own.lm_head.weight
            if weight == 0:
                tap, weight = tap.detach(), 1
        else:
            through = (norm, head) if kind == "shared" else (norm.detach(), head.detach())
        losses[layer] = plain_loss(decoder, *through, tap, targets)
        total = total + weight * losses[layer]
    (0.5 * total).backward()
    found = {f"decoder.{name}": parameter.grad for name, parameter in decoder.named_parameters()}
    found |= {f"readouts.{name}": parameter.grad for name, parameter in readouts.named_parameters()}
    return {layer: loss.item() for layer, loss in losses.items()}, total.item(), found


def assert_gradients(found, expected):
    assert found.keys() == expected.keys()
    for name, gradient in expected.items():
        if gradient is None:
            assert found[name] is None, name
        else:
            torch.testing.assert_close(found[name], gradient, rtol=1e-9, atol=1e-12, msg=name)


@pytest.mark.parametrize("kind", ["separate", "shared", "shared_stop_gradient"])
@pytest.mark.parametrize(
    ("chosen", "step", "weights"),
    [
        ({}, 0, {1: 1, 2: 1, 3: 1}),
        ({"weighting": {"shape": "uniform", "weight": 0.3}}, 4, {1: 0.3, 2: 0.3, 3: 1}),
        ({"weighting": {"shape": "sum"}}, 0, {1: 0.1, 2: 0.3, 3: 0.6}),
        ({"weighting": {"shape": "list", "weights": [0.7, 0]}}, 0, {1: 0.7, 2: 0, 3: 1}),
        ({"schedule": {"kind": "off", "step": 4}}, 4, {1: 0, 2: 0, 3: 1}),
        # layers 1, 2 and 3 have e = 0, 0.2 and 2.2; at t = 1 the second is on
        (
            {"weighting": {"shape": "layerskip"}, "schedule": {"kind": "rotational", "every": 2}},
            1,
            {1: 0, 2: 0.2 / 2.4, 3: 2.2 / 2.4},
        ),
    ],
)
def test_the_weighted_sum_and_its_gradients_equal_plain_autograd(kind, chosen, step, weights, tokens):
    found, gradients = weighted_step(kind, tokens, step, **chosen)
    losses, total, expected = plain_step(kind, tokens, weights)
    assert found["total"] == pytest.approx(0.5 * total, rel=1e-12)
    assert {key: loss for key, loss in found.items() if key != "total"} == pytest.approx(
        {Reading(layer, "head" if layer == 3 else kind).key: loss for layer, loss in losses.items()}, rel=1e-12
    )  # without weights
    assert_gradients(gradients, expected)


@pytest.mark.parametrize("kind", ["separate", "shared", "shared_stop_gradient"])
def test_a_threshold_compares_with_the_losses_of_the_same_update(kind, tokens):
    losses, _, _ = plain_step(kind, tokens, {1: 1, 2: 1, 3: 1})
    between = (losses[1] + losses[2]) / 2
    weights = {layer: 0.6 * (losses[layer] > between) for layer in (1, 2)}  # 1 - 4/10 at the fifth of ten updates
    assert sorted(weights.values()) == [0, 0.6]
    _, gradients = weighted_step(kind, tokens, 4, schedule={"kind": "threshold", "loss": between})
    _, _, expected = plain_step(kind, tokens, {**weights, 3: 1})
    assert_gradients(gradients, expected)


def test_a_threshold_looks_at_the_sequences_that_are_held_at_once(tokens):
    decoder, readouts = build()

    def loss_and_weight(some, threshold):
        algorithm = PerLayerLoss("separate", 0, schedule={"kind": "threshold", "loss": threshold}, steps=10)
        algorithm.model = PerLayerModel(decoder)
        algorithm.model.readouts = readouts
        losses, weights = algorithm.weighted_losses(decoder(some[:, :-1]), some, 0)
        return losses[Reading(1, "separate")].item(), weights[1]

    low, high = sorted(tokens.split(1), key=lambda some: loss_and_weight(some, 0.0))
    losses = [loss_and_weight(some, 0.0)[0] for some in (low, high)]
    threshold = losses[0] + 0.75 * (losses[1] - losses[0])  # their mean is below
    assert [loss_and_weight(some, threshold)[1] for some in (low, high, tokens)] == [0, 1, 0]


class SummedLosses(PerLayerLoss):
    """Adds every loss to the total, and nothing else."""

    def apply(self, event, state, logger):
        if event == Event.INIT:
            return super().apply(event, state, logger)
        found = self.losses(state.outputs, state.batch["tokens"])
        losses = {reading.key: loss for reading, loss in found.items()}
        state.loss = {**state.loss, **losses, "total": sum(losses.values(), state.loss["total"])}


def assert_same(first, second):
    (model, losses), (other, other_losses) = first, second
    assert losses == other_losses
    state, other_state = model.state_dict(), other.state_dict()
    assert state.keys() == other_state.keys()
    for name, value in state.items():
        assert torch.equal(value, other_state[name]), name


@pytest.mark.parametrize("kind", KINDS)
def test_without_weights_training_is_bit_for_bit_the_plain_sum(train, kind):
    expected = train([SummedLosses(kind, 0)])
    assert_same(train([PerLayerLoss(kind, 0)]), expected)
    if kind != "probes":
        assert_same(train([PerLayerLoss(kind, 0, {"shape": "uniform", "weight": 1}, {"kind": "constant"})]), expected)


@pytest.mark.parametrize(
    ("weighting", "schedule"),
    [
        ({"shape": "list", "weights": [0, 0]}, None),
        ({"shape": "sum", "scale": 0}, None),
        ({"shape": "uniform"}, {"kind": "threshold", "loss": 100}),
    ],
)
def test_where_a_layer_weighs_nothing_its_own_readout_learns_as_a_probe(train, weighting, schedule):
    model, losses = train([PerLayerLoss("separate", 0, weighting, schedule, steps=6)])
    probed, probe_losses = train([PerLayerLoss("probes", 0)])
    renamed = {
        Reading(key.layer, "probe") if key.readout == "separate" else key: values for key, values in losses.items()
    }
    assert_same((model, renamed), (probed, probe_losses))


@pytest.mark.parametrize("kind", ["shared", "shared_stop_gradient"])
@pytest.mark.parametrize("schedule", [None, {"kind": "threshold", "loss": 100}])
def test_where_a_layer_weighs_nothing_a_shared_head_only_reads(train, kind, schedule):
    weighting = {"shape": "list", "weights": [0, 0]} if schedule is None else None
    model, losses = train([PerLayerLoss(kind, 0, weighting, schedule, steps=6)])
    plain, plain_losses = train()
    assert [(reading.layer, reading.readout) for reading in losses] == [(1, kind), (2, kind), (3, "head")]
    assert_same((model, {key: losses[key] for key in plain_losses}), (plain, plain_losses))


@pytest.mark.parametrize(
    "chosen", [{"weighting": {"shape": "uniform", "weight": 0}}, {"schedule": {"kind": "off", "step": 1}}]
)
def test_a_shared_head_that_only_reads_forms_no_gradient(chosen, tokens):
    decoder, _ = build()
    algorithm = PerLayerLoss("shared", 0, **chosen)
    algorithm.model = PerLayerModel(decoder)
    losses, _ = algorithm.weighted_losses(decoder(tokens[:, :-1]), tokens, 1)
    assert not any(loss.requires_grad for loss in losses.values())


def test_supervision_that_is_switched_off_was_on_before(train):
    _, always = train([PerLayerLoss("shared", 0)])
    _, off = train([PerLayerLoss("shared", 0, schedule={"kind": "off", "step": 3})])
    _, never = train()
    head = Reading(3, "head")
    # the loss of step s follows from the s - 1 updates before: three of them were supervised
    assert off[head][:4] == always[head][:4] and off[head][4:] != always[head][4:]
    assert off[head][1:] != never[head][1:]


def test_weights_that_do_not_fit_the_depth_end_the_run_before_it_starts(train):
    with pytest.raises(UserError) as error:
        train([PerLayerLoss("separate", 0, {"shape": "list", "weights": [0.1, 0, 0]})])
    assert str(error.value) == (
        "params.yaml: runs.test.weighting.weights: expected 2 numbers, one for each layer below the last, "
        "found [0.1, 0, 0]"
    )
