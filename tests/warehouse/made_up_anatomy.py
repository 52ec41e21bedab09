"""Made-up numbers of what the layers of finished models are made of."""

from __future__ import annotations

from typing import Any

import pandas as pd

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
    # by statistic and part, how far a number lies from 0 and how far its interval reaches; None: nothing bounds it
    "estimates": {
        ("ablation", "importance_span", None): (8.0, 0.1),
        ("ablation", "most_important_early", None): (1.0, 0.0),
        ("ablation", "least_importance", None): (-0.1, 0.05),
        ("replacement", "one_replaced", None): (0.2, 0.05),
        ("replacement", "three_of_ten_over_one", None): (1.2, 0.05),
        **{("manipulation", "over_scaling", kind): (1.5, 0.2) for kind in MANIPULATIONS},
        ("controls", "r2_beyond_chance", None): (0.3, 0.01),
        **{("controls", "gate_lead", kind): (0.2, 0.02) for kind in KINDS if kind != "gate_proj"},
        ("controls", "delta_correlation", None): (-0.4, 0.01),
        ("controls", "delta_excess", None): (-0.1, 0.01),
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


def anatomy(run: str, size: str = "nano", **profile: Any) -> pd.DataFrame:
    """The rows of anatomy: `PROFILE` but for what is given."""
    profile = PROFILE | profile
    layers = len(profile["importance"])
    rows = []

    def add(analysis, metric, layer, value, sublayer=None, stat="single", strength=None):
        row = {"analysis": analysis, "layer": layer, "sublayer": sublayer, "stat": stat, "metric": metric}
        rows.append({**row, "strength": strength, "value": float(value)})

    def change(analysis, metric, layer, percent, sublayer=None, strength=None):
        for stat, value in (("mean", 0.0), ("low", -0.1), ("high", 0.1)):
            add(analysis, metric, layer, percent + value * abs(percent), sublayer, stat, strength)

    for layer in range(1, layers + 1):
        if layers > 1:
            change("ablation", "neighbour_average", layer, profile["importance"][layer - 1])
            replaced = profile["replaced"][layer - 1]
            change("replacement", "replaced", profile["order"][layer - 1], replaced, strength=layer)
        for sublayer, share in ((None, 1.0), ("attention", 0.5), ("mlp", 0.25)):
            change("ablation", "skip", layer, share * profile["skip"][layer - 1], sublayer)
            change("ablation", "mean_ablation", layer, 0.5 * share * profile["skip"][layer - 1], sublayer)
        if profile["steps"]:
            add("recovery", "recovery_steps", layer, profile["steps"][layer - 1])
            add("recovery", "recovered", layer, profile["remaining"][layer - 1] <= 5)
            add("recovery", "perturbation", layer, 2 * profile["remaining"][layer - 1])
            add("recovery", "remaining", layer, profile["remaining"][layer - 1])
        for kind in KINDS if layers > 1 else ():
            add("predictability", "r2", layer, profile["r2"][kind] + 0.01 * layer, kind)
            add("predictability", "r2_initial", layer, profile["r2_initial"], kind)
            if layers > 2:
                add("predictability", "r2_shuffled", layer, profile["r2_shuffled"], kind, "mean")
            add("predictability", "r2_entries_alone", layer, 0.5 * profile["r2"][kind], kind)
            for penalty, factor in ((1e-3, 1.0), (1.0, 0.8)):
                add("predictability", "r2_by_penalty", layer, factor * profile["r2"][kind], kind, strength=penalty)
            if 1 < layer < layers:
                for name in ("", "_initial", "_independent"):
                    value = profile[f"correlation{name}"]
                    add("structure", f"delta_correlation{name}", layer, value, kind)
    for kind in KINDS:
        for components in range(1, layers):
            share, independent = (profile[name][components - 1] for name in ("explained", "explained_independent"))
            numbers = {"": share, "_independent": independent, "_initial": independent + 0.01 * (components < 5)}
            for name, value in numbers.items():
                add("structure", f"explained_share{name}", layers, value, kind, strength=components)
    for layer, factor in profile["manipulated"].items():
        for kind, (tenth, whole) in profile["manipulations"].items():
            change("manipulation", kind, layer, factor * tenth, strength=0.1)
            change("manipulation", kind, layer, factor * whole, strength=1.0)
    if profile["rank_correlation"]:
        names = ("rank_correlation", "rank_correlation_p", "rank_correlation_p_low")
        for metric, value in zip(names, profile["rank_correlation"], strict=True):
            add("recovery", metric, layers, value)
    for (analysis, metric, part), (value, reach) in profile["estimates"].items():
        add(analysis, metric, layers, value, part, "estimate")
        for stat, end in (("estimate_low", -1), ("estimate_high", 1)) if reach is not None else ():
            add(analysis, metric, layers, value + end * reach, part, stat)
    table = pd.DataFrame(rows).assign(run=run, size=size, other_layer=None, text=None, position=None, token=None)
    types = {
        "layer": "int16",
        "sublayer": "string",
        "other_layer": "Int16",
        "text": "string",
        "position": "Int32",
        "token": "string",
        "strength": "Float64",
    }
    return table.astype(types)
