"""Early exits weighted by the square root of their number."""

from __future__ import annotations

import math

NORMALIZED = True


def weight(layer: int, layers: int, *, scale: float = 1.0) -> float:
    """The square root of k, times scale below the last; then divided by their sum."""
    return (scale if layer < layers else 1.0) * math.sqrt(layer)
