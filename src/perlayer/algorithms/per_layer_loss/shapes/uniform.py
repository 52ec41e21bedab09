"""The same weight at every layer."""

from __future__ import annotations

NORMALIZED = False


def weight(layer: int, layers: int, *, weight: float = 1.0) -> float:
    """The same weight at every layer below the last; weight 1/(L-1) makes them sum to one."""
    return weight
