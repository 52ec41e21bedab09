"""Predictability of weights, held against scikit-learn's ridge regression on features written out in numpy."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from by_hand import decoder_of
from sklearn.linear_model import Ridge
from sklearn.metrics import r2_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from perlayer.anatomy.matrices import initial_matrices, layer_matrices
from perlayer.anatomy.predictability import (
    PENALTIES,
    PENALTY,
    describe,
    measure_predictability,
    neighbour_r2,
    other_orders,
    predict_layer,
    sampled_entries,
    shuffled_r2,
)
from perlayer.anatomy.tables import Predictability
from perlayer.tables import require_fit, table_of

SETTINGS = SimpleNamespace(entries=200)


def related_layers(count=4, shape=(12, 20)):
    """Matrices that each hold something of the one before, and a mean of their own in every row."""
    draw = np.random.default_rng(5)
    layers = [draw.normal(size=shape)]
    for _ in range(count - 1):
        layers.append(0.7 * layers[-1] + 0.5 * draw.normal(size=shape) + draw.normal(size=(shape[0], 1)))
    return layers


def features_by_hand(layers, layer, entries_alone=False):
    """(entries, features) of layer `layer`, from 1."""
    columns = []
    for other in (layer - 1, layer + 1):
        if not 1 <= other <= len(layers):
            continue
        matrix = layers[other - 1]
        columns.append(matrix)
        if not entries_alone:
            for axis in (1, 0):
                for statistic in (matrix.mean(axis, keepdims=True), matrix.std(axis, keepdims=True)):
                    columns.append(np.broadcast_to(statistic, matrix.shape))
    return np.stack([column.ravel() for column in columns], 1)


def fitted(layers, layer, places, penalty=PENALTY, entries_alone=False):
    """scikit-learn's regression, whose penalty is on the sum of squared errors."""
    regression = make_pipeline(StandardScaler(), Ridge(alpha=penalty * len(places), solver="svd"))
    found = features_by_hand(layers, layer, entries_alone)
    return regression.fit(found[places], layers[layer - 1].ravel()[places]), found


def r2_by_hand(layers, layer, halves, **ways):
    regression, found = fitted(layers, layer, halves[0], **ways)
    return r2_score(layers[layer - 1].ravel()[halves[1]], regression.predict(found[halves[1]]))


@pytest.mark.parametrize(("penalty", "entries_alone"), [(PENALTY, False), (0.3, False), (PENALTY, True)])
def test_r2_is_that_of_scikit_learn(penalty, entries_alone):
    layers = related_layers()
    entries = sampled_entries(torch.from_numpy(layers[0]), 150)
    described = describe([torch.from_numpy(layer) for layer in layers], entries)
    halves = entries[:75].numpy(), entries[75:].numpy()
    ways = {"penalty": penalty, "entries_alone": entries_alone}
    expected = [r2_by_hand(layers, layer, halves, **ways) for layer in (1, 2, 3, 4)]
    found = neighbour_r2(described[..., :1] if entries_alone else described, penalty)
    assert found == pytest.approx(expected, rel=1e-9)
    assert min(expected) > 0.1  # so that there is something to predict


def test_a_sample_holds_different_entries_the_same_for_all_matrices():
    matrix = torch.zeros(7, 9)
    for entries, expected in ((20, 20), (1000, 63)):
        found = sampled_entries(matrix, entries).tolist()
        assert len(found) == len(set(found)) == expected and set(found) <= set(range(63))
    assert found != sorted(found) and torch.equal(sampled_entries(matrix, 20), sampled_entries(torch.ones(9, 7), 20))


def test_another_order_takes_other_neighbours():
    walk = [torch.zeros(40, 50, dtype=torch.float64)]
    generator = torch.Generator().manual_seed(1)
    for _ in range(7):  # a random walk: its neighbours know an entry best, and steps further off less
        walk.append(walk[-1] + torch.randn(40, 50, generator=generator, dtype=torch.float64))
    described = describe(walk[1:], sampled_entries(walk[0], 2000))
    ordered, shuffled = neighbour_r2(described), shuffled_r2(described)
    assert np.mean(ordered[1:-1]) > np.mean(shuffled[1:-1]) + 0.05
    # Two layers have the same neighbours in any order.
    assert shuffled_r2(described[:1]) == shuffled_r2(described[:2]) == []


