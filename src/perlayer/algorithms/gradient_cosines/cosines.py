"""Gradients of several losses over the same layers beside that of the first, as pure functions."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

# Of each layer, of each of its parameters; None where the loss does not depend on it.
Gradient = list[list[Tensor | None]]


@dataclass(frozen=True)
class Comparison:
    """What one gradient is beside another: an entry a layer, and one for all layers together at the end."""

    norms: list[float]  # 0 where the loss does not reach the layer
    cosines: list[float]  # nan where either gradient is 0


@dataclass(frozen=True)
class Comparisons:
    """Every gradient beside the first."""

    each: list[Comparison]  # in the order of the losses, the first included
    summed: Comparison | None  # the sum of all but the first; None where there is but one


def compare_gradients(losses: Iterable[Tensor], layers: Sequence[nn.Module]) -> Comparisons:
    """Compare the gradients of `losses` over the parameters of `layers` with that of the first loss.

    Nothing is accumulated into `.grad`. Losses are taken one at a time, each differentiated before the next is asked
    for, so that a generator may form and release them on the way; only two gradients and the sum are held at once.

    Args:
        losses: scalars that may share their graph, which is kept.
        layers: the modules whose parameters count, each parameter in one of them.
    """
    parameters = [list(layer.parameters()) for layer in layers]
    first: Gradient | None = None
    total: Gradient | None = None
    each = []
    for loss in losses:
        gradient = _gradient(loss, parameters)
        if first is None:
            first, first_squares = gradient, _products(gradient, gradient)
        else:
            total = gradient if total is None else _sum(total, gradient)
        each.append(_beside(gradient, first, first_squares))
        del loss, gradient
    return Comparisons(each, None if total is None else _beside(total, first, first_squares))


def _gradient(loss: Tensor, parameters: list[list[nn.Parameter]]) -> Gradient:
    flat = [parameter for some in parameters for parameter in some]
    found = iter(torch.autograd.grad(loss, flat, retain_graph=True, allow_unused=True))
    return [[next(found) for _ in some] for some in parameters]


def _sum(first: Gradient, second: Gradient) -> Gradient:
    def plus(one: Tensor | None, other: Tensor | None) -> Tensor | None:
        return one if other is None else other if one is None else one + other

    return [[plus(one, other) for one, other in zip(*some)] for some in zip(first, second)]


def _products(first: Gradient, second: Gradient) -> Tensor:
    """Inner products in each layer and, at the end, over all: (layers + 1,), float64."""
    device = next((one.device for some in first for one in some if one is not None), None)
    products = torch.zeros(len(first) + 1, dtype=torch.float64, device=device)
    for place, some in enumerate(zip(first, second)):
        for one, other in zip(*some):
            if one is not None and other is not None:
                products[place] += torch.dot(one.double().flatten(), other.double().flatten())
    products[-1] = products.sum()
    return products


def _beside(gradient: Gradient, first: Gradient, first_squares: Tensor) -> Comparison:
    squares, products = _products(gradient, gradient), _products(gradient, first)
    norms = squares.sqrt()
    cosines = products / (norms * first_squares.sqrt())  # 0 / 0 is nan
    return Comparison(norms.tolist(), [_within_one(cosine) for cosine in cosines.tolist()])


def _within_one(cosine: float) -> float:
    """The cosine without what rounding has put beyond 1."""
    return cosine if math.isnan(cosine) else min(1.0, max(-1.0, cosine))
