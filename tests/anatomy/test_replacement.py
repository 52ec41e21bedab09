"""Layers replaced by what their neighbours predict, against models whose weights are replaced by hand."""

import pytest
from edited import (
    KINDS,
    LAYERS,
    beside,
    means,
    nats_by_hand,
    percent_by_hand,
    settings,
    some_text,
    weights_of,
    with_weights,
)

from perlayer.anatomy.predictability import predict_layer
from perlayer.anatomy.replacement import best_predicted, measure_replacement
from perlayer.depth.tables import Number


def r2(layer, matrix, value, metric="r2"):
    return Number(layer, matrix, metric, "single", value)


# means of 0.3, 0.1 and 0.2 over two kinds of matrix; what is no r2 counts for nothing
PREDICTABILITY = [
    *(r2(1, matrix, value) for matrix, value in (("q_proj", 0.6), ("gate_proj", 0.0))),
    *(r2(2, matrix, 0.1) for matrix in ("q_proj", "gate_proj")),
    *(r2(3, matrix, value) for matrix, value in (("q_proj", -0.1), ("gate_proj", 0.5))),
    r2(2, "q_proj", 0.99, "r2_initial"),
]


def test_the_best_predicted_come_first():
    assert best_predicted(PREDICTABILITY) == [1, 3, 2]
    assert best_predicted([]) == []


@pytest.mark.parametrize("kind", KINDS)
def test_ever_more_layers_are_replaced(kind):
    decoder, by_hand, close = beside(kind)
    found = means(measure_replacement(decoder, some_text(), PREDICTABILITY, settings(), 0.99))
    before = nats_by_hand([one.run()[2] for one in by_hand])
    changed, expected = {}, {}
    for count, layer in enumerate([1, 3, 2], 1):
        own = weights_of(by_hand[0])
        for name, matrix in predict_layer(decoder, layer, settings()).items():
            place = f"model.layers.{layer - 1}.{name}"
            changed[place] = matrix.to(own[place])
        after = nats_by_hand([with_weights(one, dict(changed)).run()[2] for one in by_hand])
        expected[layer, None, "replaced", float(count)] = percent_by_hand(before, after)
    assert found == pytest.approx(expected, rel=30 * close) and len(found) == LAYERS
