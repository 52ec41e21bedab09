"""Manipulations against weights that are moved by hand, and which layers are manipulated."""

import pytest
import torch
from by_hand import decoder_of
from edited import (
    KINDS,
    LENGTH,
    beside,
    means,
    nats_by_hand,
    percent_by_hand,
    settings,
    some_text,
    weights_of,
    with_weights,
)

from perlayer.anatomy.changes import drawn_anew, with_noise
from perlayer.anatomy.manipulation import measure_manipulation, unimportant_layers
from perlayer.anatomy.predictability import predict_layer
from perlayer.depth.tables import Number

LAYER = 2


@pytest.mark.parametrize("kind", KINDS)
def test_weights_go_a_part_of_the_way(kind):
    decoder, by_hand, close = beside(kind)
    chosen = settings()
    own = {
        name.removeprefix("model.layers.1."): weight
        for name, weight in weights_of(by_hand[0]).items()
        if name.startswith("model.layers.1.")
    }

    def of(layer, name):
        return weights_of(by_hand[0])[f"model.layers.{layer - 1}.{name}"]

    # what is drawn and what is predicted is tested elsewhere
    towards = {
        "scale": {name: torch.zeros_like(weight) for name, weight in own.items()},
        "neighbour_interpolation": {name: (of(1, name) + of(3, name)) / 2 for name in own},
        "neighbour_copy": {name: of(1, name) for name in own},
        "noise": with_noise(decoder, LAYER),
        "random": drawn_anew(decoder, LAYER),
        "predicted": predict_layer(decoder, LAYER, chosen),
    }
    before = nats_by_hand([one.run()[2] for one in by_hand])
    expected = {}
    for metric, others in towards.items():
        for strength in chosen.strengths:
            moved = {
                f"model.layers.1.{name}": (1 - strength) * own[name] + strength * other.double()
                for name, other in others.items()
            }
            after = nats_by_hand([with_weights(one, moved).run()[2] for one in by_hand])
            expected[LAYER, None, metric, strength] = percent_by_hand(before, after)
    found = means(measure_manipulation(decoder, some_text(), [LAYER], chosen, 0.99))
    assert found == pytest.approx(expected, rel=50 * close, abs=50 * close)


def test_scaling_by_nine_tenths_is_strength_one_tenth():
    decoder = decoder_of("pre_ln", sequence_length=LENGTH)
    numbers = measure_manipulation(decoder, some_text(), [LAYER], settings(), 0.99)
    before = nats_of(decoder)
    with torch.no_grad():
        for parameter in decoder.model.layers[LAYER - 1].parameters():
            parameter.mul_(0.9)
    assert means(numbers)[LAYER, None, "scale", 0.1] == pytest.approx(percent_by_hand(before, nats_of(decoder)))


def nats_of(decoder):
    """By document, from the decoder's own logits."""
    tokens = some_text().rows[:, :-1]
    return nats_by_hand(torch.softmax(decoder.logits(decoder(tokens)[-1]), -1))


def test_a_model_of_one_layer_has_no_neighbours():
    decoder = decoder_of("pre_ln", layers=1, sequence_length=LENGTH)
    metrics = {one.metric for one in measure_manipulation(decoder, some_text(), [1], settings(), 0.99)}
    assert metrics == {"scale", "noise", "random", "over_scaling"}


def ablation(metric, *degradations):
    """An ablation in which the layers have these means, with intervals of 0.2 around them."""
    return [
        Number(layer, None, metric, stat, mean + shift)
        for layer, mean in enumerate(degradations, 1)
        for stat, shift in (("mean", 0), ("low", -0.2), ("high", 0.2))
    ]


@pytest.mark.parametrize(
    ("degradations", "most", "layers"),
    [
        ((500, 1, 0.5, -3, 30), 9, [4, 3, 2]),  # redundant and anti ones
        ((500, 1, 0.5, -3, 30), 2, [4, 3]),
        ((500, 40, 30, 60), 2, [3]),  # none is redundant: the least important one
    ],
)
def test_unimportant_layers_are_redundant_or_the_least_important(degradations, most, layers):
    others = ablation("skip", *range(-9, 0)) + [Number(1, "mlp", "neighbour_average", "mean", -50.0)]
    assert unimportant_layers([*others, *ablation("neighbour_average", *degradations)], most) == layers


def test_an_only_layer_is_judged_by_skipping():
    assert unimportant_layers(ablation("skip", 700), 3) == [1]
