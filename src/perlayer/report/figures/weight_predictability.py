"""How well neighbours predict the weights of a layer beside chance, and what replaced layers cost."""

from __future__ import annotations

from typing import TYPE_CHECKING

import duckdb

from perlayer.report.figures import style
from perlayer.report.figures.panels import label_stack, panel_rows, stacked_panels
from perlayer.report.figures.perplexity_scale import LEADS, MATRICES, UNMEASURED, finish, percent_scale

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TITLE = "Do neighbours tell the weights of a layer?"
CAPTION = (
    "One column a setup, by its run of the lowest seed. Above: R2 of each kind of matrix predicted from the layers "
    "before and after, on entries that were not fitted to; a dot a layer. Beside it what chance gives: the same before "
    "training and with the layers in other orders. 0 is no better than the mean; the dotted line is the published R2 "
    "of gate_proj in SmolLM2-135M. Below: by how many percent perplexity on held-out text rises with ever more layers "
    "replaced by their predictions, the best predicted first, with the 95 % interval over documents."
)
PUBLISHED = 0.909
KINDS = {
    "r2": ("as trained", "#D55E00", 0.0),
    "initial": ("before training", "#222222", -0.24),
    "shuffled": ("layers in other orders", "#0072B2", 0.24),
}


def data(connection: duckdb.DuckDBPyConnection) -> pd.DataFrame:
    """One row a model, layer and kind of matrix; and one a model and number of replaced layers."""
    return connection.execute(
        f"""SELECT * EXCLUDE (place) FROM (
            SELECT place, label, run, layer, matrix, r2, initial, shuffled, entries_alone
            FROM predictability JOIN ({LEADS}) USING (run)
            UNION ALL BY NAME
            SELECT place, label, run, layer, replaced, degradation, low, high
            FROM replacements JOIN ({LEADS}) USING (run)
        ) ORDER BY place, replaced NULLS FIRST, list_position(matrices(), matrix), layer"""
    ).df()


def draw(connection: duckdb.DuckDBPyConnection) -> Figure:
    """The figure of what is present."""
    from matplotlib.lines import Line2D

    table = data(connection)
    if table.empty:
        return style.empty_figure(UNMEASURED)
    figure = style.new_figure(10.5, 5.2 * panel_rows(table["label"]) + 0.7)
    panels = stacked_panels(figure, table["label"], (1.3, 1))
    least = min(-0.1, 1.1 * table[list(KINDS)].min().min())
    for label, (above, below) in panels.items():
        mine = table[table["label"] == label]
        _draw_r2(above, mine[mine["matrix"].notna()])
        above.set_ylim(least, 1.02)
        _draw_replaced(below, mine.dropna(subset="replaced"))
        if table["degradation"].notna().any():
            percent_scale(below, table["low"].min(), table["high"].max())
        label_stack([above, below], ["R2", "Rise of perplexity"])
        above.tick_params(labelbottom=True)
        below.set_xlabel("Layers replaced")
    handles = [
        Line2D([], [], color=colour, marker="o", markersize=4, linestyle="", label=name)
        for name, colour, _ in KINDS.values()
    ]
    finish(figure, connection, handles)
    return figure


def _draw_r2(axes: Axes, table: pd.DataFrame) -> None:
    places = {matrix: place for place, matrix in enumerate(MATRICES)}
    axes.axhline(0, color="#222222", linewidth=0.8)
    axes.axhline(PUBLISHED, color="#777777", linestyle=":", linewidth=1.2)
    axes.text(len(places) - 0.5, PUBLISHED - 0.02, "published", ha="right", va="top", fontsize="small", color="#555555")
    for column, (_, colour, shift) in KINDS.items():
        at = table["matrix"].map(places) + shift
        axes.scatter(at, table[column], color=colour, s=12, alpha=0.7, linewidth=0)
    names = [matrix.removesuffix("_proj") for matrix in places]
    axes.set_xticks(range(len(names)), names, rotation=45, ha="right", rotation_mode="anchor")
    axes.set_xlim(-0.6, len(names) - 0.4)
    axes.grid(False, axis="x")


def _draw_replaced(axes: Axes, table: pd.DataFrame) -> None:
    if table.empty:
        style.say(axes, "No layer replaced.")
        return
    axes.axhline(0, color="#222222", linewidth=0.8)
    reach = (table["degradation"] - table["low"], table["high"] - table["degradation"])
    look = {"color": "#D55E00", "marker": "o", "markersize": 4, "linewidth": 1.3, "elinewidth": 1, "capsize": 2.5}
    axes.errorbar(table["replaced"], table["degradation"], yerr=reach, **look)
    style.layer_ticks(axes, table["replaced"], ticks=7)
