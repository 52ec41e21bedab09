"""What multi-token prediction changes in the last layer's next-token loss, by size of the model."""

from __future__ import annotations

from typing import TYPE_CHECKING

import duckdb

from perlayer.report.figures import style

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TITLE = "Multi-token prediction and the next token, by size"
CAPTION = (
    "Final training loss of the last layer on the next token with multi-token prediction minus without, against the "
    "parameters of the layers: below zero it helps. Marks are differences of means over seeds, lines across them the "
    "intervals by which the claim is judged, where there are some."
)
APART = 1.06  # methods stand apart by this factor


def data(connection: duckdb.DuckDBPyConnection) -> pd.DataFrame:
    """One row a method of multi-token prediction and size, from small to large."""
    return connection.execute(
        """SELECT method, multi.size, multi.layers, backbone_parameters, tokens, multi.plain, loss, difference, low,
            high, multi.seeds, plain_seeds
        FROM multi_token_layers AS multi JOIN runs ON run = "group"
        LEFT JOIN contrasts
            ON question = 'Q8' AND claim = 'no_gain' AND part = multi.size AND method = deepseek_v3()
        WHERE multi.residual = 'sandwich' AND multi.full_depth AND readout = 'head'
        ORDER BY method <> deepseek_v3(), method, backbone_parameters, multi.size"""
    ).df()


def draw(connection: duckdb.DuckDBPyConnection) -> Figure:
    """The figure of what is present."""
    table = data(connection)
    if table.empty:
        return style.empty_figure("No model with multi-token prediction stands beside a plain model of its size yet.")
    figure = style.new_figure(8, 4.4)
    axes = figure.subplots()
    axes.set_xscale("log")
    axes.axhline(0, color="#222222", linewidth=0.8)
    methods = list(dict.fromkeys(table["method"]))
    for number, method in enumerate(methods):
        mine = table[table["method"] == method]
        places = mine["backbone_parameters"] * APART ** (number - (len(methods) - 1) / 2)
        look = {"color": style.WAY_COLOURS[number % len(style.WAY_COLOURS)]}
        axes.vlines(places, mine["low"], mine["high"], linewidth=1.2, zorder=3, **look)
        look |= {"marker": style.WAY_MARKERS[number % len(style.WAY_MARKERS)], "markersize": 7, "markeredgewidth": 0}
        axes.plot(places, mine["difference"], label=method, linewidth=1.3, zorder=4, **look)
    style.signed_ticks(axes)
    _name_sizes(axes, table)
    axes.set(ylabel="With minus without (nats per token)")
    figure.legend(loc="outside upper left", ncols=3, frameon=False)
    style.add_note(figure, _absent(connection))
    return figure


def _name_sizes(axes: Axes, table: pd.DataFrame) -> None:
    """The sizes by name and parameters, each below its place, and room at both ends."""
    from matplotlib.ticker import EngFormatter, NullLocator

    sizes = table.drop_duplicates("size")
    engineering = EngFormatter(places=0, sep="\u202f")
    labels = [f"{engineering(row.backbone_parameters)}\n{row.size}" for row in sizes.itertuples()]
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xticks(sizes["backbone_parameters"], labels)
    axes.set_xlim(sizes["backbone_parameters"].min() / 1.6, sizes["backbone_parameters"].max() * 1.6)
    axes.set_xlabel("Parameters of the layers")


def _absent(connection: duckdb.DuckDBPyConnection) -> str:
    """A note of the runs with multi-token prediction that are not here; empty when all are."""
    rows = connection.execute(
        """SELECT run FROM runs WHERE changes = 'multi_token_prediction' AND readouts IN ('none', 'probes')
            AND residual = 'sandwich' AND full_depth AND NOT present ORDER BY run"""
    ).fetchall()
    return "Not drawn, no results yet: " + ", ".join(run for (run,) in rows) if rows else ""
