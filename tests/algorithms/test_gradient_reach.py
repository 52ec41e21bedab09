"""Own-layer reach: every gradient against plain autograd, and what cannot stand beside it."""

from types import SimpleNamespace

import pytest
import torch
from composer.core import Event
from small_decoder import (
    LAYERS,
    OUTPUT,
    Total,
    TwoStreams,
    assert_gradients,
    build,
    layer_written_out,
    loss_written_out,
    some_tokens,
)

from perlayer.algorithms.gradient_reach.algorithm import GradientReach
from perlayer.algorithms.gradient_reach.settings import Settings
from perlayer.algorithms.per_layer_loss.loss import layer_loss
from perlayer.algorithms.protocol import RunContext, build_algorithm
from perlayer.errors import UserError
from perlayer.losses.reading import Reading
from perlayer.runs import parse_run

KINDS = ("separate", "shared", "shared_stop_gradient")


def with_own_layer(model):
    GradientReach().apply(Event.INIT, SimpleNamespace(model=model), None)
    return model


def losses_of(model, kind, tokens):
    """The losses that training sums, by layer."""
    taps = model({"tokens": tokens})
    losses = {LAYERS: model.final_loss(taps, tokens)}
    for layer in range(1, LAYERS):
        losses[layer] = layer_loss(model.decoder, model.readouts, kind, layer, taps[layer], tokens[:, 1:])
    return losses


def reference(residual, kind, tokens):
    """Recipe section 6a: "layer k recomputed on stop-grad output of layer k-1, so loss k trains head k + layer k only;
    final loss trains everything". One autograd call a loss and an owner, on layers and losses written out."""
    model = build(residual)
    decoder, total, inputs, targets = model.decoder, Total(model), tokens[:, :-1], tokens[:, 1:]
    hiddens = [decoder.model.embed_tokens(inputs)]
    for layer in range(1, LAYERS + 1):
        hiddens.append(layer_written_out(decoder, layer, hiddens[-1], inputs))
    trunk = [name for name in total.named if name.startswith("decoder.model.") and name != OUTPUT[0]]
    final, names = loss_written_out(model, kind, LAYERS, hiddens[-1], targets)
    total.add(final, trunk)
    total.add(final, names)
    for layer in range(1, LAYERS):
        hidden = layer_written_out(decoder, layer, hiddens[layer - 1].detach(), inputs)
        loss, names = loss_written_out(model, kind, layer, hidden, targets)
        total.add(loss, total.of_layer(layer))
        total.add(loss, names)
    return total.gradients


@pytest.mark.parametrize("residual", ["sandwich", "pre_ln"])
@pytest.mark.parametrize("kind", KINDS)
def test_the_gradient_of_every_parameter_equals_plain_autograd(residual, kind):
    model, tokens = with_own_layer(build(residual)), some_tokens()
    sum(losses_of(model, kind, tokens).values()).backward()
    expected = reference(residual, kind, tokens)
    assert_gradients(model, expected)
    usual = build(residual)
    sum(losses_of(usual, kind, tokens).values()).backward()
    for layer in range(1, LAYERS):  # the reach makes a difference wherever a deeper loss below the last was felt
        name = f"decoder.model.layers.{layer - 1}.mlp.up_proj.weight"
        same = torch.allclose(usual.get_parameter(name).grad, expected[name])
        assert same == (layer == LAYERS - 1), layer


@pytest.mark.parametrize("kind", KINDS)
def test_each_loss_alone_reaches_its_own_layer_and_readout(kind):
    model, tokens = with_own_layer(build()), some_tokens()
    losses = losses_of(model, kind, tokens)
    for layer in range(1, LAYERS + 1):
        found = torch.autograd.grad(losses[layer], list(model.parameters()), retain_graph=True, allow_unused=True)
        reached = {name for (name, _), gradient in zip(model.named_parameters(), found) if gradient is not None}
        own = {name for name, _ in model.named_parameters() if name.startswith(f"decoder.model.layers.{layer - 1}.")}
        readout = {
            "separate": {f"readouts.{layer}.norm.weight", f"readouts.{layer}.lm_head.weight"},
            "shared": set(OUTPUT),
            "shared_stop_gradient": set(),
        }[kind]
        everything = {name for name, _ in model.named_parameters() if not name.startswith("readouts")}
        assert reached == (everything if layer == LAYERS else own | readout)


def test_the_taps_hold_the_same_numbers():
    tokens = some_tokens()
    for tap, expected in zip(with_own_layer(build())({"tokens": tokens}), build()({"tokens": tokens}), strict=True):
        assert torch.equal(tap, expected)


def test_a_state_of_several_streams_is_detached_as_its_design_says():
    model, tokens = build(), some_tokens()
    model.decoder.design = TwoStreams(model.decoder.config)
    taps = with_own_layer(model)({"tokens": tokens})
    for layer in range(1, LAYERS):
        blocks = [block.mlp.up_proj.weight for block in model.decoder.model.layers]
        found = torch.autograd.grad(taps[layer].sum(), blocks, retain_graph=True, allow_unused=True)
        assert [gradient is not None for gradient in found] == [place == layer for place in range(1, LAYERS + 1)]


def test_training_starts_as_with_the_usual_reach_and_goes_another_way(train):
    def losses(*names):
        settings = {"per_layer_loss": "separate", "gradient_reach": "own_layer"}
        modules = {name: __import__(f"perlayer.algorithms.{name}.settings", fromlist=["Settings"]) for name in names}
        algorithms = [build_algorithm(name, modules[name].Settings(settings[name]), RunContext(0, 6)) for name in names]
        return train(algorithms)[1]

    usual, own = losses("per_layer_loss"), losses("per_layer_loss", "gradient_reach")
    assert usual.keys() == own.keys()
    for reading, values in usual.items():
        assert own[reading][0] == values[0]
        assert own[reading][2:] != values[2:]
    assert usual[Reading(3, "head")][1] != own[Reading(3, "head")][1]


def run_of(**keys):
    return parse_run({"runs": {"mine": {"residual": "sandwich", "readouts": "separate", "seed": 0, **keys}}}, "mine")


def test_a_run_names_it():
    assert run_of(gradient_reach="own_layer").algorithms["gradient_reach"] == Settings("own_layer")


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        (
            {"gradient_reach": "all"},
            "params.yaml: runs.mine.gradient_reach.reach: expected own_layer, found 'all'",
        ),
        (
            {"gradient_reach": "own_layer", "readouts": "probes"},
            "params.yaml: runs.mine.readouts: expected one of separate, shared, shared_stop_gradient with "
            "gradient_reach, found 'probes'",
        ),
        (
            {"gradient_reach": "own_layer", "readouts": "none"},
            "params.yaml: runs.mine.readouts: expected one of separate, shared, shared_stop_gradient with "
            "gradient_reach, found 'none'",
        ),
        (
            {"gradient_reach": "own_layer", "gradient_surgery": "per_token"},
            "params.yaml: runs.mine.gradient_surgery: expected nothing with gradient_reach, where no gradients meet, "
            "found 'per_token'",
        ),
    ],
)
def test_what_cannot_be_is_said_when_params_are_checked(keys, message):
    with pytest.raises(UserError) as error:
        run_of(**keys)
    assert str(error.value) == message
