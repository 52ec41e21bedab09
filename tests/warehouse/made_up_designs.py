"""Made-up results of all residual designs, with known numbers, beside those of `made_up_results`."""

from __future__ import annotations

import made_up_results as made_up
import pandas as pd
import pytest

from perlayer.warehouse.collect import collect

# Of each design: what its plain model adds to the last layer, what its probes add to every layer below, and what its
# separate heads add to all layers above what they cost the sandwich design.
ADDED = {
    "pre_ln": (-0.02, 0.3, 0.02),
    "layernorm_scaling": (0.01, 0.2, -0.02),
    "deepnorm": (0.15, 0.5, 0.04),
    "keel": (0.08, 0.25, 0.0),
    "hyper_connections": (-0.03, -0.2, -0.03),
    "mhc": (-0.025, -0.15, -0.026),
    "attnres_full": (-0.01, 0.1, 0.005),
    "attnres_block": (0.002, 0.15, 0.01),
    "moda": (-0.015, 0.05, 0.015),
}
# What the probes and the lenses of AttnRes models add to that again.
SCRAMBLED = {
    ("attnres_full", "probes"): {1: -0.5, 2: 0.3, 3: 0.5, 4: 0.2, 5: 0.8},
    ("attnres_full", "logit_lens"): {1: -1.0, 2: 2.0, 3: 0.5, 4: 3.0, 5: 4.0},
    ("attnres_block", "logit_lens"): {2: 1.2},
}
TUNED = ("probes", "attnres_full_probes", "attnres_block_probes")


def runs(designs=ADDED) -> dict[str, dict]:
    """Two runs a design, as params.yaml would say."""
    return {
        f"{residual}_{readouts}": {"residual": residual, "readouts": readouts, "seed": 0}
        for residual in designs
        for readouts in ("probes", "separate")
    }


RUNS = made_up.RUNS | runs()


def added(residual: str, readouts: str, layer: int) -> float:
    """What a layer of a run ends above the same layer of the sandwich design."""
    last, below, cost = ADDED.get(residual, (0.0, 0.0, 0.0))
    if readouts == "separate":
        return last + cost
    if layer == made_up.LAYERS:
        return last
    return last + below + SCRAMBLED.get((residual, readouts), {}).get(layer, 0.0)


def final(definition: dict, layer: int) -> float:
    """The loss at which a layer ends."""
    return made_up.final(definition, layer) + added(definition["residual"], definition["readouts"], layer)


def final_losses(some: dict[str, dict]) -> list[dict]:
    """One row a run and layer with what it ends at, for `made_up.in_memory`."""
    rows = []
    for run, definition in some.items():
        depth, setup = definition.get("layers", made_up.LAYERS), definition["readouts"]
        for layer in [depth] if setup == "none" else range(1, depth + 1):
            readout = "head" if layer == depth else made_up.READOUT.get(setup, setup)
            rows.append({"run": run, "layer": layer, "readout": readout, "value": final(definition, layer)})
    return rows


def layer_metrics(run: str, definition: dict) -> pd.DataFrame:
    """The rows of layers.parquet."""
    table = made_up.layer_metrics(run, definition)
    loss = table["metric"].isin(["loss", "ema_loss"])
    more = [added(definition["residual"], definition["readouts"], layer) for layer in table.loc[loss, "layer"]]
    table.loc[loss, "value"] += more
    return table


def lens(run: str, definition: dict, kind: str) -> pd.DataFrame:
    """The rows of lens or tuned_lens."""
    residual = definition["residual"]
    table = made_up.lens(run, kind=kind)
    loss = (table["metric"] == "loss") & (table["split"] == "val")
    last = added(residual, "probes", made_up.LAYERS) + made_up.final(definition, made_up.LAYERS)
    last -= made_up.final(made_up.RUNS.get(run, made_up.PLAIN), made_up.LAYERS)
    scrambled = SCRAMBLED.get((residual, kind), {})
    table.loc[loss, "value"] += [last + scrambled.get(layer, 0.0) for layer in table.loc[loss, "layer"]]
    return table


def analyses(some: dict[str, dict]) -> dict[tuple[str, str], pd.DataFrame]:
    """The lenses of all plain models of the depth of the recipe, tuned ones of some."""
    plain = {run: keys for run, keys in some.items() if keys["readouts"] in ("none", "probes") and "layers" not in keys}
    tables = {("lens", run): lens(run, keys, "logit_lens") for run, keys in plain.items()}
    return tables | {("tuned_lens", run): lens(run, plain[run], "tuned_lens") for run in TUNED if run in plain}


def write(metrics_dir, some: dict[str, dict]) -> None:
    """Write the results of some runs and their lenses as those stages would."""
    for run, definition in some.items():
        made_up.write_tables(metrics_dir / "runs" / run, {"layers": layer_metrics(run, definition)})
    made_up.write_analyses(metrics_dir, analyses(some))


def params(some: dict[str, dict]) -> dict:
    """What params.yaml would say."""
    return {**made_up.params(some), "lens": {"tuned": [run for run in TUNED if run in some]}, "published": {}}


@pytest.fixture(scope="session")
def designs_dir(tmp_path_factory):
    """The tables that `collect` makes of the runs of all designs and their lenses."""
    metrics = tmp_path_factory.mktemp("designs")
    write(metrics, RUNS)
    collect(params(RUNS), metrics, metrics / "warehouse")
    return metrics / "warehouse"
