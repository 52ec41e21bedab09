"""Made-up results of runs, with known numbers: what a training stage would leave behind."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest

from perlayer.warehouse import database
from perlayer.warehouse.collect import collect

LAYERS = 6
STEPS = 120
PARAMETERS = 1000  # a layer
TOKENS = 2048  # a step

ORDINARY = {1: 3.2, 2: 3.0, 3: 2.95, 4: 2.92, 5: 2.90, 6: 2.89}
GAPS = {
    "probes": {1: 0.65, 2: 0.8, 3: 0.55, 4: 0.3, 5: 0.1, 6: 0.0},
    "separate": {1: 0.3, 2: 0.15, 3: 0.06, 4: 0.05, 5: 0.055, 6: 0.06},
    "shared": {1: 0.5, 2: 0.2, 3: 0.1, 4: 0.08, 5: 0.08, 6: 0.09},
    "shared_stop_gradient": {1: 0.6, 2: 0.25, 3: 0.12, 4: 0.1, 5: 0.1, 6: 0.12},
}
SEEDS = {0: 0.0, 1: 0.002, 2: -0.003, 3: 0.001}  # what a seed adds to every loss
SETUP_SEEDS = {("separate", 1): 0.004, ("separate", 2): -0.002, ("shared", 1): 0.001, ("shared", 2): -0.001}

RUNS: dict[str, dict[str, Any]] = {
    "baseline": {"residual": "sandwich", "readouts": "none", "seed": 0},
    "probes": {"residual": "sandwich", "readouts": "probes", "seed": 0},
    "probes_seed_1": {"residual": "sandwich", "readouts": "probes", "seed": 1},
    "probes_seed_2": {"residual": "sandwich", "readouts": "probes", "seed": 2},
    "probes_ema": {"residual": "sandwich", "readouts": "probes", "seed": 3, "ema": {"half_life": 100}},
    **{f"depth_{k}": {"residual": "sandwich", "readouts": "none", "seed": 0, "layers": k} for k in range(1, LAYERS)},
    "separate": {"residual": "sandwich", "readouts": "separate", "seed": 0},
    "separate_seed_1": {"residual": "sandwich", "readouts": "separate", "seed": 1},
    "separate_seed_2": {"residual": "sandwich", "readouts": "separate", "seed": 2},
    "shared": {"residual": "sandwich", "readouts": "shared", "seed": 0},
    "shared_seed_1": {"residual": "sandwich", "readouts": "shared", "seed": 1},
    "shared_seed_2": {"residual": "sandwich", "readouts": "shared", "seed": 2},
    "shared_stop_gradient": {"residual": "sandwich", "readouts": "shared_stop_gradient", "seed": 0},
}
READOUT = {"probes": "probe"}


def params(runs: dict[str, dict[str, Any]] = RUNS, size: str = "nano") -> dict[str, Any]:
    """What params.yaml would say."""
    sections = {"data": {"corpus": "wiki-intros"}, "model": {"layers": LAYERS}, "optimizer": {}, "train": {}}
    return {"size": size, "recipes": {"nano": sections, "smoke": sections}, "runs": runs}


def final(definition: dict[str, Any], layer: int) -> float:
    """The loss at which a layer ends."""
    depth = definition.get("layers", LAYERS)
    setup = definition["readouts"]
    gap = GAPS[setup][layer] if setup in GAPS and depth == LAYERS else 0.0
    seed = definition["seed"]
    extra = 0.0 if setup == "none" or (setup == "probes" and layer == depth) else SETUP_SEEDS.get((setup, seed), 0.0)
    extra += 0.01 * seed if setup == "probes" and layer < depth else 0.0
    return ORDINARY[layer] + gap + SEEDS[seed] + extra


def layer_metrics(run: str, definition: dict[str, Any], size: str = "nano", steps: int = STEPS) -> pd.DataFrame:
    """The rows of layers.parquet: losses that fall to `final` and wave around it for the last 50 steps."""
    depth = definition.get("layers", LAYERS)
    setup = definition["readouts"]
    layers = [depth] if setup == "none" else list(range(1, depth + 1))
    frames = []
    step = np.arange(1, steps + 1)
    for layer in range(1, depth + 1):
        readout = "head" if layer == depth or setup == "none" else READOUT.get(setup, setup)
        row = {"layer": layer, "readout": readout, "split": "train"}
        frames.append(pd.DataFrame([{"step": 0, "metric": "parameters", "value": float(PARAMETERS * layer), **row}]))
        if layer not in layers:
            continue
        # Alternating signs over an even number of steps: the mean of the last 50 is `final` itself.
        loss = final(definition, layer) + 2.0 * np.maximum(0, 1 - step / (steps - 50)) + 0.01 * (-1.0) ** step
        frames.append(pd.DataFrame({"step": step, "metric": "loss", "value": loss, **row}))
        row["split"] = "val"
        end = [("loss", loss[-1] + 0.1), ("bits_per_byte", loss[-1] / 3)]
        if "ema" in definition:
            end.append(("ema_loss", loss[-1] + 0.05))
        frames += [pd.DataFrame([{"step": steps, "metric": name, "value": value, **row}]) for name, value in end]
    table = pd.concat(frames, ignore_index=True)
    table["run"], table["size"], table["ahead"] = run, size, 1
    table["tokens"] = table["step"] * TOKENS
    table["other_layer"] = pd.array([None] * len(table), dtype="Int16")
    types = {"step": "int32", "tokens": "int64", "layer": "int16", "ahead": "int8"}
    order = ["run", "size", "step", "tokens", "layer", "other_layer", "readout", "ahead", "split", "metric", "value"]
    return table.astype(types)[order]


def write(metrics_dir: Path, runs: dict[str, dict[str, Any]] = RUNS, size: str = "nano") -> None:
    """Write the results of `runs` as training would."""
    (metrics_dir / "runs").mkdir(parents=True, exist_ok=True)
    for run, definition in runs.items():
        folder = metrics_dir / "runs" / run
        folder.mkdir(exist_ok=True)
        layer_metrics(run, definition, size).to_parquet(folder / "layers.parquet", index=False)


def in_memory(rows, runs, depth=2):
    """The views over single rows of `layer_metrics` (what a row leaves out is that of a training loss) and `runs`."""
    connection = duckdb.connect()
    database.create(connection)
    for run, definition in runs.items():
        connection.execute(
            """INSERT INTO runs (run, size, residual, readouts, seed, layers, full_depth, ema, algorithms, setting,
                present)
            VALUES (?, 'nano', ?, ?, ?, ?, ?, ?, ?, ?, true)""",
            [
                run,
                definition["residual"],
                definition["readouts"],
                definition["seed"],
                definition.get("layers", depth),
                "layers" not in definition,
                "ema" in definition,
                definition.get("algorithms", "{}"),
                str([definition.get(key) for key in ("residual", "readouts", "layers", "algorithms")]),
            ],
        )
    if rows:
        connection.executemany(
            """INSERT INTO layer_metrics
        VALUES ($run, 'nano', $step, 10, $layer, $other_layer, $readout, $ahead, $split, $metric, $value)""",
            [
                {
                    "step": 1,
                    "other_layer": None,
                    "readout": "head",
                    "ahead": 1,
                    "split": "train",
                    "metric": "loss",
                    **row,
                }
                for row in rows
            ],
        )
    database.create_views(connection)
    return connection


@pytest.fixture(scope="session")
def warehouse_dir(tmp_path_factory) -> Path:
    """The tables that `collect` makes of all of `RUNS`."""
    metrics = tmp_path_factory.mktemp("metrics")
    write(metrics)
    collect(params(), metrics, metrics / "warehouse")
    return metrics / "warehouse"


@pytest.fixture
def gather(tmp_path):
    """A function that writes the results of some runs and collects those of some definitions; returns the tables."""

    def gather(written: dict[str, dict[str, Any]], defined: dict[str, dict[str, Any]] | None = None) -> Path:
        write(tmp_path / "metrics", written)
        collect(params(written if defined is None else defined), tmp_path / "metrics", tmp_path / "metrics/warehouse")
        return tmp_path / "metrics/warehouse"

    return gather
