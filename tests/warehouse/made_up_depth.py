"""Made-up dissections of how finished models use their depth, with known numbers."""

from __future__ import annotations

import string
from collections.abc import Iterator
from typing import Any

import pandas as pd

LAYERS = 6
TYPES = {
    "sublayer": "string",
    "layer": "int16",
    "other_layer": "Int16",
    "text": "string",
    "position": "Int32",
    "token": "string",
    "strength": "Float64",
}
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
    "depths": {"kl": 5.0, "overlap": 5.0, "cosine": 4.0},
    "tokens": {
        "window 1": {"erasure": [3, 2, 4, 3, 3], "attribution": [2, 3, 4, 5, 5]},
        "window 2": {"erasure": [5, 4], "attribution": [1, 3]},
    },
}
PREDICTING = 2  # tokens of every text, which matter until the last layer, before one that the answer does not see


def dissection(run: str, size: str = "nano", **profile: Any) -> pd.DataFrame:
    """The rows of depth: `PROFILE` but for what is given, as means; p95 is 2 and max 3 times that."""
    profile = PROFILE | profile
    rows = []

    def add(analysis, metric, layer, value, part="layer", other=None, stats=("mean", "p95", "max")):
        sublayer = None if part == "layer" else part
        row = {"analysis": analysis, "layer": layer, "sublayer": sublayer, "other_layer": other, "metric": metric}
        factors = {"mean": 1.0, "p95": 2.0, "max": 3.0}
        rows.extend({**row, "stat": stat, "value": factors[stat] * value} for stat in stats)

    layers = len(profile["shares"]["layer"])
    for layer in range(layers + 1):
        add("contributions", "residual_norm", layer, 1.0 + layer, stats=("mean", "max"))
        add("logit_lens", "kl_lens_final", layer, profile["kl"][layer], stats=("mean",))
        add("logit_lens", "kl_final_lens", layer, 2 * profile["kl"][layer], stats=("mean",))
        add("logit_lens", "top5_overlap", layer, profile["overlap"][layer], stats=("mean",))
    for layer in range(1, layers + 1):
        for part in ("layer", "attention", "mlp"):
            for suffix, less in (("", 0.0), ("_without_first", 0.01)):
                share, cosine = (profile[name][part][layer - 1] - less for name in ("shares", "cosines"))
                add("contributions", f"relative_contribution{suffix}", layer, share, part)
                add("contributions", f"cosine{suffix}", layer, cosine, part, stats=("mean",))
            half = 1.0 if part == "layer" else 0.5
            for name, metric in (("everywhere", "output_effect_all"), ("future", "output_effect_future")):
                add("skipping", metric, layer, half * profile[name][layer - 1], part)
            for other in range(layer + 1, layers + 1):
                later = half * profile["later"][layer - 1]
                add("skipping", "effect_future", layer, later, part, other)
                add("skipping", "effect_all", layer, later + 0.1 * other, part, other)
                add("skipping", "local_effect_future", layer, 0.5 * later, part, other)
                add("skipping", "local_effect_all", layer, later + 0.05 * other, part, other)
    for metric, value in profile["scores"].items():
        add("depth_score", metric, layers, value)
    for name, value in profile["depths"].items():
        add("depth_score", f"effective_depth_{name}", layers, value, stats=("mean",))
        add("depth_score", f"effective_depth_{name}_share", layers, value / layers, stats=("mean",))
    for layer in range(layers + 1):
        add("erasure", "erasure", layer, 0.01)
    for text, until in profile["tokens"].items():
        rows.extend({**row, "text": text} for row in _token_rows(until, layers))
    return _typed(rows, run, size)


