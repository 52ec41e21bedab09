"""LayerSkip's weights (Elhoushi et al. 2024, section 4.1.2)."""

from __future__ import annotations

NORMALIZED = True


def weight(layer: int, layers: int, *, scale: float = 0.2) -> float:
    """LayerSkip's: scale * (0 + ... + k-1), at the last L-1 + scale * (0 + ... + L-2); then divided by their sum."""
    before = layer - 1  # the source counts layers from 0
    if layer < layers:
        return scale * before * (before + 1) / 2
    return before + scale * (before - 1) * before / 2
