"""One layer alone."""

from __future__ import annotations

from perlayer.errors import require

NORMALIZED = False


def weight(layer: int, layers: int, *, at: int, weight: float) -> float:
    """One layer alone, as LLAL taps the first of its experts (Jin et al. 2026)."""
    require(at < layers, "weighting.at", f"a layer below the last of {layers}", at)
    return weight if layer == at else 0.0
