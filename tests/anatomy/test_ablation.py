"""Ablation against models whose weights and sublayers are edited by hand, in float64 or in transformers."""

import duckdb
import pyarrow.parquet as parquet
import pytest
import torch
from edited import (
    KINDS,
    LAYERS,
    LENGTH,
    SEQUENCES,
    beside,
    means,
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
from perlayer.anatomy.importance import importance_of, read_importance
from perlayer.depth.tables import Number, dissections_table
from perlayer.errors import UserError
from perlayer.store import fresh_folder
from perlayer.warehouse import database

PARTS = {None: ("attention", "mlp"), "attention": ("attention",), "mlp": ("mlp",)}


@pytest.fixture(scope="module", params=KINDS)
def model(request):
    decoder, by_hand, close = beside(request.param)
    return by_hand, close, measure_ablation(decoder, some_text(), settings(), 0.99)


def usual(by_hand):
    return nats_by_hand([one.run()[2] for one in by_hand])


def found_of(numbers, metric):
    return {(layer, sublayer): value for (layer, sublayer, name, _), value in means(numbers).items() if name == metric}


def test_a_layer_with_its_neighbours_average(model):
    by_hand, close, numbers = model
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
    assert found_of(numbers, "neighbour_average") == pytest.approx(expected, rel=30 * close)


def test_skipping_and_the_mean_over_all_tokens(model):
    by_hand, close, numbers = model
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
    assert found_of(numbers, "skip") == pytest.approx(skip, rel=30 * close)
    assert found_of(numbers, "mean_ablation") == pytest.approx(mean, rel=30 * close)


def test_the_model_as_it_is(model):
    by_hand, close, numbers = model
    whole = {one.metric: one for one in numbers if one.sublayer == "head"}
    assert {(one.layer, one.stat) for one in whole.values()} == {(LAYERS, "single")}
    assert whole["log_perplexity"].value == pytest.approx(sum(usual(by_hand)) / (SEQUENCES * LENGTH), rel=close)
    assert (whole["documents"].value, whole["targets"].value) == (5, SEQUENCES * LENGTH)


def test_every_degradation_has_an_interval_around_it(model):
    _, _, numbers = model
    by_stat = {stat: [one.value for one in numbers if one.stat == stat] for stat in ("low", "mean", "high")}
    assert len(by_stat["mean"]) == LAYERS * 7
    assert all(low <= mean <= high for low, mean, high in zip(*by_stat.values(), strict=True))


def test_importance_is_the_degradation_of_each_layer_in_order(model, tmp_path):
    by_hand, _, numbers = model
    table = dissections_table("mine", "tiny", {"ablation": list(reversed(numbers))})
    expected = [found_of(numbers, "neighbour_average")[layer, None] for layer in range(1, LAYERS + 1)]
    assert importance_of(table).importance == expected
    with fresh_folder(tmp_path / "anatomy") as folder:
        parquet.write_table(table, folder / "anatomy.parquet")
    assert read_importance(tmp_path / "anatomy") == importance_of(table)
    short = [one for one in numbers if one.layer != 2]
    with pytest.raises(UserError, match=r"expected the degradation .* of each layer from 1, found layers \[1, 3\]"):
        importance_of(dissections_table("mine", "tiny", {"ablation": short}))
    with pytest.raises(UserError, match=r"found layers \[\]"):
        importance_of(dissections_table("mine", "tiny", {"other": numbers}))


def test_layers_that_do_harm_beyond_doubt_are_excluded():
    # mean, low and high by layer: below -0.5 with an interval without 0; below -0.5 with one around it; barely harmful
    degradation = {1: (-2.0, -3.0, -1.0), 2: (-2.0, -5.0, 1.0), 3: (-0.4, -0.45, -0.35), 4: (50.0, 40.0, 60.0)}
    numbers = [
        Number(layer, None, "neighbour_average", stat, value)
        for layer, values in degradation.items()
        for stat, value in zip(("mean", "low", "high"), values)
    ]
    found = importance_of(dissections_table("mine", "tiny", {"ablation": numbers}))
    assert (found.importance, found.excluded) == ([-2.0, -2.0, -0.4, 50.0], [1])


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


def test_queries_call_layers_by_the_same_thresholds():
    connection = duckdb.connect()
    database.create(connection)
    database.create_views(connection)
    for degradation, name in CATEGORIES:
        assert connection.execute("SELECT importance(?, ?, ?)", degradation).fetchone() == (name,)


def test_a_model_of_one_layer_has_no_neighbours():
    from by_hand import decoder_of

    decoder = decoder_of("pre_ln", layers=1, sequence_length=LENGTH)
    numbers = measure_ablation(decoder, some_text(), settings(), 0.99)
    assert {one.metric for one in numbers} == {"skip", "mean_ablation", "log_perplexity", "documents", "targets"}
    assert all(isinstance(one, Number) for one in numbers)
    # nor an average of them: it is as important as skipping it says
    skipped = found_of(numbers, "skip")[1, None]
    assert importance_of(dissections_table("mine", "tiny", {"ablation": numbers})).importance == [skipped]
