"""Separate heads with uniform and with rising weights, each without and with gradient surgery."""

from typing import Any

from perlayer.report.figures import by_layer, style

TITLE = "Weights over depth, without and with gradient surgery"
CAPTION = (
    "Separate heads with the same weight at every layer (orange) or weights that rise with depth and have that mean "
    "(purple), without (solid) and with gradient surgery (dashed): at every token and layer the part of the readout's "
    "gradient that opposes the gradient from above is dropped. In black separate heads at weight 1, in grey probes and "
    f"depth-matched baselines. {by_layer.PANELS}"
)
EMPTY = "No run with separate heads is here yet."
RUNS = """readouts = 'separate' AND schedule = 'constant' AND reach = 'all below' AND layer_dropout = 'none'
    AND other = '' AND total IS NOT NULL AND (
    standard OR weighting LIKE 'linear %' OR weighting LIKE 'uniform %' AND weighting <> 'uniform 1'
)"""


def data(connection: style.Connection) -> style.Table:
    """One row a layer: the loss of depth-matched baselines, probes and each run, and RUN_gap."""
    return by_layer.table(connection, RUNS)


def draw(table: style.Table, connection: style.Connection) -> style.Figure:
    return by_layer.draw(connection, RUNS, _look, EMPTY)


def _look(run: Any) -> tuple[str, str, str, str]:
    shape, weight = run.weighting.split()
    words, colour, markers = ("rising, mean", "#AA4499", "ov") if shape == "linear" else ("uniform", "#D55E00", "Ds")
    cut = run.surgery != "none"
    label = f"{words} {weight}{', surgery' if cut else ''}"
    return label, "#222222" if run.standard else colour, markers[cut], "--" if cut else "-"
