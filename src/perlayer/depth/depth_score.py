"""How deep a model computes, as single numbers.

Depth score: Csordas, Manning, Potts 2025, figure 7 (arXiv 2505.13898). Effective depth: arXiv 2512.14064.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean

from perlayer.depth.interventions import SUBLAYERS
from perlayer.depth.statistics import STATS
from perlayer.depth.tables import Number

KL_SHARE = 0.5  # of the greatest divergence
OVERLAP = 0.2  # of the five likeliest tokens
LEAST_LAYERS = 3  # of a model with a depth score: the last changes no later token, so that of two it is always 1


def score_depth(found: Mapping[str, Sequence[Number]], layers: int) -> list[Number]:
    """The depth scores and effective depths of a model, in layers from 1, from what other analyses have found.

    They stand at the last layer; `sublayer` of a depth score is what was skipped, and its stat says how each effect was
    brought to one number.

    Args:
        found: the numbers of `contributions`, `logit_lens` and `skipping`, by name.
        layers: how many the model has.
    """
    numbers = skipping_scores(found["skipping"], layers)
    means = {}
    for number in (*found["contributions"], *found["logit_lens"]):
        if number.stat == "mean":
            means.setdefault(number.metric, {})[number.layer, number.sublayer] = number.value
    cosines = [
        fmean(means["cosine"][layer, sublayer] for sublayer in (None, *SUBLAYERS)) for layer in range(1, layers + 1)
    ]
    depths = {
        "cosine": cosine_depth(cosines),
        "kl": kl_depth([means["kl_lens_final"][layer, None] for layer in range(layers)]),
        "overlap": overlap_depth([means["top5_overlap"][layer, None] for layer in range(layers)]),
    }
    for name, depth in depths.items():
        if depth is not None:
            numbers.append(Number(layers, None, f"effective_depth_{name}", "mean", depth))
            numbers.append(Number(layers, None, f"effective_depth_{name}_share", "mean", depth / layers))
    return numbers


def skipping_scores(skipping: Sequence[Number], layers: int) -> list[Number]:
    """The depth scores alone, from the numbers of `skipping`; none of models of fewer than `LEAST_LAYERS`."""
    numbers = []
    if layers < LEAST_LAYERS:
        return numbers
    for sublayer in (None, *SUBLAYERS):
        for stat in STATS:
            pairs = {
                (number.layer, number.other_layer): number.value
                for number in skipping
                if (number.sublayer, number.stat, number.metric) == (sublayer, stat, "effect_future")
            }
            outputs = {
                number.layer: number.value
                for number in skipping
                if (number.sublayer, number.stat, number.metric) == (sublayer, stat, "output_effect_future")
            }
            for name, effects in (("depth_score", mean_effects(pairs, layers)), ("output_depth_score", outputs)):
                score = depth_score(effects)
                if score is not None:
                    numbers.append(Number(layers, sublayer, name, stat, score))
    return numbers


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
