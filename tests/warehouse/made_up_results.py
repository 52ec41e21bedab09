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

RETRAINED = ("probes", "separate")  # the runs whose readouts are retrained
RETRAINING_STEPS = 20
CHANGES = {
    "probes": {1: -0.03, 2: -0.04, 3: -0.02, 4: 0.01, 5: -0.01, 6: 0.002},
    "separate": {1: 0.03, 2: 0.025, 3: 0.022, 4: 0.02, 5: 0.018, 6: 0.016},
}
CHANGE_ERROR = 0.001

# A lens is above the last layer by so much at each layer of an ordinary model, and by a share of that where the layers
# were trained to be read; below the last layer the tuned lens keeps half of it.
EXCESS = {0: 4.0, 1: 3.6, 2: 3.1, 3: 2.8, 4: 2.4, 5: 1.0, 6: 0.0}
SHARE = {"none": 1.0, "probes": 1.0, "separate": 0.5, "shared": 0.2, "shared_stop_gradient": 0.25}
TUNED = ("baseline", "separate", "shared")  # the runs for which a tuned lens is trained
TUNED_STEPS, CHECKPOINT = 10, 8
LENS_ERROR = 0.01
PUBLISHED = {"deep_model": 12}  # a published model and its layers


def params(runs: dict[str, dict[str, Any]] = RUNS, size: str = "nano") -> dict[str, Any]:
    """What params.yaml would say."""
    sections = {"data": {"corpus": "wiki-intros"}, "model": {"layers": LAYERS}, "optimizer": {}, "train": {}}
    return {
        "size": size,
        "recipes": {"nano": sections, "smoke": sections},
        "runs": runs,
        "retrain_heads": {"runs": [run for run in RETRAINED if run in runs]},
        "lens": {"tuned": [run for run in TUNED if run in runs]},
        "published": {name: {"path": "a folder"} for name in PUBLISHED},
    }


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
    return _table(pd.concat(frames, ignore_index=True), run, size)


def _table(table: pd.DataFrame, run: str, size: str) -> pd.DataFrame:
    """The rows in the columns and types of layers.parquet."""
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


def held_out(definition: dict[str, Any], layer: int) -> float:
    """The validation loss at which a layer ends: training losses end 0.01 above `final`."""
    return final(definition, layer) + 0.01 + 0.1


def retrained(run: str, size: str = "nano") -> pd.DataFrame:
    """The rows of retrain_heads: losses that go from those of training to those plus `CHANGES`, in a straight line."""
    rows = []
    for layer, change in CHANGES[RUNS[run]["readouts"]].items():
        row = {"layer": layer, "readout": "retrained"}
        before = held_out(RUNS[run], layer)
        for step in range(1, RETRAINING_STEPS + 1):
            loss = before - 0.1 + change * step / RETRAINING_STEPS
            rows.append({"step": step, "split": "train", "metric": "loss", "value": loss, **row})
        for step in range(0, RETRAINING_STEPS + 1, 5):
            loss = before + change * step / RETRAINING_STEPS
            rows += [
                {"step": step, "split": "val", "metric": "loss", "value": loss, **row},
                {"step": step, "split": "val", "metric": "loss_standard_error", "value": LENS_ERROR, **row},
            ]
        end = {"change": change, "change_standard_error": CHANGE_ERROR, "evaluated_tokens": 5000.0}
        for metric, value in end.items():
            rows.append({"step": RETRAINING_STEPS, "split": "val", "metric": metric, "value": value, **row})
    return _table(pd.DataFrame(rows), run, size)


def excess(setup: str, depth: int, layer: int) -> float:
    """How far the logit lens lies above the last layer; deep models pass through the same values more slowly."""
    place = LAYERS - depth + layer if depth <= LAYERS else layer * LAYERS // depth
    return EXCESS[place] * SHARE[setup]


