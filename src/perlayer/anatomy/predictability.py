"""How well the weights of a layer are predicted from those of its neighbours.

Wietrzykowski 2026 (arXiv 2603.19348), who does not publish features, penalty and split; those here are ours.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from statistics import fmean
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from perlayer.anatomy.matrices import Matrices, layer_matrices, neighbours_of, short_name
from perlayer.anatomy.tables import Predictability
from perlayer.depth.ridge import Moments, Ridge
from perlayer.model.decoder import Decoder
from perlayer.model.initialization import random_stream

if TYPE_CHECKING:
    from perlayer.anatomy.settings import AnatomySettings

PENALTY = 1e-3
PENALTIES = (1e-6, 1e-3, 1e-1, 1.0)  # by which it is shown how much R2 hangs on the penalty
SHUFFLES = 8
SEED = 0
ENTRIES_AT_ONCE = 2**20


def measure_predictability(
    name: str, trained: Matrices, initial: Matrices, settings: AnatomySettings
) -> list[Predictability]:
    """R2 of the matrices of each layer, predicted from the layers before and after, on entries that were not fitted.

    - `r2`; `initial` before training; `shuffled` with the layers in another order, mean over eight of them; two layers
      have no other.
    - `entries_alone`: without means and standard deviations of rows and columns.
    - `best_penalty` and `worst_penalty`: the highest and the lowest with the penalties that are tried.

    A model of one layer has no rows.
    """
    rows = []
    for matrix, layers in trained.items():
        entries = sampled_entries(layers[0], settings.entries)
        described = describe(layers, entries)
        by_penalty = [neighbour_r2(described, penalty) for penalty in PENALTIES]
        found = zip(
            neighbour_r2(described),
            neighbour_r2(describe(initial[matrix], entries)),
            shuffled_r2(described) or [None] * len(layers),
            neighbour_r2(described[..., :1]),
            map(max, *by_penalty),
            map(min, *by_penalty),
        )
        rows += [Predictability(name, layer, short_name(matrix), *r2) for layer, r2 in enumerate(found, 1)]
    return rows


def predict_layer(decoder: Decoder, layer: int, settings: AnatomySettings) -> dict[str, Tensor]:
    """What the matrices of one layer are predicted to be, by their name within the layer: float32 (out, in).

    Args:
        layer: from 1; the model has at least two.
    """
    predicted = {}
    for name, layers in layer_matrices(decoder).items():
        target, neighbours = layers[layer - 1], [layers[other - 1] for other in neighbours_of(layer, len(layers))]
        fitted_to, _ = sampled_entries(target, settings.entries).tensor_split(2)
        regression = Regression(_beside(describe(neighbours, fitted_to)), target.flatten()[fitted_to, None], PENALTY)
        entries = torch.arange(target.numel(), device=target.device).split(ENTRIES_AT_ONCE)
        parts = [regression.predict(_beside(describe(neighbours, some))) for some in entries]
        predicted[name] = torch.cat(parts).view_as(target).float()
    return predicted


def sampled_entries(matrix: Tensor, entries: int) -> Tensor:
    """Random places in a matrix, flattened: int64 (entries,), all of them where there are fewer.

    The same for all matrices of as many entries. The first half is fitted to, the second measures.
    """
    return torch.randperm(matrix.numel(), generator=random_stream(SEED, "entries"))[:entries].to(matrix.device)


def describe(layers: Sequence[Tensor], entries: Tensor) -> Tensor:
    """Entries of matrices of one shape, and the rows and columns that they stand in: float64 (layers, entries, 5).

    The entry itself, mean and standard deviation of its row, and of its column.
    """
    width = layers[0].shape[1]
    row, column = entries // width, entries % width
    described = []
    for matrix in layers:
        found = [matrix.flatten()[entries]]
        for dimension, place in ((1, row), (0, column)):
            deviation, mean = torch.std_mean(matrix.double(), dimension, correction=0)
            found += [mean[place], deviation[place]]
        described.append(torch.stack([each.double() for each in found], 1))
    return torch.stack(described)


def _beside(described: Tensor) -> Tensor:
    """Of all layers beside each other: (layers, entries, features) to (entries, layers x features)."""
    return described.transpose(0, 1).flatten(1)


class Regression:
    """Ridge regression on inputs of unit variance, with a free bias.

    Minimises the mean squared error + penalty x the sum of squared weights.
    """

    def __init__(self, inputs: Tensor, outputs: Tensor, penalty: float):
        """Fit to float64 (entries, inputs) and (entries, outputs)."""
        scale = inputs.std(0, correction=0)
        self.scale = torch.where(scale > 0, scale, 1.0)  # what never changes is no more than a bias
        self.penalty = penalty
        moments = Moments()
        moments.add(inputs / self.scale, outputs)
        self.ridge = Ridge(moments)

    def predict(self, inputs: Tensor) -> Tensor:
        """(entries, inputs) to (entries, outputs), float64."""
        return self.ridge.predict(inputs / self.scale, self.penalty)


def neighbour_r2(described: Tensor, penalty: float = PENALTY) -> list[float]:
    """R2 of the entries of every layer, predicted from what `describe` says of its neighbours; none of one layer.

    Args:
        described: float64 (layers, entries, features), the entry first; the second half of the entries measures.
    """
    return r2_of(described, described[..., :1], penalty)[:, 0].tolist() if len(described) > 1 else []


def r2_of(described: Tensor, targets: Tensor, penalty: float = PENALTY) -> Tensor:
    """R2 of several numbers of each entry of every layer, predicted from what `describe` says of its neighbours.

    Args:
        described: as of `neighbour_r2`, of two layers at least.
        targets: float64 (layers, entries, outputs).

    Returns:
        float64 (layers, outputs).
    """
    found = []
    for layer, own in enumerate(targets, 1):
        neighbours = _beside(described[[other - 1 for other in neighbours_of(layer, len(described))]])
        (inputs, others), (outputs, true) = neighbours.tensor_split(2), own.tensor_split(2)
        missed = true - Regression(inputs, outputs, penalty).predict(others)
        found.append(1 - missed.square().sum(0) / (true - true.mean(0)).square().sum(0))
    return torch.stack(found)


def shuffled_r2(described: Tensor) -> list[float]:
    """The same when the neighbours of a layer are others: mean over random orders of the layers; none of two layers."""
    found = [[] for _ in described]
    for order in other_orders(len(described)):
        for place, r2 in zip(order, neighbour_r2(described[order])):
            found[place].append(r2)
    return [fmean(each) for each in found if each]


def other_orders(layers: int) -> list[list[int]]:
    """Random orders of layers, from 0, in which none has the neighbours that it has; two layers have no such order."""
    if layers < 3:
        return []
    own = [set(neighbours_of(layer, layers)) for layer in range(1, layers + 1)]
    draw, orders = random.Random(SEED), []
    while len(orders) < SHUFFLES:
        order = draw.sample(range(layers), layers)
        beside = [{order[place - 1] + 1 for place in neighbours_of(place, layers)} for place in range(1, layers + 1)]
        if all(beside[place] != own[layer] for place, layer in enumerate(order)):
            orders.append(order)
    return orders
