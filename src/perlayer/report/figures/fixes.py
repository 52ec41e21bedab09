"""Separate heads with less weight, with a reach of their own layer alone, and with both."""

from typing import Any

from perlayer.report.figures import by_layer, style

TITLE = "Two fixes and both: less weight, and each loss training its own layer alone"
CAPTION = (
    "Separate heads by the weight of every layer loss, beside 1 for the last (dashed: less than 1), and by what a "
    "layer loss trains: all layers below (orange) or its own layer alone (green). Probes and depth-matched baselines "
    f"stand behind, in grey. {by_layer.PANELS}"
)
EMPTY = "No run with separate heads is here yet."
RUNS = """readouts = 'separate' AND weighting LIKE 'uniform %' AND schedule = 'constant' AND surgery = 'none'
    AND layer_dropout = 'none' AND other = '' AND total IS NOT NULL"""


def data(connection: style.Connection) -> style.Table:
    """One row a layer: the loss of depth-matched baselines, probes and each run, and RUN_gap."""
    return by_layer.table(connection, RUNS)


def draw(table: style.Table, connection: style.Connection) -> style.Figure:
    return by_layer.draw(connection, RUNS, _look, EMPTY)


def _look(run: Any) -> tuple[str, str, str, str]:
    weight = run.weighting.split()[1]
    own, full = run.reach == "own layer", weight == "1"
    marker = {(False, True): "D", (False, False): "o", (True, True): "^", (True, False): "v"}[own, full]
    colour, reach = ("#009E73", "own layer") if own else ("#D55E00", "all below")
    return f"weight {weight}, {reach}", colour, marker, "-" if full else "--"