def lens(run: str, size: str = "nano", kind: str = "logit_lens") -> pd.DataFrame:
    """The rows of lens or tuned_lens: divergences are half of what the loss lies above that of the last layer."""
    definition = RUNS.get(run, {"readouts": "none", "seed": 0})
    depth = PUBLISHED.get(run) or definition.get("layers", LAYERS)
    end = 2.0 if run in PUBLISHED else held_out(definition, depth)
    rows = []
    for layer in range(depth + 1):
        above = excess(definition["readouts"], depth, layer) * (0.5 if kind == "tuned_lens" else 1.0)
        numbers = {
            "loss": end + above,
            "kl_lens_final": 0.6 * above,
            "kl_final_lens": 0.5 * above,
            "top5_overlap": 1 / (1 + abs(above)),
            "argmax_agreement": 1 / (1 + 2 * abs(above)),
            "entropy": 2.0 + above,
        }
        numbers |= {f"{metric}_standard_error": LENS_ERROR for metric in numbers}
        numbers["evaluated_tokens"] = 5000.0
        step = CHECKPOINT if kind == "tuned_lens" else 0
        row = {"layer": layer, "readout": kind}
        rows += [
            {"step": step, "split": "val", "metric": name, "value": value, **row} for name, value in numbers.items()
        ]
        if kind == "tuned_lens" and layer < depth:
            losses = [("kl_final_lens", step, above / step) for step in range(1, TUNED_STEPS + 1)]
            losses += [("sample_kl_final_lens", step, above) for step in (0, CHECKPOINT, TUNED_STEPS)]
            rows += [{"step": s, "split": "train", "metric": name, "value": value, **row} for name, s, value in losses]
    return _table(pd.DataFrame(rows), run, size)


def analyses(runs: dict[str, dict[str, Any]] = RUNS, size: str = "nano") -> dict[tuple[str, str], pd.DataFrame]:
    """The tables of all stages that read the finished `runs` and the published models, by stage and name."""
    tables = {("retrain_heads", run): retrained(run, size) for run in RETRAINED if run in runs}
    tables |= {("lens", run): lens(run, size) for run in runs}
    tables |= {("tuned_lens", run): lens(run, size, "tuned_lens") for run in TUNED if run in runs}
    for name in PUBLISHED:
        kinds = [lens(name, "published", kind) for kind in ("logit_lens", "tuned_lens")]
        tables["published_lens", name] = pd.concat(kinds, ignore_index=True)
    return tables


def write_analyses(metrics_dir: Path, tables: dict[tuple[str, str], pd.DataFrame]) -> None:
    """Write tables by stage and name as those stages would."""
    for (stage, name), table in tables.items():
        folder = metrics_dir / "analyses" / stage / name
        folder.mkdir(parents=True, exist_ok=True)
        table.to_parquet(folder / f"{stage}.parquet", index=False)


def in_memory(rows, runs, depth=2):
    """The views over rows of `layer_metrics` and `runs`.

    Rows may be a whole table, or single ones, where what a row leaves out is that of a training loss.
    """
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
    if len(rows):
        usual = {"size": "nano", "step": 1, "tokens": 10, "other_layer": None, "readout": "head", "ahead": 1}
        usual |= {"split": "train", "metric": "loss"}
        table = rows if isinstance(rows, pd.DataFrame) else pd.DataFrame([{**usual, **row} for row in rows])
        connection.register("made_up", table)
        connection.execute("INSERT INTO layer_metrics BY NAME SELECT * FROM made_up")
        connection.unregister("made_up")
    database.create_views(connection)
    return connection


@pytest.fixture(scope="session")
def warehouse_dir(tmp_path_factory) -> Path:
    """The tables that `collect` makes of all of `RUNS` and all of their analyses."""
    metrics = tmp_path_factory.mktemp("metrics")
    write(metrics)
    write_analyses(metrics, analyses())
    collect(params(), metrics, metrics / "warehouse")
    return metrics / "warehouse"


@pytest.fixture
def gather(tmp_path):
    """A function that writes the results of some runs and collects those of some definitions; returns the tables."""

    def gather(
        written: dict[str, dict[str, Any]],
        defined: dict[str, dict[str, Any]] | None = None,
        analysed: dict[tuple[str, str], pd.DataFrame] | None = None,
    ) -> Path:
        write(tmp_path / "metrics", written)
        write_analyses(tmp_path / "metrics", analysed or {})
        collect(params(written if defined is None else defined), tmp_path / "metrics", tmp_path / "metrics/warehouse")
        return tmp_path / "metrics/warehouse"

    return gather
