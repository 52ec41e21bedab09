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
    "Separate heads by the weight of every layer loss, beside 1 for the last (dashed: less than 1), and by what a "
    "layer loss trains: all layers below (orange) or its own layer alone (green). Probes and ordinary models stand "
    f"behind, in grey. {by_layer.PANELS}"
)
RUNS = """readouts = 'separate' AND weighting LIKE 'uniform %' AND schedule = 'constant' AND surgery = 'none'
    AND layer_dropout = 'none' AND other = '' AND total IS NOT NULL"""


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
            marker={(False, True): "D", (False, False): "o", (True, True): "^", (True, False): "v"}[own, full],
            dashes="-" if full else "--",
        )
    return by_layer.draw(connection, RUNS, looks)
