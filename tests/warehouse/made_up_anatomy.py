"""Made-up numbers of what the layers of finished models are made of."""

from __future__ import annotations

from typing import Any

import pandas as pd
from made_up_depth import frames

from perlayer.anatomy.categories import category
from perlayer.anatomy.tables import (
    Ablation,
    AnatomyEstimate,
    DeltaCorrelation,
    LayersReplaced,
    Manipulation,
    Predictability,
    Recovery,
    RecoveryOrder,
    WeightComponents,
)

LAYERS = 6
KINDS = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")
MANIPULATIONS = ("noise", "neighbour_interpolation", "neighbour_copy", "predicted", "random")
# By layer where there are several numbers; changes of perplexity in percent, with an interval of a tenth around.
PROFILE: dict[str, Any] = {
    "importance": [3000.0, 150.0, 40.0, 5.0, 1.0, -0.8],
    "skip": [2000.0, 100.0, 30.0, 4.0, 0.5, 0.1],
    "r2": {kind: 0.3 for kind in KINDS} | {"gate_proj": 0.5},
    "r2_initial": -0.01,
    "r2_shuffled": 0.05,
    "replaced": [20.0, 300.0, 900.0, 4000.0, 9000.0, 20000.0],
    "order": [5, 6, 4, 3, 2, 1],  # in which layers are replaced
    "manipulated": {5: 1.0, 6: 0.5},  # by layer, by what the numbers below are multiplied
    "manipulations": {  # at a tenth and at full strength
        "scale": (2.0, 400.0),
        "noise": (3.0, 500.0),
        "neighbour_interpolation": (4.0, 600.0),
        "neighbour_copy": (5.0, 700.0),
        "predicted": (6.0, 800.0),
        "random": (7.0, 900.0),
    },
    "steps": [60, 60, 40, 20, 5, 0],
    "remaining": [30.0, 10.0, 4.0, 4.0, 4.0, 3.0],  # up to 5 counts as recovered
    "rank_correlation": (0.99, 0.003, 0.999),  # and how likely chance gives one as high, and one as low
    "correlation": -0.4,
    "correlation_initial": -0.5,
    "correlation_independent": -0.52,
    # by what the interval covers, statistic and part: a number and how far its interval reaches; None: anywhere
    "estimates": {
        ("text", "importance_span", None): (8.0, 0.1),
        ("text", "most_important_early", None): (1.0, 0.0),
        ("text", "least_importance", None): (-0.1, 0.05),
        ("text", "one_replaced", None): (0.2, 0.05),
        ("text", "three_of_ten_over_one", None): (1.2, 0.05),
        **{("text", "over_scaling", kind): (1.5, 0.2) for kind in MANIPULATIONS},
        ("random controls", "r2_beyond_chance", None): (0.3, 0.01),
        **{("random controls", "gate_lead", kind): (0.2, 0.02) for kind in KINDS if kind != "gate_proj"},
        ("random controls", "delta_correlation", None): (-0.4, 0.01),
        ("random controls", "delta_excess", None): (-0.1, 0.01),
    },
    "explained": [0.5, 0.7, 0.8, 0.9, 1.0],
    "explained_independent": [0.2, 0.4, 0.6, 0.8, 1.0],
}
SEEDS = {"baseline": 1.0, "probes_seed_1": 1.1, "probes_seed_2": 0.95, "separate": 0.5}  # times what is found


def scaled(factor: float) -> dict[str, Any]:
    """A profile with `factor` times the usual importance, R2 and distance from independent layers."""
    return {
        "importance": [factor * value for value in PROFILE["importance"]],
        "r2": {kind: factor * value for kind, value in PROFILE["r2"].items()},
        "correlation": PROFILE["correlation_independent"] + factor * 0.12,
    }


def anatomy(run: str, **profile: Any) -> dict[str, pd.DataFrame]:
    """The tables of anatomy: `PROFILE` but for what is given."""
    profile = PROFILE | profile
    layers = range(1, len(profile["importance"]) + 1)
    ablations = [
        ablation(run, layer, sublayer, way, share * percent)
        for way, taken, shares in (
            ("neighbour_average", profile["importance"] if len(layers) > 1 else [], (1.0,)),
            ("skip", profile["skip"], (1.0, 0.5, 0.25)),
            ("mean_ablation", profile["skip"], (0.5, 0.25, 0.125)),
        )
        for layer, percent in enumerate(taken, 1)
        for sublayer, share in zip((None, "attention", "mlp"), shares)
    ]
    shuffled = profile["r2_shuffled"] if len(layers) > 2 else None
    correlation, initial, independent = (profile[f"correlation{name}"] for name in ("", "_initial", "_independent"))
    return frames(
        ablations=ablations,
        predictability=[
            Predictability(run, layer, kind, r2 + 0.01 * layer, profile["r2_initial"], shuffled, 0.5 * r2, r2, 0.8 * r2)
            for kind, r2 in profile["r2"].items()
            for layer in layers
            if len(layers) > 1
        ],
        replacements=[
            LayersReplaced(run, count, layer, *around(percent))
            for count, (layer, percent) in enumerate(zip(profile["order"], profile["replaced"]), 1)
            if 1 < len(layers) >= count
        ],
        delta_correlations=[
            DeltaCorrelation(run, layer, kind, correlation, independent, initial, correlation - independent)
            for kind in KINDS
            for layer in layers[1:-1]
        ],
        weight_components=[
            WeightComponents(run, kind, count, share, other, other + 0.01 * (count < 5), share - other)
            for kind in KINDS
            for count, share, other in zip(layers[:-1], profile["explained"], profile["explained_independent"])
        ],
        manipulations=[
            Manipulation(run, layer, kind, strength, *around(factor * percent))
            for layer, factor in profile["manipulated"].items()
            for kind, percents in profile["manipulations"].items()
            for strength, percent in zip((0.1, 1.0), percents)
        ],
        recoveries=[
            Recovery(run, layer, steps, remaining <= 5, 2 * remaining, remaining)
            for layer, steps, remaining in zip(layers, profile["steps"], profile["remaining"])
        ],
        recovery_orders=[RecoveryOrder(run, *profile["rank_correlation"])] if profile["rank_correlation"] else [],
        anatomy_estimates=[
            AnatomyEstimate(run, statistic, part, value, *ends(value, reach), covers)
            for (covers, statistic, part), (value, reach) in profile["estimates"].items()
        ],
    )


def ablation(run: str, layer: int, sublayer: str | None, way: str, percent: float) -> Ablation:
    """A change of perplexity and what it calls a layer."""
    return Ablation(run, layer, sublayer, way, *around(percent), category(*around(percent)))


def around(percent: float) -> tuple[float, float, float]:
    """A change of perplexity with an interval of a tenth around it."""
    return percent, percent - 0.1 * abs(percent), percent + 0.1 * abs(percent)


def ends(value: float, reach: float | None) -> tuple[float | None, float | None]:
    """Those of an interval that reaches so far; null where nothing bounds it."""
    return (None, None) if reach is None else (value - reach, value + reach)
