"""Which layers train in which updates: the source's six stages by relative depth, or stages by importance.

Wietrzykowski 2026 (arXiv 2603.19348), whose text gives the layers of a 12-layer model and some of the lengths; what it
leaves open is ours, see README.md.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import accumulate

from perlayer.algorithms.growth.settings import Settings

# The source's stages: which part of the depth, in twelfths, and which share of the updates (its 30, 20, 20 and 15 %;
# what is left is shared out by us). Redundant layers, those that no stage before took, and the whole come last.
SIX_STAGES = ((4, 6, 0.30), (1, 3, 0.20), (8, 10, 0.20), (7, 11, 0.10))
REDUNDANT_SHARE = 0.05
SHARES_BY_IMPORTANCE = (0.30, 0.20, 0.20, 0.10, 0.05)  # the same, from the most important layers to the least


@dataclass(frozen=True)
class Stage:
    """Some layers, and the updates in which they alone train; no layers: the whole model."""

    layers: tuple[int, ...]
    start: int  # its first update, from 0


def plan_stages(settings: Settings, layers: int, steps: int) -> tuple[Stage, ...]:
    """The stages of a run of `steps` updates of a model of `layers` layers; the last one is the whole.

    A stage that would be shorter than an update, or have no layer, is left out, and its updates go to the last.
    """
    stages, start = [], 0
    for members, share in _shares(settings, layers):
        length = round(share * steps)
        if members and length and start + length < steps:
            stages.append(Stage(tuple(sorted(members)), start))
            start += length
    return (*stages, Stage((), start))


def by_importance(importance: Sequence[float], excluded: Collection[int]) -> Settings:
    """Stages written out: from the most important layers to the least, each layer in one of them.

    Args:
        importance: of each layer from 1, what a finished model loses without it.
        excluded: layers that wait for the last stage.
    """
    ranked = [layer for layer in range(1, len(importance) + 1) if layer not in excluded]
    ranked.sort(key=lambda layer: (-importance[layer - 1], layer))
    count = min(len(SHARES_BY_IMPORTANCE), len(ranked))
    each, more = divmod(len(ranked), max(1, count))
    ends = [0, *accumulate(each + (place < more) for place in range(count))]
    stages = [
        {"layers": sorted(ranked[low:high]), "share": share}
        for low, high, share in zip(ends, ends[1:], SHARES_BY_IMPORTANCE)
    ]
    return Settings(stages=stages, excluded=sorted(excluded))


def _shares(settings: Settings, layers: int) -> list[tuple[list[int], float]]:
    if settings.stages is not None:
        return [(stage["layers"], stage["share"]) for stage in settings.stages]
    found = [(_between(low, high, layers), share) for low, high, share in SIX_STAGES]
    taken = {layer for members, _ in found for layer in members}
    found.append(([layer for layer in range(1, layers + 1) if layer not in taken], REDUNDANT_SHARE))
    excluded = settings.excluded or ()
    return [([layer for layer in members if layer not in excluded], share) for members, share in found]


def _between(low: int, high: int, layers: int) -> list[int]:
    """The layers whose middle lies from `low` to below `high` twelfths of the depth, at least the nearest."""
    # whole numbers: layer k reaches from (k - 1) / layers to k / layers, so its middle is (2 k - 1) / (2 layers)
    middles = {layer: 12 * (2 * layer - 1) for layer in range(1, layers + 1)}
    found = [layer for layer, middle in middles.items() if 2 * layers * low <= middle < 2 * layers * high]
    return found or [min(middles, key=lambda layer: abs(middles[layer] - layers * (low + high)))]
