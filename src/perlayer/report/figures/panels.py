"""What the figures of finished models share: which models, in which panels."""

import textwrap
from collections.abc import Iterable

from perlayer.report.figures import style

# Of each setup, design and depth the run of the lowest seed, and the published models.
MODELS = """
    SELECT run, label, place, layers, setup = 'published' AS published FROM dissected_runs WHERE run = representative
"""
UNDISSECTED = "No finished model has shown yet how it uses its depth."
PARTS = {
    "layer": ("whole layer", "#bbbbbb", "s"),
    "attention": ("attention", "#0072B2", "o"),
    "mlp": ("MLP", "#D55E00", "D"),
}
COLUMNS = 6


def stacked(
    table: style.Table, names: Iterable[str], heights: tuple[float, ...], height: float, rest: float = 0.7
) -> tuple[style.Figure, list[tuple[style.Table, list[style.Axes]]]]:
    """A figure of axes one above the other for each name, which stands above them, and the rows of that name.

    At most `COLUMNS` names stand abreast, rows even.

    Args:
        names: one a row of the table.
        heights: of the axes of one name, from above, relative to each other.
        height: of the axes of one name together, inches.
        rest: what the figure has beside them, inches.
    """
    each = list(dict.fromkeys(names))
    blocks, rows = -(-len(each) // COLUMNS), len(heights)
    columns = -(-len(each) // blocks)
    figure = style.new_figure(10.5, height * blocks + rest)
    grid = figure.subplots(blocks * rows, columns, squeeze=False, height_ratios=heights * blocks)
    stacks = [list(stack) for block in range(blocks) for stack in grid[block * rows : (block + 1) * rows].T]
    for stack, name in zip(stacks, each):
        stack[0].set_title("\n".join(textwrap.wrap(name, 17)), fontsize="medium")
    for axes in (axes for stack in stacks[len(each) :] for axes in stack):
        axes.set_axis_off()
    return figure, [(table[names == name], stack) for name, stack in zip(each, stacks)]


def label_stack(stack: list[style.Axes], *names: str) -> None:
    """What the y axes of one stack show, named where it is the first of its row, and tick labels at its foot alone."""
    first = stack[0].get_subplotspec().is_first_col()
    for axes, name in zip(stack, names):
        axes.set_ylabel(name if first else "")
        axes.tick_params(labelleft=first)
        if axes is not stack[-1]:
            axes.set_xlabel("")
            axes.tick_params(labelbottom=False)


def absent(connection: style.Connection, runs: str = "runs_of_depth") -> str:
    """A note of the runs that are to be drawn and have not been dissected; empty when all have."""
    sql = f"SELECT run FROM {runs} WHERE NOT present ORDER BY run"
    return style.absent(connection, sql, "Not drawn, not dissected yet")


def finished(figure: style.Figure, connection: style.Connection, looks: style.Looks) -> style.Figure:
    """The figure with a legend above, and below a note of what is absent."""
    style.legend(figure, looks)
    return style.noted(figure, absent(connection))


def depth_axis(axes: style.Axes, layers: Iterable[int]) -> None:
    """The layers of one model on the x axis, half a layer wider on both sides."""
    style.layer_ticks(axes, layers, ticks=7)
    axes.set_xlim(min(layers) - 0.6, max(layers) + 0.6)
