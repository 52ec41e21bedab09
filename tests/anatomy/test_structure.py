"""Structure over layers, held against numpy, scikit-learn and closed forms."""

import numpy as np
import pytest
import torch
from by_hand import decoder_of, published_twice
from sklearn.decomposition import PCA

from perlayer.anatomy.matrices import initial_matrices, layer_matrices
from perlayer.anatomy.structure import (
    delta_correlations,
    drawn_of_equal_norm,
    explained_shares,
    independent_correlations,
    measure_components,
    measure_deltas,
)
from perlayer.model.decoder import Decoder


def normal(*scales, shape=(200, 300)):
    generator = torch.Generator().manual_seed(3)
    return [scale * torch.randn(shape, generator=generator, dtype=torch.float64) for scale in scales]


def test_independent_layers_have_deltas_that_correlate_at_minus_a_half():
    layers = normal(1, 1, 1, 1, 1)  # cov = -var(W), var = 2 var(W)
    assert delta_correlations(layers) == pytest.approx([-0.5] * 3, abs=0.01)
    assert independent_correlations(layers) == pytest.approx([-0.5] * 3, abs=0.01)


def test_independent_layers_of_unequal_size_have_another_null():
    layers = normal(1, 3, 2)
    closed_form = -9 / np.sqrt((1 + 9) * (9 + 4))
    assert delta_correlations(layers) == pytest.approx([closed_form], abs=0.01)
    assert independent_correlations(layers) == pytest.approx([closed_form], abs=0.01)
    assert abs(closed_form + 0.5) > 0.2


def test_correlations_are_those_of_numpy():
    layers = normal(1, 2, 1, 1, shape=(5, 6))
    layers[1] += 3.0
    deltas = [np.diff(np.stack([one, two]), axis=0).ravel() for one, two in zip(layers, layers[1:])]
    expected = [np.corrcoef(one, two)[0, 1] for one, two in zip(deltas, deltas[1:])]
    assert delta_correlations(layers) == pytest.approx(expected)


def test_layers_on_a_line_have_one_delta_and_one_component():
    start, slope = normal(1, 1, shape=(4, 5))
    layers = [start + layer * slope for layer in range(5)]
    assert delta_correlations(layers) == pytest.approx([1.0] * 3)
    assert explained_shares(layers) == pytest.approx([1.0] * 4)


def test_explained_shares_are_those_of_scikit_learn():
    layers = normal(1, 2, 3, 4, shape=(4, 7))
    expected = PCA(n_components=3).fit(np.stack([layer.numpy().ravel() for layer in layers])).explained_variance_ratio_
    assert explained_shares(layers) == pytest.approx(list(expected.cumsum()))


def test_independent_layers_spread_alike_in_all_directions():
    shares = explained_shares(normal(1, 1, 1, 1, 1, 1))
    assert shares == pytest.approx([1 / 5, 2 / 5, 3 / 5, 4 / 5, 1], abs=0.01)


def test_draws_have_the_norms_of_the_layers_and_nothing_else_of_them():
    layers = [torch.ones(100, 100, dtype=torch.float64), 5 * torch.ones(100, 100, dtype=torch.float64)]
    one, two = drawn_of_equal_norm(layers, "q")
    assert [one.norm().item(), two.norm().item()] == pytest.approx([100, 500])
    assert abs(np.corrcoef(one.ravel(), two.ravel())[0, 1]) < 0.05
    assert not torch.equal(one, drawn_of_equal_norm(layers, "k")[0])


def test_every_kind_has_its_numbers_beside_its_nulls():
    decoder = decoder_of("sandwich", layers=4)
    matrices = layer_matrices(decoder), initial_matrices(decoder, seed=4)
    deltas = {(row.layer, row.matrix): row for row in measure_deltas("mine", *matrices)}
    components = {(row.components, row.matrix): row for row in measure_components("mine", *matrices)}
    assert (len(deltas), len(components)) == (7 * 2, 7 * 3)
    start = Decoder(decoder.config)
    start.initialize(4)
    for model, of_deltas, of_components in ((decoder, "correlation", "explained"), (start, "initial", "initial")):
        layers = [layer.mlp.up_proj.weight.detach().double().numpy().ravel() for layer in model.model.layers]
        expected = np.corrcoef(layers[2] - layers[1], layers[3] - layers[2])[0, 1]
        assert getattr(deltas[3, "up_proj"], of_deltas) == pytest.approx(expected)
        shares = PCA(n_components=3).fit(np.stack(layers)).explained_variance_ratio_
        assert getattr(components[2, "up_proj"], of_components) == pytest.approx(shares[:2].sum())
    assert components[1, "up_proj"].independent < 0.6
    assert all(row.excess == row.correlation - row.independent for row in deltas.values())
    assert all(row.excess == row.explained - row.independent for row in components.values())


def test_few_layers_have_few_numbers():
    decoder = decoder_of("sandwich", layers=2)
    matrices = layer_matrices(decoder), initial_matrices(decoder, 0)
    assert measure_deltas("mine", *matrices) == []
    rows = measure_components("mine", *matrices)
    assert len(rows) == 7 and all(
        (row.explained, row.independent, row.initial) == pytest.approx((1.0, 1.0, 1.0)) for row in rows
    )
    alone = decoder_of("sandwich", layers=1)
    assert measure_components("mine", layer_matrices(alone), initial_matrices(alone, 0)) == []


@pytest.mark.parametrize("kind", ["Llama", "Qwen3"])
def test_a_published_model_starts_from_draws_of_its_own_deviations(kind):
    _, decoder = published_twice(kind, length=12)
    initial, finished = initial_matrices(decoder, seed=1), layer_matrices(decoder)
    assert set(initial) == set(finished) and len(finished) == 7
    for name, layers in finished.items():
        for matrix, start in zip(layers, initial[name]):
            assert start.shape == matrix.shape and not torch.equal(start, matrix)
            assert start.std().item() == pytest.approx(matrix.std().item(), rel=0.3)
            assert abs(np.corrcoef(start.ravel(), matrix.ravel())[0, 1]) < 0.5
