"""How well the weights of a layer are predicted from those of its neighbours.

Wietrzykowski 2026 (arXiv 2603.19348), who does not publish features, penalty and split; those here are ours.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from perlayer.anatomy.matrices import Matrices, in_float64, layer_matrices, short_name
from perlayer.depth.ridge import Moments, Ridge
from perlayer.depth.tables import SINGLE, Number
from perlayer.model.decoder import Decoder
from perlayer.model.initialization import random_stream

if TYPE_CHECKING:
    from perlayer.anatomy.settings import AnatomySettings

PENALTY = 1e-3
PENALTIES = (1e-6, 1e-3, 1e-1, 1.0)  # by which it is shown how much R2 hangs on the penalty
SHUFFLES = 8
SEED = 0
ENTRIES_AT_ONCE = 2**20


def measure_predictability(trained: Matrices, initial: Matrices, settings: AnatomySettings) -> list[Number]:
    """R2 of the matrices of each layer, predicted from the layers before and after, on entries that were not fitted.

    - `r2`; `r2_initial` before training; `r2_shuffled` with the layers in another order, mean over eight of them.
    - `r2_entries_alone`: without means and standard deviations of rows and columns.
    - `r2_by_penalty`: with the penalty `strength`.

    A model of one layer has no numbers.
    """
    numbers = []
    for name in trained:
        layers, untrained = in_float64(trained[name]), in_float64(initial[name])
        entries = sampled_entries(layers[0], settings.entries)
        found = {
            ("r2", SINGLE, None): neighbour_r2(layers, entries),
            ("r2_initial", SINGLE, None): neighbour_r2(untrained, entries),
            ("r2_shuffled", "mean", None): shuffled_r2(layers, entries),
            ("r2_entries_alone", SINGLE, None): neighbour_r2(layers, entries, entries_alone=True),
        }
        for penalty in PENALTIES:
            found["r2_by_penalty", SINGLE, penalty] = neighbour_r2(layers, entries, penalty)
        for (metric, stat, strength), values in found.items():
            numbers += [
                Number(layer, short_name(name), metric, stat, value, strength=strength)
                for layer, value in enumerate(values, 1)
            ]
    return numbers


def predict_layer(decoder: Decoder, layer: int, settings: AnatomySettings) -> dict[str, Tensor]:
    """What the matrices of one layer are predicted to be, by their name within the layer: float32 (out, in).

    Args:
        layer: from 1; the model has at least two.
    """
    predicted = {}
    for name, layers in layer_matrices(decoder).items():
        target, neighbours = layers[layer - 1].double(), in_float64(neighbours_of(layers, layer))
        fitted_to, _ = sampled_entries(target, settings.entries)
        prediction = fit(target, neighbours, fitted_to, PENALTY)
        entries = torch.arange(target.numel(), device=target.device).split(ENTRIES_AT_ONCE)
        predicted[name] = torch.cat([prediction.of(some) for some in entries]).view_as(target).float()
    return predicted


def sampled_entries(matrix: Tensor, entries: int) -> tuple[Tensor, Tensor]:
    """Which entries of a matrix, flattened, are fitted to, and which measure: int64, halves of a random sample.

    The sample is the same for all matrices of as many entries; all of them where there are fewer.
    """
    order = torch.randperm(matrix.numel(), generator=random_stream(SEED, "entries"))[:entries].to(matrix.device)
    return order.tensor_split(2)


def neighbours_of(layers: Sequence[Tensor], layer: int) -> list[Tensor]:
    """The matrices before and after that of a layer, from 1; the first and the last layer have one neighbour."""
    return [layers[other - 1] for other in (layer - 1, layer + 1) if 1 <= other <= len(layers)]


@dataclass(frozen=True, eq=False)
class Prediction:
    """A matrix as a ridge regression on features of its neighbours, each brought to unit variance."""

    ridge: Ridge
    penalty: float
    neighbours: Sequence[Tensor]
    scale: Tensor
    entries_alone: bool

    def of(self, entries: Tensor) -> Tensor:
        """The predicted entries, float64, at places int64 in the flattened matrix."""
        found = features(self.neighbours, entries, self.entries_alone)
        return self.ridge.predict(found / self.scale, self.penalty)[:, 0]


def fit(
    target: Tensor, neighbours: Sequence[Tensor], entries: Tensor, penalty: float, entries_alone: bool = False
) -> Prediction:
    """Predict `target` from `neighbours`, float64 of one shape, fitted to some of its entries.

    Minimises the mean squared error + penalty x the sum of squared weights; the bias is free.
    """
    found = features(neighbours, entries, entries_alone)
    scale = found.std(0, correction=0)
    scale = torch.where(scale > 0, scale, 1.0)  # a feature that never changes is no more than a bias
    moments = Moments()
    moments.add(found / scale, target.flatten()[entries][:, None])
    return Prediction(Ridge(moments), penalty, neighbours, scale, entries_alone)


def features(neighbours: Sequence[Tensor], entries: Tensor, entries_alone: bool = False) -> Tensor:
    """What is known of some entries from neighbours: float64 (entries, features).

    For each neighbour its own entry there, and mean and standard deviation of its row and of its column there.
    """
    found = []
    for matrix in neighbours:
        found.append(matrix.flatten()[entries])
        if not entries_alone:
            row, column = entries // matrix.shape[1], entries % matrix.shape[1]
            for dimension, place in ((1, row), (0, column)):
                found += [matrix.mean(dimension)[place], matrix.std(dimension, correction=0)[place]]
    return torch.stack(found, 1)


def neighbour_r2(
    layers: Sequence[Tensor], entries: tuple[Tensor, Tensor], penalty: float = PENALTY, entries_alone: bool = False
) -> list[float]:
    """R2 of every layer predicted from its neighbours; none where there is but one layer.

    Args:
        layers: float64, of one shape.
        entries: those that are fitted to, and those that R2 is of.
    """
    if len(layers) < 2:
        return []
    fitted_to, measured = entries
    found = []
    for layer, target in enumerate(layers, 1):
        predicted = fit(target, neighbours_of(layers, layer), fitted_to, penalty, entries_alone).of(measured)
        true = target.flatten()[measured]
        found.append(1 - ((true - predicted).square().sum() / (true - true.mean()).square().sum()).item())
    return found


def shuffled_r2(layers: Sequence[Tensor], entries: tuple[Tensor, Tensor]) -> list[float]:
    """R2 of every layer when its neighbours are others, mean over random orders of the layers."""
    draw, found = random.Random(SEED), [[] for _ in layers]
    for _ in range(SHUFFLES):
        order = draw.sample(range(len(layers)), len(layers))
        for place, r2 in zip(order, neighbour_r2([layers[place] for place in order], entries)):
            found[place].append(r2)
    return [fmean(each) for each in found if each]
