"""How weights change from layer to layer, beside what independent layers give."""

from __future__ import annotations

from typing import TYPE_CHECKING

import duckdb

from perlayer.report.figures import style
from perlayer.report.figures.panels import label_stack, panel_rows, stacked_panels
from perlayer.report.figures.perplexity_scale import LEADS, MATRICES, UNMEASURED, finish

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TITLE = "Do weights change from layer to layer in a pattern?"
CAPTION = (
    "One column a setup, by its run of the lowest seed. Above: correlation of consecutive changes of the weights of "
    "each kind of matrix, a dot a layer; grey ticks are what independent layers with the same variances give, -0.50 "
    "(line) where those are equal, and black dots the model before training. Below: share of the variance over layers "
    "that the first principal components explain, mean over kinds of matrix, minus that of independent normal draws of "
    "the same norms: above 0 layers have something in common."
)


def data(connection: duckdb.DuckDBPyConnection) -> pd.DataFrame:
    """One row a model, layer and kind of matrix; and one a model, kind of matrix and number of components."""
    return connection.execute(
        f"""SELECT * EXCLUDE (place) FROM (
            SELECT place, label, run, layer, matrix, correlation, initial, independent, excess
            FROM delta_correlations JOIN ({LEADS}) USING (run)
            UNION ALL BY NAME
            SELECT place, label, run, matrix, components, explained, initial, independent, excess
            FROM weight_components JOIN ({LEADS}) USING (run)
        ) ORDER BY place, components NULLS FIRST, list_position(matrices(), matrix), layer"""
    ).df()


def draw(connection: duckdb.DuckDBPyConnection) -> Figure:
    """The figure of what is present."""
    from matplotlib.lines import Line2D

    table = data(connection)
    if table.empty:
        return style.empty_figure(UNMEASURED)
    figure = style.new_figure(10.5, 5.2 * panel_rows(table["label"]) + 0.7)
    panels = stacked_panels(figure, table["label"], (1.3, 1))
    for label, (above, below) in panels.items():
        mine = table[table["label"] == label]
        _draw_correlations(above, mine[mine["components"].isna()])
        _draw_components(below, mine.dropna(subset="components"))
        label_stack([above, below], ["Correlation", "Share beyond\nindependent layers"])
        above.tick_params(labelbottom=True)
    _share_scales(panels, table)
    marks = {"marker": "o", "markersize": 4, "linestyle": ""}
    handles = [
        Line2D([], [], color="#D55E00", label="as trained", **marks),
        Line2D([], [], color="#222222", label="before training", **marks),
        Line2D([], [], color="#777777", marker="_", markersize=9, linestyle="", label="independent layers"),
    ]
    finish(figure, connection, handles)
    return figure


def _draw_correlations(axes: Axes, table: pd.DataFrame) -> None:
    if table.empty:
        style.say(axes, "It takes three layers.")
        return
    places = {matrix: place for place, matrix in enumerate(MATRICES)}
    at = table["matrix"].map(places)
    axes.axhline(-0.5, color="#222222", linewidth=1)
    words = {"ha": "right", "va": "top", "fontsize": "small", "transform": axes.transAxes}
    axes.text(0.99, 0.97, "line: \N{MINUS SIGN}0.50, which independent layers give", **words)
    axes.scatter(at + 0.2, table["independent"], color="#777777", marker="_", s=60, linewidth=1.2)
    axes.scatter(at - 0.2, table["initial"], color="#222222", s=12, alpha=0.7, linewidth=0)
    axes.scatter(at, table["correlation"], color="#D55E00", s=12, alpha=0.8, linewidth=0, zorder=3)
    names = [matrix.removesuffix("_proj") for matrix in places]
    axes.set_xticks(range(len(names)), names, rotation=45, ha="right", rotation_mode="anchor")
    axes.set_xlim(-0.6, len(names) - 0.4)
    axes.grid(False, axis="x")


def _draw_components(axes: Axes, table: pd.DataFrame) -> None:
    if table.empty:
        style.say(axes, "It takes two layers.")
        return
    table = table.assign(before=table["initial"] - table["independent"])
    means = table.groupby("components")[["excess", "before"]].mean()
    axes.axhline(0, color="#777777", linewidth=1)
    for column, colour in (("before", "#222222"), ("excess", "#D55E00")):
        axes.plot(means.index, means[column], color=colour, marker="o", markersize=4, markeredgewidth=0, linewidth=1.3)
    style.layer_ticks(axes, means.index, ticks=7)
    axes.set_xlabel("Principal components")


def _share_scales(panels: dict[str, list[Axes]], table: pd.DataFrame) -> None:
    """The same scale in each row of all models."""
    correlations = table.loc[table["components"].isna(), ["correlation", "initial", "independent"]]
    shares = table.groupby(["label", "components"])[["explained", "initial", "independent"]].mean()
    reach = max(0.02, 1.2 * shares[["explained", "initial"]].sub(shares["independent"], axis=0).abs().max().max())
    for above, below in panels.values():
        if not correlations.empty:
            above.set_ylim(min(-0.75, correlations.min().min() - 0.05), max(0.05, correlations.max().max() + 0.05))
        if len(shares):
            below.set_ylim(-reach, reach)
            style.signed_ticks(below)
