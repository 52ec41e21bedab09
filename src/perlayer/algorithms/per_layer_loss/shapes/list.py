"""Weights as they are listed."""

from __future__ import annotations

from perlayer.errors import require

NORMALIZED = False


def weight(layer: int, layers: int, *, weights: list[float]) -> float:
    """Any L-1 weights, one for each layer below the last."""
    expected = f"{layers - 1} numbers, one for each layer below the last"
    require(len(weights) == layers - 1, "weighting.weights", expected, weights)
    return weights[layer - 1] if layer < layers else 1.0
