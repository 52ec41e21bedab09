"""Layers replaced by what their neighbours predict, against models whose weights are replaced by hand."""

import pytest
from edited import (
    KINDS,
    LAYERS,
    beside,
    degradations,
    nats_by_hand,
    percent_by_hand,
    settings,
    some_text,
    weights_of,
    with_weights,
)

from perlayer.anatomy.predictability import predict_layer
from perlayer.anatomy.replacement import best_predicted, measure_replacement
from perlayer.anatomy.tables import Predictability

# means of 0.3, 0.1 and 0.2 over two kinds of matrix; what is no r2 counts for nothing
R2 = {"q_proj": (0.6, 0.1, -0.1), "gate_proj": (0.0, 0.1, 0.5)}
PREDICTABILITY = [
    Predictability("mine", layer, matrix, r2, *[0.9 * layer] * 5)
    for matrix, found in R2.items()
    for layer, r2 in enumerate(found, 1)
]


def test_the_best_predicted_come_first():
    assert best_predicted(PREDICTABILITY) == [1, 3, 2]
    assert best_predicted([]) == []


@pytest.mark.parametrize("kind", KINDS)
def test_ever_more_layers_are_replaced(kind):
    decoder, by_hand, close = beside(kind)
    rows, _ = measure_replacement("mine", decoder, some_text(), PREDICTABILITY, settings(), 0.99)
    before = nats_by_hand([one.run()[2] for one in by_hand])
    changed, expected = {}, {}
    for count, layer in enumerate([1, 3, 2], 1):
        own = weights_of(by_hand[0])
        for name, matrix in predict_layer(decoder, layer, settings()).items():
            place = f"model.layers.{layer - 1}.{name}"
            changed[place] = matrix.to(own[place])
        after = nats_by_hand([with_weights(one, dict(changed)).run()[2] for one in by_hand])
        expected[layer, count] = percent_by_hand(before, after)
    assert degradations(rows, "layer", "replaced") == pytest.approx(expected, rel=30 * close) and len(rows) == LAYERS
