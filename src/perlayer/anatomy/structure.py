"""Whether weights change steadily from layer to layer: correlations of consecutive deltas, and principal components.

Wietrzykowski 2026 (arXiv 2603.19348), who finds correlations of about -0.50; independent layers give exactly that.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from perlayer.anatomy.matrices import Matrices, in_float64, short_name
from perlayer.anatomy.tables import DeltaCorrelation, WeightComponents
from perlayer.model.initialization import random_stream

SEED = 0


def measure_deltas(name: str, trained: Matrices, initial: Matrices) -> list[DeltaCorrelation]:
    """Correlations of W(l) - W(l-1) with W(l+1) - W(l), over all entries, by kind and the layer l in their middle.

    Beside each stands what independent layers of these variances give, how far it lies from that, and the same before
    training.
    """
    rows = []
    for matrix in trained:
        layers = in_float64(trained[matrix])
        found = zip(
            delta_correlations(layers),
            independent_correlations(layers),
            delta_correlations(in_float64(initial[matrix])),
        )
        rows += [
            DeltaCorrelation(
                name, layer, short_name(matrix), correlation, independent, before, correlation - independent
            )
            for layer, (correlation, independent, before) in enumerate(found, 2)
        ]
    return rows


def measure_components(name: str, trained: Matrices, initial: Matrices) -> list[WeightComponents]:
    """The share of the variance of the layers around their mean that the first principal components explain, by kind.

    Beside each stands that of one normal draw of the norm of each layer, how far it lies from that, and the same before
    training.
    """
    rows = []
    for matrix in trained:
        layers = in_float64(trained[matrix])
        found = map(explained_shares, (layers, drawn_of_equal_norm(layers, matrix), in_float64(initial[matrix])))
        rows += [
            WeightComponents(
                name, short_name(matrix), components, explained, independent, before, explained - independent
            )
            for components, (explained, independent, before) in enumerate(zip(*found), 1)
        ]
    return rows


def delta_correlations(layers: Sequence[Tensor]) -> list[float]:
    """Pearson's correlation of each delta between neighbours with the next, layers - 2 of them.

    Args:
        layers: float64, of one shape; no two neighbours alike.
    """
    deltas = [after - before for before, after in zip(layers, layers[1:])]
    deltas = [delta - delta.mean() for delta in deltas]
    return [(one * two).sum().div(one.norm() * two.norm()).item() for one, two in zip(deltas, deltas[1:])]


def independent_correlations(layers: Sequence[Tensor]) -> list[float]:
    """What `delta_correlations` are expected to be if layers are independent and have the variances of these.

    Both deltas hold the middle layer, with opposite signs: -v2 / sqrt((v1 + v2) (v2 + v3)), -1/2 for equal variances.
    """
    variances = [layer.var().item() for layer in layers]
    return [
        -middle / ((before + middle) * (middle + after)) ** 0.5
        for before, middle, after in zip(variances, variances[1:], variances[2:])
    ]


def explained_shares(layers: Sequence[Tensor]) -> list[float]:
    """The share of the variance over layers that the first 1, 2, ... layers - 1 principal components explain.

    Args:
        layers: float64, of one shape, not all alike; each is one point, its entries the coordinates.
    """
    points = torch.stack([layer.flatten() for layer in layers])
    points -= points.mean(0)
    variances = torch.linalg.eigvalsh(points @ points.T).flip(0).clamp_min(0)  # rising order, and one is 0
    return (variances.cumsum(0) / variances.sum())[:-1].tolist()


def drawn_of_equal_norm(layers: Sequence[Tensor], name: str) -> list[Tensor]:
    """A normal draw for each layer, scaled to its Frobenius norm; `name` tells the draws of several kinds apart."""
    drawn = []
    for number, layer in enumerate(layers):
        draw = torch.randn(layer.shape, generator=random_stream(SEED, f"{number}.{name}"), dtype=torch.float64)
        drawn.append(draw.to(layer.device) * (layer.norm() / draw.norm()))
    return drawn
