"""Made-up dissections of how finished models use their depth, with known numbers."""

from __future__ import annotations

import string
from collections.abc import Iterator, Sequence
from typing import Any

import pandas as pd

from perlayer.depth.by_group import difficulty
from perlayer.depth.tables import (
    Contribution,
    DepthScore,
    EffectiveDepth,
    GroupScore,
    LinearMap,
    OutputEffect,
    ResidualLens,
    SkipEffect,
    TokenEffect,
)
from perlayer.tables import table_of
from perlayer.warehouse.tables import TABLES

LAYERS = 6
STATS = {"mean": 1.0, "p95": 2.0, "max": 3.0}  # and how many times the mean each is
# By layer; of the lens from layer 0, the embedding. `later` is what skipping a layer changes at future tokens in every
# later layer, `future` and `everywhere` what it changes in predictions; `depths` are effective ones. `tokens` says
# until which layer tokens of a text matter: those between its first and the ones that predict.
PROFILE: dict[str, Any] = {
    "shares": {
        "layer": [8.0, 0.7, 0.6, 0.3, 0.28, 0.32],
        "attention": [7.0, 0.5, 0.4, 0.15, 0.15, 0.15],
        "mlp": [0.9, 0.5, 0.5, 0.4, 0.4, 0.4],
    },
    "cosines": {
        "layer": [0.1, -0.1, -0.2, 0.3, 0.2, 0.1],
        "attention": [0.2, -0.2, -0.3, 0.1, 0.1, 0.0],
        "mlp": [0.0, 0.1, -0.1, 0.4, 0.3, 0.2],
    },
    "later": [0.5, 0.2, 0.1, 0.03, 0.01],
    "everywhere": [0.5, 0.4, 0.4, 0.3, 0.3, 0.2],
    "future": [0.1, 0.05, 0.03, 0.004, 0.002, 0.0],
    "kl": [6.0, 4.0, 3.5, 3.2, 1.5, 0.5, 0.0],
    "overlap": [0.02, 0.1, 0.12, 0.15, 0.4, 0.7, 1.0],
    "scores": {"depth_score": 2.2, "output_depth_score": 1.8},
    "depths": {"kl": 5, "overlap": 5, "cosine": 4},
    "tokens": {
        "window 1": {"erasure": [3, 2, 4, 3, 3], "attribution": [2, 3, 4, 5, 5]},
        "window 2": {"erasure": [5, 4], "attribution": [1, 3]},
    },
}
PREDICTING = 2  # tokens of every text, which matter until the last layer, before one that the answer does not see


def dissection(run: str, **profile: Any) -> dict[str, pd.DataFrame]:
    """The tables of depth but for groups of prompts: `PROFILE` but for what is given, as means."""
    profile = PROFILE | profile
    layers = len(profile["shares"]["layer"])
    contributions, effects, outputs = [Contribution(run, 0, None, residual_norm=1.0)], [], []
    for layer in range(1, layers + 1):
        everywhere, future = (profile[name][layer - 1] for name in ("everywhere", "future"))
        for sublayer, half in ((None, 1.0), ("attention", 0.5), ("mlp", 0.5)):
            share, cosine = (profile[name][sublayer or "layer"][layer - 1] for name in ("shares", "cosines"))
            row = Contribution(
                run,
                layer,
                sublayer,
                *(factor * share for factor in STATS.values()),
                cosine,
                residual_norm=None if sublayer else 1.0 + layer,
                relative_contribution_without_first=share - 0.01,
                cosine_without_first=cosine - 0.01,
            )
            contributions.append(row)
            for stat, factor in STATS.items():
                outputs.append(
                    OutputEffect(run, layer, sublayer, stat, *(factor * half * each for each in (everywhere, future)))
                )
                for other in range(layer + 1, layers + 1):
                    later = half * profile["later"][layer - 1]
                    values = (later + 0.1 * other, later, later + 0.05 * other, 0.5 * later)
                    effects.append(SkipEffect(run, layer, sublayer, other, stat, *(factor * each for each in values)))
    scores = [profile["scores"].get(name) for name in ("depth_score", "output_depth_score")]
    depths = [profile["depths"].get(name) for name in ("cosine", "kl", "overlap")]
    return frames(
        contributions=contributions,
        residual_lens=[
            ResidualLens(run, layer, kl, 2 * kl, overlap)
            for layer, (kl, overlap) in enumerate(zip(profile["kl"], profile["overlap"]))
        ],
        skip_effects=effects,
        output_effects=outputs,
        depth_scores=[
            DepthScore(run, layers, None, stat, *(factor * score for score in scores))
            for stat, factor in STATS.items()
            if profile["scores"]
        ],
        effective_depths=[EffectiveDepth(run, layers, *depths)],
        token_effects=[
            row for text, until in profile["tokens"].items() for row in _token_rows(run, text, until, layers)
        ],
    )


