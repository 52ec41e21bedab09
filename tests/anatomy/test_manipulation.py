"""Manipulations against weights that are moved by hand, and which layers are manipulated."""

import pytest
import torch
from by_hand import decoder_of
from edited import (
    KINDS,
    LENGTH,
    beside,
    degradations,
    nats_by_hand,
    percent_by_hand,
    settings,
    some_text,
    weights_of,
    with_weights,
)

from perlayer.anatomy.categories import category
from perlayer.anatomy.changes import drawn_anew, with_noise
from perlayer.anatomy.manipulation import measure_manipulation, unimportant_layers
from perlayer.anatomy.predictability import predict_layer
from perlayer.anatomy.tables import Ablation

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
    for way, others in towards.items():
        for strength in chosen.strengths:
            moved = {
                f"model.layers.1.{name}": (1 - strength) * own[name] + strength * other.double()
                for name, other in others.items()
            }
            after = nats_by_hand([with_weights(one, moved).run()[2] for one in by_hand])
            expected[LAYER, way, strength] = percent_by_hand(before, after)
    rows, _ = measure_manipulation("mine", decoder, some_text(), [LAYER], chosen, 0.99)
    assert degradations(rows, "layer", "kind", "strength") == pytest.approx(expected, rel=50 * close, abs=50 * close)


def test_scaling_by_nine_tenths_is_strength_one_tenth():
    decoder = decoder_of("pre_ln", sequence_length=LENGTH)
    rows, _ = measure_manipulation("mine", decoder, some_text(), [LAYER], settings(), 0.99)
    before = nats_of(decoder)
    with torch.no_grad():
        for parameter in decoder.model.layers[LAYER - 1].parameters():
            parameter.mul_(0.9)
    found = degradations(rows, "kind", "strength")["scale", 0.1]
    assert found == pytest.approx(percent_by_hand(before, nats_of(decoder)))


def nats_of(decoder):
    """By document, from the decoder's own logits."""
    tokens = some_text().rows[:, :-1]
    return nats_by_hand(torch.softmax(decoder.logits(decoder(tokens)[-1]), -1))


def test_a_model_of_one_layer_has_no_neighbours():
    decoder = decoder_of("pre_ln", layers=1, sequence_length=LENGTH)
    rows, estimates = measure_manipulation("mine", decoder, some_text(), [1], settings(), 0.99)
    assert {row.kind for row in rows} == {"scale", "noise", "random"}
    assert {(row.statistic, row.part) for row in estimates} == {("over_scaling", "noise"), ("over_scaling", "random")}


def ablations(way, *degradations, sublayer=None):
    """An ablation in which the layers have these degradations, with intervals of 0.2 around them."""
    ends = [(percent, percent - 0.2, percent + 0.2) for percent in degradations]
    return [Ablation("mine", layer, sublayer, way, *found, category(*found)) for layer, found in enumerate(ends, 1)]


@pytest.mark.parametrize(
    ("degradations", "most", "layers"),
    [
        ((500, 1, 0.5, -3, 30), 9, [4, 3, 2]),  # redundant and anti ones
        ((500, 1, 0.5, -3, 30), 2, [4, 3]),
        ((500, 40, 30, 60), 2, [3]),  # none is redundant: the least important one
    ],
)
def test_unimportant_layers_are_redundant_or_the_least_important(degradations, most, layers):
    others = ablations("skip", *range(-9, 0)) + ablations("neighbour_average", -50.0, sublayer="mlp")
    assert unimportant_layers([*others, *ablations("neighbour_average", *degradations)], most) == layers


def test_an_only_layer_is_judged_by_skipping():
    assert unimportant_layers(ablations("skip", 700), 3) == [1]