def _token_rows(until: dict[str, list[int]], layers: int) -> Iterator[dict[str, Any]]:
    """Of one text whose last token is not seen. Attributions turn their sign from token to token.

    What attention and MLP give is attributed half as much as the residual.
    """
    for metric, analysis, first in (("erasure", "erasure", 0), ("attribution", "integrated_gradients", 1)):
        ends = [layers - 1, *(min(end, layers - 1) for end in until[metric]), *[layers] * PREDICTING]
        ends += [None] if metric == "attribution" else []
        shares = {None: 1.0, "attention": 0.5, "mlp": 0.5} if metric == "attribution" else {None: 1.0}
        for position, end in enumerate(ends):
            token = {"analysis": analysis, "metric": metric, "stat": "single", "position": position}
            token["token"] = string.ascii_letters[position]
            sign = (-1) ** position if metric == "attribution" else 1
            for layer in range(first, layers + 1):
                for sublayer, share in shares.items():
                    value = sign * share * _effect(layer, end, first, layers)
                    yield {**token, "layer": layer, "sublayer": sublayer, "value": value}


def _effect(layer: int, end: int | None, first: int, layers: int) -> float:
    """Of a token that matters until layer `end`: at least half of the greatest there, less beyond, none at last."""
    if end is None or layer == layers > end:
        return 0.0
    if layer > end:
        return 0.14
    return 0.16 if layer == end > first else 0.3


def maps(pair: str, best: list[int], sources: int, size: str = "nano") -> pd.DataFrame:
    """The rows of linear maps: the residual after layer k is mapped best from layer best[k - 1], contributions from 1.

    An error is 0.3 and 0.01 for each layer of the target, and 0.05 more with each layer away from the best; it is least
    from and to embeddings.
    """
    rows = []
    for kind, first in (("residual", 0), ("contribution", 1)):
        for layer in range(first, len(best) + 1):
            target = {"analysis": "linear_maps", "layer": layer}
            rows.append({**target, "metric": f"{kind}_mean_error", "stat": "mean", "value": 0.9 + 0.01 * layer})
            for source in range(first, sources + 1):
                away = abs(source - (best[layer - 1] if kind == "residual" else 1))
                error = 0.3 + 0.05 * away + 0.01 * layer if layer and source else 0.2
                values = {"error": error, "unexplained": error / 2, "penalty": 0.01}
                rows.extend(
                    {**target, "other_layer": source, "metric": f"{kind}_{name}", "stat": stat, "value": values[name]}
                    for name, stat in (("error", "mean"), ("unexplained", "mean"), ("penalty", "single"))
                )
    return _typed(rows, pair, size)


def _typed(rows: list[dict[str, Any]], run: str, size: str) -> pd.DataFrame:
    """The rows as a table of dissections, with null for what they leave out."""
    columns = ["analysis", "layer", "sublayer", "other_layer", "metric", "stat", "value", "text", "position", "token"]
    table = pd.DataFrame(rows, columns=columns).assign(run=run, size=size, strength=None)
    return table.astype(TYPES)


def by_group(
    run: str, scores: dict[str, float], error: float | None = 0.01, layers: int = LAYERS, size: str = "nano"
) -> pd.DataFrame:
    """The rows of depth_by_group: scores by "SET: GROUP", of 4 prompts each; those by predictions are half of them."""
    rows = []
    for text, score in scores.items():
        numbers = {"depth_score": score, "output_depth_score": score / 2, "answered": 0.25}
        if error is not None:
            numbers |= {"depth_score_standard_error": error, "output_depth_score_standard_error": error / 2}
        rows += [{"metric": name, "stat": "mean", "value": value, "text": text} for name, value in numbers.items()]
        rows.append({"metric": "depth_score", "stat": "max", "value": 3 * score, "text": text})
        for name, count in (("prompts", 4.0), ("too_long", 1.0)):
            rows.append({"metric": name, "stat": "single", "value": count, "text": text})
    table = pd.DataFrame(rows).assign(run=run, size=size, analysis="depth_by_group", layer=layers)
    table = table.assign(sublayer=None, other_layer=None, position=None, token=None, strength=None)
    return table.astype(TYPES)


def scaled(factor: float) -> dict[str, Any]:
    """A profile whose layers from 4 on add `factor` times what they usually do."""
    shares = {
        part: [share * (factor if layer > 3 else 1.0) for layer, share in enumerate(values, start=1)]
        for part, values in PROFILE["shares"].items()
    }
    return {"shares": shares}
