"""Separate heads with less weight, with a reach of their own layer alone, and with both."""

from __future__ import annotations

from typing import TYPE_CHECKING

import duckdb

from perlayer.report.figures import by_layer, style

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

TITLE = "Two fixes and both: less weight, and each loss training its own layer alone"
CAPTION = (
    "Separate heads by the weight of every layer loss, beside 1 for the last (hollow and dashed: less than 1), and by "
    "what a layer loss trains: all layers below (orange) or its own layer alone (green). Probes and ordinary models "
    "stand behind, in grey. Left: final training loss of the run of the lowest seed. Right: the same minus the "
    "ordinary model of that depth, and at the last layer the mean difference from the baseline of the same seed; the "
    "grey band is the noise floor of the last layer. The right axis is linear near zero and logarithmic beyond."
)
RUNS = """readouts = 'separate' AND weighting LIKE 'uniform %' AND schedule = 'constant' AND surgery = 'none'
    AND layer_dropout = 'none'"""


def data(connection: duckdb.DuckDBPyConnection) -> pd.DataFrame:
    """One row a layer: the loss of ordinary models, probes and each run, and RUN_gap."""
    return by_layer.table(connection, RUNS)


def draw(connection: duckdb.DuckDBPyConnection) -> Figure:
    """The figure of what is present."""
    runs = by_layer.shown(connection, RUNS)
    if runs.empty:
        return style.empty_figure("No run with separate heads is here yet.")
    looks = {}
    for way in runs.itertuples():
        weight = way.weighting.split()[1]
        own, full = way.reach == "own layer", weight == "1"
        looks[way.run] = by_layer.Look(
            label=f"weight {weight}" + (", own layer" if own else ", all below"),
            colour="#009E73" if own else "#D55E00",
            marker="^" if own else "D",
            dashes="-" if full else "--",
            hollow=not full,
        )
    return by_layer.draw(connection, RUNS, looks)
