"""Ablation against models whose weights and sublayers are edited by hand, in float64 or in transformers."""

import pytest
import torch
from edited import (
    KINDS,
    LAYERS,
    LENGTH,
    beside,
    degradations,
    nats_by_hand,
    percent_by_hand,
    settings,
    some_text,
    weights_of,
    with_outputs,
    with_weights,
)

from perlayer.anatomy.ablation import measure_ablation
from perlayer.anatomy.categories import category
from perlayer.anatomy.importance import Importance, of_layers, read_importance
from perlayer.anatomy.tables import TABLES, Ablation
from perlayer.store import fresh_folder
from perlayer.tables import write_tables

PARTS = {None: ("attention", "mlp"), "attention": ("attention",), "mlp": ("mlp",)}


@pytest.fixture(scope="module", params=KINDS)
def model(request):
    decoder, by_hand, close = beside(request.param)
    rows, _ = measure_ablation("mine", decoder, some_text(), settings(), 0.99)
    return by_hand, close, rows


def usual(by_hand):
    return nats_by_hand([one.run()[2] for one in by_hand])


def found_of(rows, way):
    return degradations([row for row in rows if row.way == way], "layer", "sublayer")


def test_a_layer_with_its_neighbours_average(model):
    by_hand, close, rows = model
    expected = {}
    for layer in range(1, LAYERS + 1):
        weights, place = weights_of(by_hand[0]), f"model.layers.{layer - 1}."
        changed = {}
        for name in weights:
            if name.startswith(place):
                places = [f"model.layers.{other}." for other in (layer - 2, layer) if 0 <= other < LAYERS]
                changed[name] = sum(weights[name.replace(place, other)] for other in places) / len(places)
        after = nats_by_hand([with_weights(one, changed).run()[2] for one in by_hand])
        expected[layer, None] = percent_by_hand(usual(by_hand), after)
    assert found_of(rows, "neighbour_average") == pytest.approx(expected, rel=30 * close)


def test_skipping_and_the_mean_over_all_tokens(model):
    by_hand, close, rows = model
    given = {}

    def remember(layer, kind, output):
        given.setdefault((layer, kind), []).append(output)
        return output

    for one in by_hand:
        with_outputs(one, remember)
    average = {place: torch.cat(outputs).mean(0) for place, outputs in given.items()}
    skip, mean = {}, {}
    for layer in range(1, LAYERS + 1):
        for sublayer, kinds in PARTS.items():
            for expected, by in ((skip, lambda place: 0.0), (mean, average.get)):

                def replaced(where, kind, output, layer=layer, kinds=kinds, by=by):
                    hit = where == layer and kind in kinds
                    return torch.zeros_like(output) + by((where, kind)) if hit else output

                after = nats_by_hand([with_outputs(one, replaced) for one in by_hand])
                expected[layer, sublayer] = percent_by_hand(usual(by_hand), after)
    assert found_of(rows, "skip") == pytest.approx(skip, rel=30 * close)
    assert found_of(rows, "mean_ablation") == pytest.approx(mean, rel=30 * close)


def test_every_degradation_has_an_interval_around_it(model):
    _, _, rows = model
    assert len(rows) == LAYERS * 7
    assert all(row.low <= row.degradation <= row.high for row in rows)
    assert all(row.category == category(row.degradation, row.low, row.high) for row in rows)


def test_importance_is_the_degradation_of_each_layer_in_order(model, tmp_path):
    _, _, rows = model
    expected = [found_of(rows, "neighbour_average")[layer, None] for layer in range(1, LAYERS + 1)]
    with fresh_folder(tmp_path / "anatomy/mine") as folder:
        write_tables(TABLES, {"ablations": reversed(rows)}, folder)
    assert read_importance(tmp_path / "anatomy/mine").importance == expected


def test_layers_that_do_harm_beyond_doubt_are_excluded(tmp_path):
    rows = [
        Ablation("mine", layer, None, "neighbour_average", percent, percent - 1, percent + 1, name)
        for layer, percent, name in ((1, -2.0, "anti"), (2, -0.6, "redundant"), (3, 50.0, "important"))
    ]
    rows.append(Ablation("mine", 2, "mlp", "neighbour_average", -9.0, -10.0, -8.0, "anti"))
    with fresh_folder(tmp_path / "anatomy/mine") as folder:
        write_tables(TABLES, {"ablations": rows}, folder)
    assert read_importance(tmp_path / "anatomy/mine") == Importance([-2.0, -0.6, 50.0], [1])


CATEGORIES = [
    ((100, 90, 110), "critical"),
    ((99.9, 90, 110), "important"),
    ((20, 19, 21), "important"),
    ((19.9, 19, 21), "minor"),
    ((2, 1, 3), "minor"),
    ((1.9, 1, 3), "redundant"),
    ((-0.5, -0.6, -0.4), "redundant"),
    ((-0.6, -1.3, 0.1), "redundant"),  # which may be no harm at all
    ((-0.6, -1.2, 0), "redundant"),
    ((-0.6, -0.8, -0.1), "anti"),
]


@pytest.mark.parametrize(("degradation", "name"), CATEGORIES)
def test_categories_have_their_thresholds(degradation, name):
    assert category(*degradation) == name


def test_a_model_of_one_layer_has_no_neighbours():
    from by_hand import decoder_of

    decoder = decoder_of("pre_ln", layers=1, sequence_length=LENGTH)
    rows, estimates = measure_ablation("mine", decoder, some_text(), settings(), 0.99)
    assert {row.way for row in rows} == {"skip", "mean_ablation"} and estimates == []
    # nor an average of them: it is as important as skipping it says
    assert [row.degradation for row in of_layers(rows)] == [found_of(rows, "skip")[1, None]]
