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
    "parameters of the layers: below zero it helps. Marks are means over pairs of one seed, lines across them what "
    "counts as noise, the points beside them single pairs. The grey bars are the noise floor: how far plain runs of "
    "that size end apart."
)
APART = 1.03  # single pairs stand beside their mean by this factor, and ways by its square from one another
HALF = 1.12  # bars reach from the size divided by this to the size times this


def data(connection: duckdb.DuckDBPyConnection) -> pd.DataFrame:
    """One row a way of multi-token prediction and size, from small to large; `seed_N` are the differences of pairs."""
    sizes = connection.execute(
        """SELECT way, size, layers, backbone_parameters, tokens, plain, loss, difference, standard_error, noise, floor,
            seeds
        FROM multi_token_sizes WHERE residual = 'sandwich'
        ORDER BY way <> deepseek_v3(), way, backbone_parameters, size"""
    ).df()
    pairs = connection.execute(
        """SELECT way, size, seed, difference FROM multi_token_pairs
        WHERE residual = 'sandwich' AND full_depth AND ahead = 1 AND layer = layers ORDER BY ALL"""
    ).df()
    return style.with_seeds(sizes, pairs, ["way", "size"])


def draw(connection: duckdb.DuckDBPyConnection) -> Figure:
    """The figure of what is present."""
    table = data(connection)
    if table.empty:
        return style.empty_figure(
            "No model with multi-token prediction stands beside a plain model of its size and seed yet."
        )
    figure = style.new_figure(8, 4.4)
    axes = figure.subplots()
    axes.set_xscale("log")
    _draw_floors(axes, table)
    axes.axhline(0, color="#222222", linewidth=0.8)
    ways = list(dict.fromkeys(table["way"]))
    for number, way in enumerate(ways):
        mine = table[table["way"] == way]
        places = mine["backbone_parameters"] * APART ** (2 * number - len(ways) + 1)
        look = {"color": style.WAY_COLOURS[number % len(style.WAY_COLOURS)]}
        bars = {"ecolor": look["color"], "elinewidth": 1.2, "capsize": 4, "zorder": 3}
        known = mine["noise"].notna()
        axes.errorbar(places[known], mine["difference"][known], mine["noise"][known], fmt="none", **bars)
        for seed in mine.filter(like="seed_"):
            axes.scatter(places * APART, mine[seed], **look, **style.SINGLE_PAIR)
        look |= {"marker": style.WAY_MARKERS[number % len(style.WAY_MARKERS)], "markersize": 7, "markeredgewidth": 0}
        axes.plot(places, mine["difference"], label=way, linewidth=1.3, zorder=4, **look)
    axes.use_sticky_edges = False  # room below the grey bars
    style.signed_ticks(axes)
    _name_sizes(axes, table)
    axes.set(ylabel="With minus without (nats per token)")
    figure.legend(loc="outside upper left", ncols=3, frameon=False)
    style.add_note(figure, _absent(connection))
    return figure


def _draw_floors(axes: Axes, table: pd.DataFrame) -> None:
    floors = table.dropna(subset="floor").drop_duplicates("size")
    left = floors["backbone_parameters"] / HALF
    width = floors["backbone_parameters"] * HALF - left
    look = {"align": "edge", "color": "#dddddd", "linewidth": 0, "zorder": 1}
    axes.bar(left, 2 * floors["floor"], width, bottom=-floors["floor"], **look)


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
        "SELECT run FROM multi_token_runs WHERE residual = 'sandwich' AND full_depth AND NOT present ORDER BY run"
    ).fetchall()
    return "Not drawn, no results yet: " + ", ".join(run for (run,) in rows) if rows else ""
