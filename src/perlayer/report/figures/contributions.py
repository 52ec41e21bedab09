"""What every layer and sublayer adds to the residual stream, and in which direction."""

from __future__ import annotations

from typing import TYPE_CHECKING

import duckdb

from perlayer.report.figures import style
from perlayer.report.figures.panels import (
    LEADS,
    PARTS,
    UNDISSECTED,
    depth_axis,
    finish,
    label_stack,
    panel_rows,
    stacked_panels,
)

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TITLE = "What every layer adds to the residual stream"
CAPTION = (
    "One column a setup or residual design, by its run of the lowest seed, or a published model; means over the "
    "tokens of held-out text. "
    "Above: the length of what a layer, its attention or its MLP adds over that of the residual it is added to; bars "
    "are cut at 1.5, as in the source, and those of whole layers say where they end. Below: the cosine between the "
    "two; above 0 the residual is amplified, below 0 something is erased."
)
MOST = 1.5
WIDTHS = {"layer": (0.86, 0.0), "attention": (0.36, -0.2), "mlp": (0.36, 0.2)}  # of the bars, and where they stand


def data(connection: duckdb.DuckDBPyConnection) -> pd.DataFrame:
    """One row a model, layer and part of it."""
    return connection.execute(
        f"""SELECT label, run, layer, coalesce(sublayer, 'layer') AS part, relative_contribution,
            relative_contribution_p95, cosine, relative_contribution_without_first, cosine_without_first
        FROM contributions JOIN ({LEADS}) USING (run) WHERE layer > 0
        ORDER BY place, layer, list_position(['layer', 'attention', 'mlp'], part)"""
    ).df()


def draw(connection: duckdb.DuckDBPyConnection) -> Figure:
    """The figure of what is present."""
    from matplotlib.lines import Line2D

    table = data(connection)
    if table.empty:
        return style.empty_figure(UNDISSECTED)
    figure = style.new_figure(10.5, 3.7 * panel_rows(table["label"]) + 0.7)
    panels = stacked_panels(figure, table["label"], (1.25, 1))
    reach = 1.1 * table["cosine"].abs().max()
    for label, (bars, lines) in panels.items():
        mine = table[table["label"] == label]
        _draw_bars(bars, mine)
        _draw_cosines(lines, mine)
        lines.set_ylim(-reach, reach)
        for axes in (bars, lines):
            depth_axis(axes, mine)
        label_stack([bars, lines], ["Relative contribution", "Cosine"])
    handles = [
        Line2D([], [], color=colour, marker=marker, linewidth=4 if part == "layer" else 1.5, label=name)
        for part, (name, colour, marker) in PARTS.items()
    ]
    finish(figure, connection, handles)
    return figure


def _draw_bars(axes: Axes, table: pd.DataFrame) -> None:
    for part, (width, shift) in WIDTHS.items():
        mine = table[table["part"] == part]
        values = mine["relative_contribution"]
        axes.bar(mine["layer"] + shift, values.clip(upper=MOST), width, color=PARTS[part][1], linewidth=0)
        if part == "layer":  # sublayers that cancel each other out reach above it
            left, right = mine["layer"] - width / 2, mine["layer"] + width / 2
            axes.hlines(values.clip(upper=MOST), left, right, color="#555555", linewidth=1.6, zorder=3)
            cut = mine[values > MOST]
            for row in cut.itertuples():
                axes.annotate(
                    f"{row.relative_contribution:.3g}", (row.layer, MOST), (0, 3), textcoords="offset points",
                    ha="center", fontsize="small",
                )  # fmt: skip
    axes.set_ylim(0, 1.2 * MOST)
    axes.grid(False, axis="x")


def _draw_cosines(axes: Axes, table: pd.DataFrame) -> None:
    axes.axhline(0, color="#222222", linewidth=0.8)
    for part, (_, colour, marker) in PARTS.items():
        mine = table[table["part"] == part]
        look = {"markersize": 4, "markeredgewidth": 0, "linewidth": 3 if part == "layer" else 1.2}
        axes.plot(mine["layer"], mine["cosine"], color=colour, marker=marker, **look)
