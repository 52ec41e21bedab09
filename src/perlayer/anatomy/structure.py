"""Whether weights change steadily from layer to layer: correlations of consecutive deltas, and principal components.

Wietrzykowski 2026 (arXiv 2603.19348), who finds correlations of about -0.50; independent layers give exactly that.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from perlayer.anatomy.matrices import Matrices, in_float64, short_name
from perlayer.depth.tables import SINGLE, Number
from perlayer.model.initialization import random_stream

SEED = 0


def measure_structure(trained: Matrices, initial: Matrices) -> list[Number]:
    """Correlations of consecutive deltas and the variance over layers that principal components explain, by kind.

    - `delta_correlation`: of W(l) - W(l-1) with W(l+1) - W(l), over all entries, at the layer l in their middle.
    - `explained_share`: of the variance of the layers around their mean, by the first `strength` principal components;
      at the last layer.

    Beside each `NAME_initial`, before training, and `NAME_independent`, what independent layers of these sizes give:
    from the variances of the layers, and from one normal draw of the norm of each.
    """
    numbers = []
    for name in trained:
        layers, untrained = in_float64(trained[name]), in_float64(initial[name])
        independent = drawn_of_equal_norm(layers, name)
        found = {
            "delta_correlation": delta_correlations(layers),
            "delta_correlation_initial": delta_correlations(untrained),
            "delta_correlation_independent": independent_correlations(layers),
        }
        for metric, values in found.items():
            numbers += [Number(layer, short_name(name), metric, SINGLE, value) for layer, value in enumerate(values, 2)]
        shares = {"": layers, "_initial": untrained, "_independent": independent}
        for suffix, some in shares.items():
            for components, share in enumerate(explained_shares(some), 1):
                metric, place = f"explained_share{suffix}", len(layers)
                numbers.append(Number(place, short_name(name), metric, SINGLE, share, strength=float(components)))
    return numbers


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
