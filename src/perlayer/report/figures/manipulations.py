"""What manipulations of the weights of unimportant layers do to perplexity, by their strength."""

from __future__ import annotations

from typing import TYPE_CHECKING

import duckdb

from perlayer.report.figures import style
from perlayer.report.figures.panels import label_stack, panel_rows, stacked_panels
from perlayer.report.figures.perplexity_scale import LEADS, UNMEASURED, finish, percent_scale

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TITLE = "Which manipulations of weights a model survives"
CAPTION = (
    "One column a setup, by its run of the lowest seed, and in it a line a kind of manipulation: by how many percent "
    "perplexity on held-out text rises when the weights of one of the least important layers go part of the way to "
    "others, mean of log-perplexity over those layers, which stand above; bars are the mean of their 95 % intervals "
    "over documents. A tenth of the way to zero is the source's scaling by 0.9 (ring)."
)
KINDS = {
    "scale": ("to zero", "#D55E00", "o"),
    "noise": ("to noise", "#009E73", "^"),
    "neighbour_interpolation": ("to the neighbours' mean", "#0072B2", "s"),
    "neighbour_copy": ("to a neighbour", "#56B4E9", "D"),
    "predicted": ("to what neighbours predict", "#AA4499", "v"),
    "random": ("to random weights", "#222222", "P"),
}


def data(connection: duckdb.DuckDBPyConnection) -> pd.DataFrame:
    """One row a model, kind and strength: changes of perplexity, means over the manipulated layers in its logarithm."""
    return connection.execute(
        f"""SELECT label, run, kind, strength, list(DISTINCT layer ORDER BY layer)::VARCHAR AS layers,
            100 * (exp(avg(in_nats(degradation))) - 1) AS degradation, 100 * (exp(avg(in_nats(low))) - 1) AS low,
            100 * (exp(avg(in_nats(high))) - 1) AS high
        FROM manipulations JOIN ({LEADS}) AS leads USING (run)
        GROUP BY label, place, run, kind, strength
        ORDER BY place, list_position(manipulation_kinds(), kind), kind, strength"""
    ).df()


def draw(connection: duckdb.DuckDBPyConnection) -> Figure:
    """The figure of what is present."""
    from matplotlib.lines import Line2D

    table = data(connection)
    if table.empty:
        return style.empty_figure(UNMEASURED)
    figure = style.new_figure(10.5, 4.2 * panel_rows(table["label"]) + 0.9)
    panels = stacked_panels(figure, table["label"], (1,))
    for label, (axes,) in panels.items():
        mine = table[table["label"] == label]
        _draw_kinds(axes, mine)
        percent_scale(axes, table["low"].min(), table["high"].max())
        label_stack([axes], ["Rise of perplexity"])
        axes.set_xlabel("Share of the way")
        shown = mine["layers"].iloc[0].strip("[]")
        axes.set_title(f"{axes.get_title(loc='left')}\n(layer{'s' if ',' in shown else ''} {shown})", fontsize="medium")
    handles = [
        Line2D([], [], color=colour, marker=marker, markersize=5, linewidth=1.3, label=name)
        for kind, (name, colour, marker) in KINDS.items()
        if (table["kind"] == kind).any()
    ]
    finish(figure, connection, handles, columns=3)
    return figure


def _draw_kinds(axes: Axes, table: pd.DataFrame) -> None:
    axes.axhline(0, color="#222222", linewidth=0.8)
    for kind, (_, colour, marker) in KINDS.items():
        mine = table[table["kind"] == kind]
        reach = (mine["degradation"] - mine["low"], mine["high"] - mine["degradation"])
        look = {"color": colour, "marker": marker, "markersize": 4.5, "linewidth": 1.3, "elinewidth": 0.8, "capsize": 2}
        axes.errorbar(mine["strength"], mine["degradation"], yerr=reach, **look)
    tenth = table[(table["kind"] == "scale") & ((table["strength"] - 0.1).abs() < 1e-9)]
    axes.scatter(tenth["strength"], tenth["degradation"], s=110, facecolors="none", edgecolors="#222222", zorder=4)
    strengths = sorted(table["strength"].unique())
    axes.set_xscale("log")
    axes.minorticks_off()
    axes.set_xticks(strengths, [f"{strength:g}" for strength in strengths], rotation=45)