@pytest.mark.parametrize("layers", [3, 4, 6, 12, 30])
def test_in_another_order_no_layer_has_its_own_neighbours(layers):
    orders = other_orders(layers)
    assert len(orders) == 8 and all(sorted(order) == list(range(layers)) for order in orders)
    for order in orders:
        row = [None, *order, None]
        for before, layer, after in zip(row, row[1:], row[2:]):
            own = {other for other in (layer - 1, layer + 1) if 0 <= other < layers}
            assert {before, after} - {None} != own


def test_independent_layers_predict_nothing():
    generator = torch.Generator().manual_seed(2)
    layers = [torch.randn(64, 64, generator=generator, dtype=torch.float64) for _ in range(4)]
    assert neighbour_r2(describe(layers, sampled_entries(layers[0], 4096))) == pytest.approx([0] * 4, abs=0.02)


def test_every_kind_has_its_numbers_beside_its_controls():
    decoder = decoder_of("sandwich", layers=4)
    trained, initial = layer_matrices(decoder), initial_matrices(decoder, seed=4)
    rows = measure_predictability("mine", trained, initial, SETTINGS)
    found = {(row.layer, row.matrix): row for row in rows}
    assert len(found) == len(rows) == 7 * 4
    for kind in ("self_attn.k_proj", "mlp.down_proj"):
        short = kind.split(".")[1]
        for name, matrices, ways in (
            ("r2", trained, [{}]),
            ("initial", initial, [{}]),
            ("entries_alone", trained, [{"entries_alone": True}]),
            ("best_penalty", trained, [{"penalty": penalty} for penalty in PENALTIES]),
            ("worst_penalty", trained, [{"penalty": penalty} for penalty in PENALTIES]),
        ):
            layers = [matrix.double().numpy() for matrix in matrices[f"{kind}.weight"]]
            halves = np.array_split(sampled_entries(torch.from_numpy(layers[0]), 200).numpy(), 2)
            chosen = min if name == "worst_penalty" else max
            expected = [chosen(r2_by_hand(layers, layer, halves, **way) for way in ways) for layer in (1, 2, 3, 4)]
            assert [getattr(found[layer, short], name) for layer in (1, 2, 3, 4)] == pytest.approx(expected)


def test_four_entries_are_enough_for_numbers():
    decoder = decoder_of("sandwich", layers=3)
    matrices = layer_matrices(decoder)
    rows = measure_predictability("mine", matrices, initial_matrices(decoder, seed=4), SimpleNamespace(entries=4))
    assert len(rows) == 7 * 3
    require_fit(Predictability, table_of(Predictability, rows), "here")  # every number is finite


def test_a_predicted_layer_is_that_of_scikit_learn(monkeypatch):
    monkeypatch.setattr("perlayer.anatomy.predictability.ENTRIES_AT_ONCE", 100)
    decoder = decoder_of("pre_ln", layers=3)
    for layer in (1, 2):
        predicted = predict_layer(decoder, layer, SETTINGS)
        block = decoder.model.layers[layer - 1]
        assert set(predicted) == {name for name, parameter in block.named_parameters() if parameter.ndim == 2}
        for name in ("self_attn.v_proj.weight", "mlp.gate_proj.weight"):
            layers = [each.get_parameter(name).numpy() for each in decoder.model.layers]
            places = sampled_entries(torch.from_numpy(layers[0]), 200)[: min(200, layers[0].size) // 2].numpy()
            regression, found = fitted(layers, layer, places)
            expected = regression.predict(found).reshape(layers[0].shape)
            torch.testing.assert_close(predicted[name], torch.from_numpy(expected).float())


def test_one_layer_has_no_neighbours():
    decoder = decoder_of("sandwich", layers=1)
    assert measure_predictability("mine", layer_matrices(decoder), initial_matrices(decoder, 0), SETTINGS) == []