def frames(**rows: Sequence[Any]) -> dict[str, pd.DataFrame]:
    """Rows by the name of their table."""
    return {name: table_of(TABLES[name], each).to_pandas() for name, each in rows.items()}


def _token_rows(run: str, text: str, until: dict[str, list[int]], layers: int) -> Iterator[TokenEffect]:
    """Of one text whose last token is not seen. Attributions turn their sign from token to token.

    What attention and MLP give is attributed half as much as the residual.
    """
    erased, attributed = (
        [layers - 1, *(min(end, layers - 1) for end in until[measure]), *[layers] * PREDICTING, *beyond]
        for measure, beyond in (("erasure", []), ("attribution", [None]))
    )
    for position, end in enumerate(attributed):
        token, sign = string.ascii_letters[position], (-1) ** position
        for layer in range(layers + 1):
            seen = position < len(erased)
            erasure = _effect(layer, erased[position], 0, layers) if seen else None
            shares = [sign * share * _effect(layer, end, 1, layers) for share in (1.0, 0.5, 0.5) if layer]
            if seen or shares:
                yield TokenEffect(run, text, position, token, layer, erasure, *shares)


def _effect(layer: int, end: int | None, first: int, layers: int) -> float:
    """Of a token that matters until layer `end`: at least half of the greatest there, less beyond, none at last."""
    if end is None or layer == layers > end:
        return 0.0
    if layer > end:
        return 0.14
    return 0.16 if layer == end > first else 0.3


def maps(pair: str, best: list[int], sources: int) -> dict[str, pd.DataFrame]:
    """Linear maps: the residual after layer k is mapped best from layer best[k - 1], contributions from 1.

    An error is 0.3 and 0.01 for each layer of the target, and 0.05 more with each layer away from the best; it is least
    from and to embeddings.
    """
    rows, layers = [], len(best)
    for kind, first in (("residual", 0), ("contribution", 1)):
        for layer in range(first, layers + 1):
            nearest = 1 if kind == "contribution" else best[layer - 1]
            for source in range(first, sources + 1):
                maps = bool(layer and source)
                error = 0.3 + 0.05 * abs(source - nearest) + 0.01 * layer if maps else 0.2
                numbers = (
                    error,
                    error / 2,
                    0.01,
                    0.9 + 0.01 * layer,
                    abs(source * layers - layer * sources) / (layers * sources),
                )
                row = LinearMap(pair, kind, layer, source, layers, sources, *numbers, maps and source == nearest)
                rows.append(row)
    return frames(linear_maps=rows)


def by_group(
    run: str, scores: dict[str, float], error: float | None = 0.01, layers: int = LAYERS
) -> dict[str, pd.DataFrame]:
    """Scores by "SET: GROUP", of 4 prompts each, which say their difficulty first or not; by predictions half."""
    rows = []
    for text, score in scores.items():
        prompts, group = text.split(": ")
        numbers = (0.25, score, error, score / 2, error and error / 2, 3 * score)
        rows.append(GroupScore(run, prompts, group, difficulty(group), layers, 4, 1, *numbers))
    return frames(group_scores=rows)


def scaled(factor: float) -> dict[str, Any]:
    """A profile whose layers from 4 on add `factor` times what they usually do."""
    shares = {
        part: [share * (factor if layer > 3 else 1.0) for layer, share in enumerate(values, start=1)]
        for part, values in PROFILE["shares"].items()
    }
    return {"shares": shares}
