"""What the figures of how finished models use their depth share: which models, in which panels."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable
from typing import TYPE_CHECKING

import duckdb

from perlayer.report.figures import style

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Of each setup, design and depth the run of the lowest seed, and the published models.
LEADS = "SELECT run, label, place, layers, setup = 'published' AS published FROM dissected_runs WHERE run = lead"
UNDISSECTED = "No finished model has shown yet how it uses its depth."
PARTS = {
    "layer": ("whole layer", "#bbbbbb", "s"),
    "attention": ("attention", "#0072B2", "o"),
    "mlp": ("MLP", "#D55E00", "D"),
}
COLUMNS = 6


def panel_rows(names: Iterable[str]) -> int:
    """How many rows of names `stacked_panels` makes."""
    return -(-len(set(names)) // COLUMNS)


def stacked_panels(figure: Figure, names: Iterable[str], heights: tuple[float, ...]) -> dict[str, list[Axes]]:
    """Axes one above the other for each name, which stands above them; at most `COLUMNS` names abreast, rows even.

    Args:
        heights: of the axes of one name, from above, relative to each other.
    """
    names = list(dict.fromkeys(names))
    blocks, rows = panel_rows(names), len(heights)
    columns = -(-len(names) // blocks)
    grid = figure.subplots(blocks * rows, columns, squeeze=False, height_ratios=heights * blocks)
    panels = {}
    for place in range(blocks * columns):
        block, column = divmod(place, columns)
        stack = list(grid[block * rows : (block + 1) * rows, column])
        if place < len(names):
            panels[names[place]] = stack
            stack[0].set_title("\n".join(textwrap.wrap(names[place], 17)), fontsize="medium")
        else:
            for axes in stack:
                axes.set_axis_off()
    return panels


def label_stack(stack: list[Axes], names: Iterable[str]) -> None:
    """What the y axes of one stack show, named where it is the first of its row, and tick labels at its foot alone."""
    first = stack[0].get_subplotspec().is_first_col()
    for axes, name in zip(stack, names):
        axes.set_ylabel(name if first else "")
        axes.tick_params(labelleft=first)
        if axes is not stack[-1]:
            axes.set_xlabel("")
            axes.tick_params(labelbottom=False)


def absent(connection: duckdb.DuckDBPyConnection) -> str:
    """A note of the runs that are to be drawn and have not been dissected; empty when all have."""
    rows = connection.execute("SELECT run FROM runs_of_depth WHERE NOT present ORDER BY run").fetchall()
    return "Not drawn, not dissected yet: " + ", ".join(run for (run,) in rows) if rows else ""


def is_any(connection: duckdb.DuckDBPyConnection, rows: str) -> bool:
    """Whether there are rows: of a view, all or those WHERE something holds."""
    return connection.execute(f"SELECT count(*) > 0 FROM {rows}").fetchone()[0]


def finish(figure: Figure, connection: duckdb.DuckDBPyConnection, handles: list) -> None:
    """The legend above, below a note of what is absent, and the layout."""
    figure.legend(handles=handles, loc="outside upper left", ncols=len(handles), frameon=False)
    style.add_note(figure, absent(connection))


def depth_axis(axes: Axes, table: pd.DataFrame) -> None:
    """The layers of one model on the x axis, half a layer wider on both sides."""
    layers = table["layer"]
    style.layer_ticks(axes, layers, ticks=7)
    axes.set_xlim(layers.min() - 0.6, layers.max() + 0.6)
