"""Made-up results with and without multi-token prediction, by layer, token and size, with known numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import made_up_results as made_up
import pandas as pd
import pytest

from perlayer.params import ladder_name
from perlayer.questions import Question
from perlayer.warehouse.collect import collect

LAYERS = made_up.LAYERS
PROBES = {"residual": "sandwich", "readouts": "probes"}
PLAIN = {"residual": "sandwich", "readouts": "none"}
FUTURE = {"future_probes": {"ahead": 2}}
SEQUENTIAL = {"multi_token_prediction": {"form": "sequential", "depth": 1, "weight": 0.3}}
PARALLEL = {"multi_token_prediction": {"form": "parallel", "depth": 1, "weight": 0.3}}
DEEPSEEK, GLOECKLE = "sequential, depth 1, weight 0.3", "parallel, depth 1, weight 0.3"

RUNS: dict[str, dict[str, Any]] = {
    "baseline": {**PLAIN, "seed": 0},
    "probes": {**PROBES, "seed": 0},
    "probes_seed_2": {**PROBES, "seed": 2},
    "probes_future": {**PROBES, "seed": 0, **FUTURE},
    "probes_future_seed_1": {**PROBES, "seed": 1, **FUTURE},
    "multi_token": {**PROBES, "seed": 0, **SEQUENTIAL, **FUTURE},
    "multi_token_seed_1": {**PROBES, "seed": 1, **SEQUENTIAL, **FUTURE},
    "multi_token_parallel": {**PROBES, "seed": 0, **PARALLEL, **FUTURE},
}
LADDER_RUNS = {
    f"{name}_seed_{seed}" if seed else name: {**PLAIN, "seed": seed, **keys}
    for name, keys in (("plain", {}), ("multi_token", {"multi_token_prediction": {"weight": 0.3}}))
    for seed in (0, 1, 2)
}
RUNGS = {"width_16": 3, "width_48": 9, "width_64": 12}  # layers of each
PARAMETERS = {"width_16": 10_000, "nano": 90_000, "width_48": 300_000, "width_64": 720_000}

# What a plain layer ends at, and what a seed adds to all of a run, and to a pair.
LOSS = {1: [3.9, 3.7, 3.6, 3.5, 3.3, 3.0], 2: [4.5, 4.4, 4.35, 4.3, 4.2, 4.1]}
SEEDS = {0: 0.0, 1: 0.02, 2: -0.01}
PAIRS = {0: 0.0, 1: 0.004, 2: -0.002}
# What multi-token prediction adds to every layer, for each token.
CHANGES = {
    DEEPSEEK: {1: [0.0, 0.03, 0.05, 0.0, -0.04, 0.01], 2: [0.0, -0.05, -0.1, -0.15, -0.2, -0.3]},
    GLOECKLE: {1: [0.0, 0.01, 0.01, 0.01, 0.01, 0.04], 2: [0.0, -0.01, -0.02, -0.03, -0.04, -0.05]},
}
MODULE = 3.6
RUNG_LOSS = {"width_16": 4.0, "width_48": 2.8, "width_64": 2.7}
RUNG_CHANGES = {"width_16": 0.03, "width_48": 0.002, "width_64": -0.02}


def way(definition: dict[str, Any]) -> str | None:
    """How later tokens are predicted."""
    section = definition.get("multi_token_prediction")
    if section is None:
        return None
    return GLOECKLE if section.get("form") == "parallel" else DEEPSEEK


def final(definition: dict[str, Any], layer: int, ahead: int = 1, rung: str | None = None) -> float:
    """What a layer ends at; of a rung only the last layer is read."""
    plain = RUNG_LOSS[rung] if rung else LOSS[ahead][layer - 1]
    change = 0.0
    if way(definition):
        change = RUNG_CHANGES[rung] if rung else CHANGES[way(definition)][ahead][layer - 1]
        change += PAIRS[definition["seed"]]
    return plain + SEEDS[definition["seed"]] + change


def rows(run: str, definition: dict[str, Any], rung: str | None = None) -> list[dict[str, Any]]:
    """The training losses of one run, as `made_up_results.in_memory` takes them."""
    depth = RUNGS[rung] if rung else LAYERS
    read = [(depth, "head", 1, final(definition, depth, 1, rung))]
    if definition["readouts"] == "probes":
        read += [(layer, "probe", 1, final(definition, layer, 1)) for layer in range(1, depth)]
    if "future_probes" in definition:
        read += [(layer, "probe", 2, final(definition, layer, 2)) for layer in range(1, depth + 1)]
    if way(definition):
        read.append((depth, "multi_token", 2, MODULE + SEEDS[definition["seed"]]))
    names = ("layer", "readout", "ahead", "value")
    return [{"run": run, "size": rung or "nano", **dict(zip(names, one))} for one in read]


def ladder(rungs: dict[str, int], runs: dict[str, dict[str, Any]]) -> dict[str, tuple[str, dict[str, Any]]]:
    """The rung and the keys of each run of a ladder, by its name in the results."""
    return {ladder_name(rung, run): (rung, keys) for rung in rungs for run, keys in runs.items()}


def in_memory(
    runs: dict[str, dict[str, Any]] = RUNS,
    rungs: dict[str, int] = RUNGS,
    ladder_runs: dict[str, dict[str, Any]] = LADDER_RUNS,
    question: Question | None = None,
) -> duckdb.DuckDBPyConnection:
    """The views over the results of some runs at the size in use and on the ladder, and the claims of `question`."""
    on_ladder = ladder(rungs, ladder_runs)
    losses = [row for run, keys in runs.items() for row in rows(run, keys)]
    losses += [row for run, (rung, keys) in on_ladder.items() for row in rows(run, keys, rung)]
    every = runs | {run: keys for run, (_, keys) in on_ladder.items()}
    sizes = "UPDATE runs SET size = ?, layers = ?, section = 'ladder' WHERE run = ?"
    changes = [(sizes, [rung, RUNGS[rung], run]) for run, (rung, _) in on_ladder.items()]
    backbone = "UPDATE runs SET backbone_parameters = ? WHERE size = ?"
    changes += [(backbone, [parameters, size]) for size, parameters in PARAMETERS.items()]
    return made_up.in_memory(losses, every, LAYERS, question, changes)


def write(metrics_dir: Path, runs: dict[str, dict[str, Any]], rungs: dict[str, int]) -> None:
    """Write the results of some runs as training would."""
    tables = {f"runs/{run}": rows(run, keys) for run, keys in runs.items()}
    for run, (rung, keys) in ladder(rungs, LADDER_RUNS).items():
        tables[f"runs/{run}"] = rows(run, keys, rung)
    for place, losses in tables.items():
        last = losses[0]
        size = last["size"] if last["size"] == "nano" else ladder_name("nano", last["size"])
        losses.append({**last, "metric": "parameters", "value": PARAMETERS[last["size"]], "step": 0})
        usual = {"step": 1, "tokens": 10, "other_layer": None, "split": "train", "metric": "loss"}
        table = pd.DataFrame([{**usual, **row, "size": size} for row in losses])
        made_up.write_table(metrics_dir / place / "layers.parquet", table)


def params(runs: dict[str, dict[str, Any]], rungs: dict[str, int]) -> dict[str, Any]:
    """What params.yaml would say."""
    section = {"runs": LADDER_RUNS, "rungs": {rung: {"model": {"layers": RUNGS[rung]}} for rung in rungs}}
    return {**made_up.params(runs), "lens": {"tuned": []}, "published": {}, "retrain_heads": {"runs": []},
        "routing": {"runs": []}, "ladder": section}  # fmt: skip


@pytest.fixture(scope="session")
def multi_token_dir(tmp_path_factory) -> Path:
    """The tables that `collect` makes of all of these runs."""
    metrics = tmp_path_factory.mktemp("multi_token")
    write(metrics, RUNS, RUNGS)
    collect(params(RUNS, RUNGS), metrics, metrics / "warehouse")
    return metrics / "warehouse"
