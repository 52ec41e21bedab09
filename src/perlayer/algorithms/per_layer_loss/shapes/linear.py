"""Weights that rise in a line."""

from __future__ import annotations

NORMALIZED = False


def weight(layer: int, layers: int, *, weight: float = 1.0) -> float:
    """Rises with depth, weight * 2k/L: the mean weight of layers 1 to L-1 is `weight` (Chai 2026)."""
    return weight * 2 * layer / layers
