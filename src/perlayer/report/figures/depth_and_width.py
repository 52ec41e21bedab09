"""Where plain models end by depth and width."""

from __future__ import annotations

from typing import TYPE_CHECKING

import duckdb

from perlayer.report.figures import style

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TITLE = "What depth and width buy"
CAPTION = (
    "Final training loss of plain models of Sandwich-LN by depth, a mark a run, at the size in use and at its rungs "
    "of sizes, whose models grow in depth, width and tokens together. Lines: least squares on the binary logarithm of "
    "depth over the size in use, and, where other rungs have been run, on those of depth and width over all, "
    "at each width."
)
COLOURS = ("#222222", "#0072B2", "#D55E00", "#009E73", "#AA4499", "#E69F00")
MARKERS = ("s", "o", "D", "^", "v", "P")


def data(connection: duckdb.DuckDBPyConnection) -> pd.DataFrame:
    """One row a run: where it ends, and what the regression over the size in use (and over all) says of it."""
    return connection.execute(
        """WITH plain AS (
            SELECT run, size, rung, seed, layers, round(log2(backbone_parameters / layers) / 2, 6) AS width,
                final_loss AS loss
            FROM runs
            WHERE present AND final_loss IS NOT NULL AND residual = 'sandwich' AND plain
            QUALIFY row_number() OVER (PARTITION BY size, layers, seed ORDER BY readouts, ema, run) = 1
        )
        SELECT run, size, seed, layers, pow(2, width) AS width_scale, loss,
            CASE WHEN rung IS NULL
                THEN mine.intercept + mine.by_depth * log2(layers) + coalesce(mine.by_width, 0) * width END AS fitted,
            every.intercept + every.by_depth * log2(layers) + every.by_width * width AS fitted_over_all
        FROM plain
        LEFT JOIN depth_regression AS mine ON mine.scope = 'size in use'
        LEFT JOIN depth_regression AS every ON every.scope = 'with rungs'
        ORDER BY rung IS NOT NULL, size, layers, seed, run"""
    ).df()


def draw(connection: duckdb.DuckDBPyConnection) -> Figure:
    """The figure of what is present."""
    table = data(connection)
    if table.empty:
        return style.empty_figure("No plain model is here yet.")
    figure = style.new_figure(7.5, 4.4)
    axes = figure.subplots()
    for number, size in enumerate(dict.fromkeys(table["size"])):
        mine = table[table["size"] == size]
        look = {"color": COLOURS[number % len(COLOURS)], "marker": MARKERS[number % len(MARKERS)]}
        axes.scatter(mine["layers"], mine["loss"], s=36, linewidth=0, label=size, zorder=3, **look)
        line = mine.drop_duplicates("layers")
        for column, dashes in (("fitted", "-"), ("fitted_over_all", "--")):
            if line[column].notna().any():
                axes.plot(line["layers"], line[column], color=look["color"], linestyle=dashes, linewidth=1.1)
    _depth_ticks(axes, table["layers"])
    axes.set(xlabel="Layers", ylabel="Final training loss (nats per token)")
    _add_legend(axes, table)
    style.add_note(figure, _absent(connection))
    return figure


def _depth_ticks(axes: Axes, layers: pd.Series) -> None:
    from matplotlib.ticker import NullLocator

    axes.set_xscale("log", base=2)
    axes.xaxis.set_minor_locator(NullLocator())
    ticks = sorted({int(layer) for layer in layers})
    axes.set_xticks(ticks, [str(layer) for layer in ticks])
    axes.set_xlim(min(ticks) / 1.2, max(ticks) * 1.2)


def _add_legend(axes: Axes, table: pd.DataFrame) -> None:
    from matplotlib.lines import Line2D

    handles = axes.get_legend_handles_labels()[0]
    for column, dashes, label in (
        ("fitted", "-", "least squares, size in use"),
        ("fitted_over_all", "--", "least squares, all sizes"),
    ):
        if table[column].notna().any():
            handles.append(Line2D([], [], color="#777777", linestyle=dashes, label=label))
    axes.legend(handles=handles, frameon=False)


def _absent(connection: duckdb.DuckDBPyConnection) -> str:
    """A note of the plain models that are not here; empty when all are."""
    rows = connection.execute(
        """SELECT min_by(run, row(readouts, ema, run)) AS run FROM runs
        WHERE residual = 'sandwich' AND plain
        GROUP BY size, layers, seed HAVING NOT bool_or(present) ORDER BY run"""
    ).fetchall()
    return "Not drawn, no results yet: " + ", ".join(run for (run,) in rows) if rows else ""
