"""Separate heads with uniform and with rising weights, each without and with gradient surgery."""

from __future__ import annotations

from typing import TYPE_CHECKING

import duckdb

from perlayer.report.figures import by_layer, style

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

TITLE = "Weights over depth, without and with gradient surgery"
CAPTION = (
    "Separate heads with the same weight at every layer (orange) or weights that rise with depth and have that mean "
    "(purple), without (solid) and with gradient surgery (dashed): at every token and layer the part of the readout's "
    "gradient that opposes the gradient from above is dropped. In black separate heads at weight 1, in grey probes and "
    f"ordinary models. {by_layer.PANELS}"
)
RUNS = """readouts = 'separate' AND schedule = 'constant' AND reach = 'all below' AND layer_dropout = 'none'
    AND other = '' AND total IS NOT NULL AND (
    standard OR weighting LIKE 'linear %' OR weighting LIKE 'uniform %' AND weighting <> 'uniform 1'
)"""


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
        shape, weight = way.weighting.split()
        cut = way.surgery != "none"
        words = "rising, mean" if shape == "linear" else "uniform"
        colour, markers = ("#AA4499", "ov") if shape == "linear" else ("#D55E00", "Ds")
        looks[way.run] = by_layer.Look(
            label=f"{words} {weight}" + (", surgery" if cut else ""),
            colour="#222222" if way.standard else colour,
            marker=markers[cut],
            dashes="--" if cut else "-",
        )
    return by_layer.draw(connection, RUNS, looks)
