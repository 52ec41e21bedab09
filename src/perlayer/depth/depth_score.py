"""How deep a model computes, as single numbers.

Depth score: Csordas, Manning, Potts 2025, figure 7 (arXiv 2505.13898). Effective depth: arXiv 2512.14064.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean

from perlayer.depth.interventions import SUBLAYERS
from perlayer.depth.tables import Contribution, DepthScore, EffectiveDepth, OutputEffect, ResidualLens, SkipEffect

KL_SHARE = 0.5  # of the greatest divergence
OVERLAP = 0.2  # of the five likeliest tokens
LEAST_LAYERS = 3  # of a model with a depth score: the last changes no later token, so that of two it is always 1


def effective_depth(name: str, contributions: Sequence[Contribution], lens: Sequence[ResidualLens]) -> EffectiveDepth:
    """The effective depths of the model `name`, in layers from 1, from what other analyses have found."""
    layers = len(lens) - 1
    angles = {(row.layer, row.sublayer): row.cosine for row in contributions}
    inputs = sorted(lens, key=lambda row: row.layer)[:-1]
    return EffectiveDepth(
        name,
        layers,
        cosine=cosine_depth([fmean(angles[n, part] for part in (None, *SUBLAYERS)) for n in range(1, layers + 1)]),
        kl=kl_depth([row.kl_lens_final for row in inputs]),
        overlap=overlap_depth([row.top5_overlap for row in inputs]),
    )


def depth_scores(
    name: str, layers: int, effects: Sequence[SkipEffect], outputs: Sequence[OutputEffect]
) -> list[DepthScore]:
    """The depth scores of the model `name`, in layers from 1, by what was skipped and the stat of its effects.

    There are none of models of fewer than `LEAST_LAYERS`.
    """
    rows = []
    asked = {(row.sublayer, row.stat): None for row in outputs if row.sublayer in (None, *SUBLAYERS)}
    for sublayer, stat in asked if layers >= LEAST_LAYERS else ():
        pairs = {
            (row.layer, row.later_layer): row.effect_future
            for row in effects
            if (row.sublayer, row.stat) == (sublayer, stat) and row.effect_future is not None
        }
        predictions = {
            row.layer: row.output_effect_future
            for row in outputs
            if (row.sublayer, row.stat) == (sublayer, stat) and row.output_effect_future is not None
        }
        scores = depth_score(mean_effects(pairs, layers)), depth_score(predictions)
        if any(score is not None for score in scores):
            rows.append(DepthScore(name, layers, sublayer, stat, *scores))
    return rows


def mean_effects(pairs: Mapping[tuple[int, int], float], layers: int) -> dict[int, float]:
    """The mean effect of each layer from 1 on those after it, from that of each pair; of the last, zero."""
    return {
        layer: sum(value for (skipped, _), value in pairs.items() if skipped == layer) / max(1, layers - layer)
        for layer in range(1, layers + 1)
    }


def depth_score(effects: Mapping[int, float]) -> float | None:
    """The mean layer, from 1, weighted by what leaving it out does; None where that does nothing."""
    total = sum(effects.values())
    return sum(layer * effect for layer, effect in effects.items()) / total if total else None


def cosine_depth(cosines: Sequence[float]) -> int | None:
    """The last layer, from 1, at which a cosine below zero becomes one that is not; None where none does.

    Args:
        cosines: the mean of attention's, MLP's and layer's, for each layer.
    """
    turns = [layer for layer in range(2, len(cosines) + 1) if cosines[layer - 2] < 0 <= cosines[layer - 1]]
    return turns[-1] if turns else None


def kl_depth(divergences: Sequence[float]) -> int | None:
    """The first layer, from 1, whose input is nearer to the final output than `KL_SHARE` of the farthest.

    Args:
        divergences: KL(lens || final) of the input of each layer.
    """
    most = KL_SHARE * max(divergences)
    return next((layer for layer, value in enumerate(divergences, 1) if value < most), None)


def overlap_depth(overlaps: Sequence[float]) -> int | None:
    """The first layer, from 1, whose input shares more than `OVERLAP` of the final output's five likeliest tokens.

    Args:
        overlaps: those of the input of each layer.
    """
    return next((layer for layer, value in enumerate(overlaps, 1) if value > OVERLAP), None)
