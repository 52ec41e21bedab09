"""Made-up results of runs, with known numbers: what a training stage would leave behind."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import duckdb
import made_up_anatomy
import made_up_depth
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from perlayer.catalogue import catalogue
from perlayer.comparison import Rule
from perlayer.depth.tables import Route
from perlayer.params import load
from perlayer.questions.claims import write_claims
from perlayer.questions.question import Question
from perlayer.store import fresh_folder, set_about
from perlayer.tables import schema_of
from perlayer.warehouse import database
from perlayer.warehouse.collect import collect
from perlayer.warehouse.tables import TABLES

ROOT = Path(__file__).parents[2]
LAYERS = 6
STEPS = 120
PARAMETERS = 1000  # a layer
TOKENS = 2048  # a step
DEPTH_MATCHED = {1: 3.2, 2: 3.0, 3: 2.95, 4: 2.92, 5: 2.90, 6: 2.89}
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

# Every other way to supervise the layers, at seed 0, and deeper models. They stand beside `RUNS`, since what those say
# must not change with these.
PLAIN = {"residual": "sandwich", "readouts": "none", "seed": 0}
SEPARATE, SHARED = {**PLAIN, "readouts": "separate"}, {**PLAIN, "readouts": "shared"}
FIFTH = {"shape": "uniform", "weight": 0.2}
RISING = {"shape": "linear", "weight": 0.2}
SUPERVISION: dict[str, dict[str, Any]] = {
    "sum_to_one": {**SEPARATE, "weighting": FIFTH},
    "own_layer": {**SEPARATE, "gradient_reach": "own_layer"},
    "own_layer_sum_to_one": {**SEPARATE, "weighting": FIFTH, "gradient_reach": "own_layer"},
    "surgery_sum_to_one": {**SEPARATE, "weighting": FIFTH, "gradient_surgery": "per_token"},
    "rising": {**SEPARATE, "weighting": RISING},
    "rising_surgery": {**SEPARATE, "weighting": RISING, "gradient_surgery": "per_token"},
    "shared_off_early": {**SHARED, "schedule": {"kind": "off", "step": 2}},
    "shared_off_late": {**SHARED, "schedule": {"kind": "off", "step": 4}},
    "shared_fade": {**SHARED, "schedule": {"kind": "linear_to_zero", "steps": 4}},
    "layerskip": {
        **SHARED,
        "weighting": {"shape": "layerskip", "scale": 0.2},
        "schedule": {"kind": "rotational", "every": 5},
        "layer_dropout": {"most": 0.1, "over_training": "exponential"},
    },
    "llal": {
        **SHARED,
        "weighting": {"shape": "list", "weights": [0.1, 0, 0, 0, 0]},
        "schedule": {"kind": "linear_to_zero", "steps": 13},
    },
    "deeply_supervised": {**SEPARATE, "schedule": {"kind": "threshold", "loss": 3.1}},
    "separate_depth_2": {**SEPARATE, "layers": 2},
    "separate_depth_4": {**SEPARATE, "layers": 4},
    "separate_depth_12": {**SEPARATE, "layers": 12},
    "depth_12": {**PLAIN, "layers": 12},
}
# What their last layer pays, and what every layer below it lies above its depth-matched baseline.
COSTS = {
    "sum_to_one": (0.02, 0.2),
    "own_layer": (0.03, 0.35),
    "own_layer_sum_to_one": (0.003, 0.4),
    "surgery_sum_to_one": (0.019, 0.21),
    "rising": (0.013, 0.3),
    "rising_surgery": (0.012, 0.31),
    "shared_off_early": (0.001, 2.0),
    "shared_off_late": (-0.002, 1.8),
    "shared_fade": (0.003, 1.9),
    "layerskip": (0.05, 0.25),
    "llal": (-0.01, 1.5),
    "deeply_supervised": (-0.02, 0.5),
    "separate_depth_2": (0.02, 0.3),
    "separate_depth_4": (0.04, 0.2),
    "separate_depth_12": (0.09, 0.15),
    "depth_12": (0.0, 0.0),
}
# The views that all of these runs leave empty, since none of them reads or predicts the token after next.
OF_LATER_TOKENS = (
    "future",
    "multi_token_layers",
)
OF_GROWTH = ("growth_stages", "growth_effects")  # which they leave empty, too
OF_PROMPTS = ("group_scores", "depth_growth")  # and these
WATCHED = {  # runs with diagnostics, which change nothing
    run: {**definition, "gradient_cosines": {"every": 50}} if run in ("baseline", "separate", "shared") else definition
    for run, definition in RUNS.items()
}
# Cosine with the final loss's gradient of the layer losses' summed gradients, but for 0.01 more at each measured step.
SUMMED = {"none": 0.1, "separate": 0.85, "shared": 0.8}
GROWTH = {"separate": 0.03, "shared": 0.04}  # of what the last layer pays, from the first step on

RETRAINED = ("probes", "separate")  # the runs whose readouts are retrained
RETRAINING_STEPS = 20
CHANGES = {
    "probes": {1: -0.03, 2: -0.04, 3: -0.02, 4: 0.01, 5: -0.01, 6: 0.002},
    "separate": {1: 0.03, 2: 0.025, 3: 0.022, 4: 0.02, 5: 0.018, 6: 0.016},
}
CHANGE_ERROR = 0.001

# A lens is above the last layer by so much at each layer of a depth-matched baseline, and by a share of that where
# the layers were trained to be read; below the last layer the tuned lens keeps half of it.
EXCESS = {0: 4.0, 1: 3.6, 2: 3.1, 3: 2.8, 4: 2.4, 5: 1.0, 6: 0.0}
SHARE = {"none": 1.0, "probes": 1.0, "separate": 0.5, "shared": 0.2, "shared_stop_gradient": 0.25}
TUNED = ("baseline", "separate", "shared")  # the runs for which a tuned lens is trained
TUNED_STEPS, CHECKPOINT = 10, 8
LENS_ERROR = 0.01
PUBLISHED = {"deep_model": 12}  # a published model and its layers

STREAMS = 2  # of a run that routes between streams
ROUTING = {"separate": "streams", "shared": "sources"}  # the runs that show how they route, and between what
# The runs whose use of depth is dissected, and by which factor their second half adds more or less.
DISSECTED = {"baseline": 1.0, "probes_seed_1": 1.02, "probes_seed_2": 0.97, "separate": 0.5, "shared": 0.4}
# Between which runs there are linear maps, and from which layer each layer of the second is mapped best.
PAIRS = {
    "shallow_to_deep": ("depth_3", "baseline", [1, 1, 2, 2, 3, 3]),
    "seed_to_seed": ("baseline", "probes_seed_1", [1, 2, 3, 5, 6, 6]),
    "baseline_to_separate": ("baseline", "separate", [6] * 6),
}


def recipe(layers: int) -> dict[str, Any]:
    """That of nano, at some depth, over as many updates as runs are made up for."""
    nano = load(ROOT / "params.yaml")["recipes"]["nano"]
    return {**nano, "model": {**nano["model"], "layers": layers}, "train": {**nano["train"], "steps": STEPS}}


def params(runs: dict[str, dict[str, Any]] = RUNS, size: str = "nano") -> dict[str, Any]:
    """What params.yaml would say."""
    return {
        "size": size,
        "recipes": {"nano": recipe(LAYERS), "smoke": recipe(LAYERS)},
        "runs": runs,
        "rungs": {},
        "retrain_heads": {"runs": [run for run in RETRAINED if run in runs]},
        "lens": {"tuned": [run for run in TUNED if run in runs]},
        "routing": {"runs": [run for run in ROUTING if run in runs]},
        "depth": {"runs": [run for run in DISSECTED if run in runs]},
        "depth_maps": {
            name: {"from": pair[0], "to": pair[1]} for name, pair in PAIRS.items() if {*pair[:2]} <= {*runs}
        },
        "anatomy": {"runs": [run for run in made_up_anatomy.SEEDS if run in runs]},
        "published": {name: {"path": "a folder"} for name in PUBLISHED},
        "report": {"confidence": 0.99, "smallest_effect": 0.02},
    }


def depth_matched(layers: int) -> float:
    """The loss at which a depth-matched baseline ends: deeper ones gain ever less."""
    deepest = max(DEPTH_MATCHED)
    return DEPTH_MATCHED[layers] if layers in DEPTH_MATCHED else DEPTH_MATCHED[deepest] - 0.05 * (1 - deepest / layers)


def way(definition: dict[str, Any]) -> str | None:
    """Under which name `SUPERVISION` has these keys."""
    mine = {key: value for key, value in definition.items() if key != "gradient_cosines"} | {"seed": 0}
    return next((run for run, keys in SUPERVISION.items() if mine == keys), None)


def final(definition: dict[str, Any], layer: int) -> float:
    """The loss at which a layer ends."""
    depth = definition.get("layers", LAYERS)
    setup = definition["readouts"]
    if way(definition):
        last, below = COSTS[way(definition)]
        return depth_matched(layer) + (last if layer == depth else below / layer) + SEEDS[definition["seed"]]
    gap = GAPS[setup][layer] if setup in GAPS and depth == LAYERS else 0.0
    seed = definition["seed"]
    extra = 0.0 if setup == "none" or (setup == "probes" and layer == depth) else SETUP_SEEDS.get((setup, seed), 0.0)
    extra += 0.01 * seed if setup == "probes" and layer < depth else 0.0
    return DEPTH_MATCHED[layer] + gap + SEEDS[seed] + extra


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
        fall = 2.0 - (GROWTH.get(setup, 0.0) if layer == depth else 0.0)
        loss = final(definition, layer) + fall * np.maximum(0, 1 - step / (steps - 50)) + 0.01 * (-1.0) ** step
        frames.append(pd.DataFrame({"step": step, "metric": "loss", "value": loss, **row}))
        row["split"] = "val"
        end = [("loss", loss[-1] + 0.1), ("bits_per_byte", loss[-1] / 3)]
        if "ema" in definition:
            end.append(("ema_loss", loss[-1] + 0.05))
        frames += [pd.DataFrame([{"step": steps, "metric": name, "value": value, **row}]) for name, value in end]
    if "gradient_cosines" in definition:
        frames += [gradients(setup, depth, steps, definition["gradient_cosines"]["every"])]
    return _table(pd.concat(frames, ignore_index=True), run, size)


def gradients(setup: str, depth: int, steps: int, every: int) -> pd.DataFrame:
    """Gradients whose cosine is the share of the depth, less a hundredth a layer of the model, and norm the layer."""
    readout = setup if setup in ("separate", "shared", "shared_stop_gradient") else "counterfactual"
    rows = []
    for step in range(1, steps + 1, every):
        for layer in range(1, depth + 1):
            for other in (None, *range(1, layer + 1)):
                numbers = {"gradient_norm": float(layer)}
                if layer < depth:
                    numbers["gradient_cosine"] = layer / depth - 0.01 * (other or 0)
                elif other is None:
                    summed = SUMMED[setup] + 0.01 * (step // every)
                    numbers |= {"summed_gradient_cosine": summed, "summed_gradient_norm": 7.0}
                row = {"step": step, "layer": layer, "other_layer": other, "split": "train"}
                row["readout"] = "head" if layer == depth else readout
                rows += [{"metric": name, "value": value, **row} for name, value in numbers.items()]
    return pd.DataFrame(rows)


def _table(table: pd.DataFrame, run: str, size: str) -> pd.DataFrame:
    """The rows in the columns and types of layers.parquet."""
    table["run"], table["size"], table["ahead"] = run, size, 1
    table["tokens"] = table["step"] * TOKENS
    table["other_layer"] = table.get("other_layer", pd.Series([None] * len(table))).astype("Int16")
    types = {"step": "int32", "tokens": "int64", "layer": "int16", "ahead": "int8"}
    order = ["run", "size", "step", "tokens", "layer", "other_layer", "readout", "ahead", "split", "metric", "value"]
    return table.astype(types)[order]


def validation(runs: dict[str, dict[str, Any]]) -> list[pd.DataFrame]:
    """The rows of the validation losses at the end of training, a table a run."""
    tables = []
    for run, definition in runs.items():
        depth, setup = definition.get("layers", LAYERS), definition["readouts"]
        rows = []
        for layer in [depth] if setup == "none" else range(1, depth + 1):
            readout = "head" if layer == depth else READOUT.get(setup, setup)
            rows.append({"layer": layer, "readout": readout, "value": held_out(definition, layer)})
        tables.append(_table(pd.DataFrame(rows).assign(step=STEPS, split="val", metric="loss"), run, "nano"))
    return tables


def write_tables(folder: Path, tables: dict[str, pd.DataFrame], size: str = "nano") -> None:
    """Write tables as a stage leaves them, NAME.parquet each, with a manifest that says of which size they are."""
    with fresh_folder(folder) as fresh:
        for name, table in tables.items():
            table.to_parquet(fresh / f"{name}.parquet", index=False)
    set_about(folder, {"params": {"size": size}})


def write(metrics_dir: Path, runs: dict[str, dict[str, Any]] = RUNS, size: str = "nano") -> None:
    """Write the results of `runs` as training would."""
    for run, definition in runs.items():
        write_tables(metrics_dir / "runs" / run, {"layers": layer_metrics(run, definition, size)}, size)


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


def analyses(runs: dict[str, dict[str, Any]] = RUNS, size: str = "nano") -> dict[tuple[str, str], Any]:
    """The tables of all stages that read the finished `runs` and the published models, by stage and name."""
    tables = {("retrain_heads", run): retrained(run, size) for run in RETRAINED if run in runs}
    tables |= {("lens", run): lens(run, size) for run in runs}
    tables |= {("tuned_lens", run): lens(run, size, "tuned_lens") for run in TUNED if run in runs}
    tables |= {("routing", run): routing(run) for run in ROUTING if run in runs}
    tables |= {
        ("depth", run): made_up_depth.dissection(run, **made_up_depth.scaled(factor))
        for run, factor in DISSECTED.items()
        if run in runs
    }
    for name, (source, target, best) in PAIRS.items():
        if {source, target} <= {*runs}:
            sources = runs[source].get("layers", LAYERS)
            tables["depth_maps", name] = made_up_depth.maps(name, best, sources)
    tables |= {
        ("anatomy", run): made_up_anatomy.anatomy(run, **made_up_anatomy.scaled(factor))
        for run, factor in made_up_anatomy.SEEDS.items()
        if run in runs
    }
    for name in PUBLISHED:
        kinds = [lens(name, "published", kind) for kind in ("logit_lens", "tuned_lens")]
        tables["published_lens", name] = pd.concat(kinds, ignore_index=True)
    return tables


def routing(run: str) -> dict[str, pd.DataFrame]:
    """The table routing: at place p stream k is read by 0.1 k + 0.01 p, source i by (i + 1) over their sum."""
    rows = []
    for place in range(2 * LAYERS + 1):
        layer, sublayer = place // 2 + 1, ("attention", "mlp")[place % 2]
        if place == 2 * LAYERS:
            layer, sublayer = LAYERS, "head"
        at = (run, layer, sublayer, place)
        if ROUTING[run] == "sources":
            weights = np.arange(1, place + 2) / sum(range(1, place + 2))
            rows += [Route(*at, source, source_weight=weight) for source, weight in enumerate(weights)]
            rows.append(Route(*at, None, source_entropy=-(weights * np.log(weights)).sum()))
        elif sublayer != "head":
            rows += [Route(*at, k, read=0.1 * k + 0.01 * place, write=1 - 0.05 * k) for k in range(1, STREAMS + 1)]
            gains = [factor * (1 + growth * place) for growth in (0.1, 0.2) for factor in (1.0, 2.0)]
            names = ("forward_gain", "greatest_forward_gain", "backward_gain", "greatest_backward_gain")
            rows.append(Route(*at, None, **dict(zip(names, gains)), least_column_sum=1 - 0.02 * place))
    return made_up_depth.frames(routing=rows)


def together(*tables: dict[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
    """The rows of several models, in one table of each kind."""
    names = dict.fromkeys(name for each in tables for name in each)
    return {name: pd.concat([each[name] for each in tables if name in each], ignore_index=True) for name in names}


def write_analyses(
    metrics_dir: Path, tables: dict[tuple[str, str], pd.DataFrame | dict[str, pd.DataFrame]], size: str = "nano"
) -> None:
    """Write tables by stage and name as those stages would: several by name, or that of per-layer metrics."""
    for (stage, name), table in tables.items():
        write_tables(
            metrics_dir / "analyses" / stage / name, table if isinstance(table, dict) else {"layers": table}, size
        )


@functools.cache
def _empty(asked: tuple[Path, ...]) -> duckdb.DuckDBPyConnection:
    """A database of the empty tables and the views, with those of the folders of some questions."""
    connection = duckdb.connect()
    database.create(connection)
    own = {path.stem: path.read_text() for folder in asked for path in folder.glob("views/*.sql")}
    database.create_views(connection, database.all_views(own))
    return connection


def in_memory(rows, runs, depth=2, question=None, rungs=None, ends=None):
    """The views over rows of `layer_metrics` and `runs`, and the claims of one question or of several.

    Rows may be a whole table, or single ones, where what a row leaves out is that of a training loss, or several tables
    by name. `ends`: columns of `runs`, by run. The rows are in a transaction that ends with the connection, so no other
    connection sees them.
    """
    asked = [question] if isinstance(question, Question) else list(question or ())
    connection = _empty(tuple(one.folder for one in asked)).cursor()
    connection.begin()
    database.insert(connection, "rule", [Rule(0.99, 0.02)])
    said = {"size": "nano", "recipes": {"nano": recipe(depth)}, "runs": runs, "rungs": rungs or {}}
    database.insert(connection, "runs", catalogue(said, present=runs))
    for run, columns in (ends or {}).items():
        named = ", ".join(f"{name} = ?" for name in columns)
        connection.execute(f"UPDATE runs SET {named} WHERE run = ?", [*columns.values(), run])
    if isinstance(rows, dict):
        for name, table in rows.items():
            schema = schema_of(TABLES[name])
            database.insert(connection, name, pa.Table.from_pandas(table, schema, preserve_index=False))
    elif len(rows):
        usual = {"size": "nano", "step": 1, "tokens": 10, "other_layer": None, "readout": "head", "ahead": 1}
        usual |= {"split": "train", "metric": "loss"}
        table = rows if isinstance(rows, pd.DataFrame) else pd.DataFrame([{**usual, **row} for row in rows])
        _insert(connection, "layer_metrics", table)
    if asked:
        write_claims(connection, asked)
    return connection


def verdicts(connection: duckdb.DuckDBPyConnection) -> dict[str, str]:
    """The verdict of each claim that was judged, by its name."""
    return dict(connection.execute("SELECT claim, verdict FROM claims").fetchall())


def _insert(connection: duckdb.DuckDBPyConnection, name: str, table: pd.DataFrame) -> None:
    connection.register("made_up", table)
    connection.execute(f"INSERT INTO {name} BY NAME SELECT * FROM made_up")
    connection.unregister("made_up")


@pytest.fixture(scope="session")
def warehouse_dir(tmp_path_factory) -> Path:
    """The tables that `collect` makes of all of `RUNS` and all of their analyses."""
    metrics = tmp_path_factory.mktemp("metrics")
    write(metrics)
    write_analyses(metrics, analyses())
    collect(params(), metrics, metrics / "warehouse")
    return metrics / "warehouse"


@pytest.fixture(scope="session")
def supervision_dir(tmp_path_factory) -> Path:
    """The tables of `RUNS` and `SUPERVISION`, with gradients of some, and the analyses of `RUNS`."""
    metrics = tmp_path_factory.mktemp("supervision")
    write(metrics, WATCHED | SUPERVISION)
    write_analyses(metrics, analyses())
    collect(params(WATCHED | SUPERVISION), metrics, metrics / "warehouse")
    return metrics / "warehouse"


def gathered(
    folder: Path,
    written: dict[str, dict[str, Any]],
    defined: dict[str, dict[str, Any]] | None = None,
    analysed: dict[tuple[str, str], pd.DataFrame] | None = None,
) -> Path:
    """Write the results of some runs and collect those of some definitions; returns the tables."""
    write(folder / "metrics", written)
    write_analyses(folder / "metrics", analysed or {})
    collect(params(written if defined is None else defined), folder / "metrics", folder / "metrics/warehouse")
    return folder / "metrics/warehouse"


@pytest.fixture
def gather(tmp_path):
    """`gathered`, in a folder of this test."""
    return functools.partial(gathered, tmp_path)
