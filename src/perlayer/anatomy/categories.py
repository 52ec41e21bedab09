"""How important a layer is called, by how much its ablation degrades perplexity.

The names are those of Wietrzykowski 2026 (arXiv 2603.19348), who does not state thresholds; these are ours.
"""

from __future__ import annotations

CRITICAL, IMPORTANT, MINOR, ANTI = 100.0, 20.0, 2.0, -0.5  # percent


def category(degradation: float, low: float, high: float) -> str:
    """critical, important, minor, redundant or anti, which is a layer that does harm beyond doubt.

    Args:
        degradation: of perplexity in percent; `low` and `high` are the ends of its interval.
    """
    if degradation < ANTI and not low <= 0 <= high:
        return "anti"
    for name, least in (("critical", CRITICAL), ("important", IMPORTANT), ("minor", MINOR)):
        if degradation >= least:
            return name
    return "redundant"
