"""By which weights the sublayers of finished models read and write, where the residual design routes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import duckdb

from perlayer.report.figures import style

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure
    from matplotlib.image import AxesImage

TITLE = "How residual designs route"
CAPTION = (
    "Means over the tokens of held-out text. Designs with several streams, a row each: by which weight each sublayer "
    "reads and writes each stream, and the product of the mixing matrices from the first sublayer on: its forward gain "
    "(greatest |row sum|), backward gain (greatest |column sum|) and least column sum; dotted: both gains at the token "
    "where they are greatest. A doubly stochastic product has 1 everywhere. Designs that attend over depth: the weight "
    "that each sublayer (row, the first at the top, the head at the bottom) gives each source (column); source 0 is "
    "the embedding, the others are the outputs of sublayers or of blocks, the running block last. Colours there follow "
    "the square root of the weight, since the first reader has one source alone."
)
GAINS = {
    "forward_gain": ("forward gain", "#0072B2", "o", "greatest_forward_gain"),
    "backward_gain": ("backward gain", "#D55E00", "D", "greatest_backward_gain"),
    "least_column_sum": ("least column sum", "#009E73", "^", None),
}
MAPS = 3  # of attention over depth, side by side


def data(connection: duckdb.DuckDBPyConnection) -> pd.DataFrame:
    """One row a run, sublayer and stream or source (`other_layer`), and one without for what belongs to none.

    `name` is the design's, above the run's where several of one design are here.
    """
    return connection.execute(
        """WITH named AS (
            SELECT run, residual, readouts, seed, design_name(residual) || CASE
                WHEN count(*) OVER (PARTITION BY residual) > 1 THEN chr(10) || run ELSE '' END AS name
            FROM recipe_runs WHERE run IN (SELECT run FROM routing)
        )
        SELECT residual, name, routing.* FROM routing JOIN named USING (run)
        ORDER BY design_place(residual), residual, readouts, seed, run, place, other_layer NULLS FIRST"""
    ).df()


def draw(connection: duckdb.DuckDBPyConnection) -> Figure:
    """The figure of what is present."""
    table = data(connection)
    if table.empty:
        return style.empty_figure("No finished model has shown yet how it routes.")
    streams = _runs(table, ["read", "write", "forward_gain"])
    sources = _runs(table, ["source_weight"])
    heights = [2.6 * len(streams), 3.4 * -(-len(sources) // MAPS)]
    figure = style.new_figure(10.5, sum(heights) + 0.7)
    parts = figure.subfigures(sum(height > 0 for height in heights), 1, height_ratios=[h for h in heights if h])
    parts = list(parts) if len(streams) and len(sources) else [parts]
    if streams:
        _draw_streams(parts.pop(0), table, streams)
    if sources:
        _draw_sources(parts.pop(0), table, sources)
    style.add_note(figure, _absent(connection))
    return figure


def _runs(table: pd.DataFrame, columns: list[str]) -> list[str]:
    """The runs that have something in some of the columns."""
    return list(dict.fromkeys(table[table[columns].notna().any(axis=1)]["run"]))


def _draw_streams(figure: SubFigure, table: pd.DataFrame, runs: list[str]) -> None:
    from matplotlib.lines import Line2D

    grid = figure.subplots(len(runs), 3, squeeze=False, width_ratios=[1, 1, 1.15])
    for (read, write, gains), run in zip(grid, runs):
        mine = table[table["run"] == run]
        weights = mine.dropna(subset="other_layer")
        for axes, column, title in ((read, "read", f"{mine['name'].iloc[0]}\nread"), (write, "write", "write")):
            image = _draw_map(axes, weights.dropna(subset=column), "other_layer", "place", column)
            axes.set_title(title)
            if image is None:
                style.say(axes, "No such weights.")
                continue
            figure.colorbar(image, ax=axes, shrink=0.9)
            _layers(axes, mine)
            _whole(axes, "y", weights["other_layer"], ticks=8)
            axes.set_ylabel("Stream")
        _draw_gains(gains, mine[mine["other_layer"].isna()])
    handles = max((axes.get_legend_handles_labels()[0] for axes in grid[:, 2]), key=len)  # none without a product
    if handles:
        handles.append(Line2D([], [], color="#555555", linestyle=":", linewidth=1, label="at the greatest token"))
        figure.legend(handles=handles, loc="outside upper right", ncols=len(handles), frameon=False)


def _draw_gains(axes: Axes, mine: pd.DataFrame) -> None:
    axes.set_title("product of mixing matrices")
    if not mine["forward_gain"].notna().any():
        style.say(axes, "No mixing matrices.")
        return
    axes.axhline(1, color="#222222", linewidth=0.8)
    for column, (label, colour, marker, greatest) in GAINS.items():
        look = {"color": colour, "linewidth": 1.3, "markersize": 3.5, "markeredgewidth": 0}
        axes.plot(mine["place"], mine[column], marker=marker, label=label, **look)
        if greatest:
            axes.plot(mine["place"], mine[greatest], linestyle=":", color=colour, linewidth=1)
    values = mine[[*GAINS, *(greatest for *_, greatest in GAINS.values() if greatest)]].stack()
    if values.min() > 0 and values.max() > 10 * values.min():
        style.log_scale(axes, (1, 2, 5))
    _layers(axes, mine)


def _draw_sources(figure: SubFigure, table: pd.DataFrame, runs: list[str]) -> None:
    rows = -(-len(runs) // MAPS)
    grid = figure.subplots(rows, MAPS if rows > 1 else len(runs), squeeze=False)
    for axes, run in zip(grid.flatten(), runs):
        mine = table[(table["run"] == run) & table["source_weight"].notna()]
        image = _draw_map(axes, mine, "place", "other_layer", "source_weight", power=0.5)
        axes.invert_yaxis()
        axes.set_title(f"{mine['name'].iloc[0]}\nattention over depth")
        figure.colorbar(image, ax=axes, shrink=0.9)
        _whole(axes, "x", mine["other_layer"], ticks=8)
        axes.set_xlabel("Source")
        readers = mine.drop_duplicates("place")
        named = [(row.place, _reader(row)) for row in readers.itertuples() if row.sublayer != "mlp"]
        step = -(-len(named) // 13)
        named = named[:-1:step] + named[-1:]  # the head always
        axes.set_yticks(*zip(*named))
        axes.set_ylabel("Reader (layer)" if axes.get_subplotspec().is_first_col() else "")
    for axes in grid.flatten()[len(runs) :]:
        axes.set_axis_off()


def _reader(row) -> str:
    return "head" if row.sublayer == "head" else str(row.layer)


def _draw_map(
    axes: Axes, mine: pd.DataFrame, row: str, column: str, value: str, power: float = 1.0
) -> AxesImage | None:
    """Values, or a power of them, as colours over whole numbers on both axes; None without any."""
    from matplotlib.colors import PowerNorm

    if mine.empty:
        return None
    wide = mine.pivot_table(index=row, columns=column, values=value)
    low, high = mine[value].min(), mine[value].max()
    colours = {"cmap": "viridis", "norm": PowerNorm(power, 0, high)}
    if low < 0:
        colours = {"cmap": "RdBu", "vmin": -max(-low, high), "vmax": max(-low, high)}
    left, right = wide.columns.min() - 0.5, wide.columns.max() + 0.5
    edges = (left, right, wide.index.min() - 0.5, wide.index.max() + 0.5)
    axes.grid(False)
    return axes.imshow(wide, origin="lower", aspect="auto", extent=edges, interpolation="nearest", **colours)


def _layers(axes: Axes, mine: pd.DataFrame) -> None:
    """Sublayers on the x axis, each layer named at its attention."""
    firsts = mine[mine["sublayer"] == "attention"].drop_duplicates("place")
    step = -(-len(firsts) // 12)
    axes.set_xticks(firsts["place"][::step], [str(layer) for layer in firsts["layer"][::step]])
    axes.set_xlabel("Sublayer (layer at its attention)")


def _whole(axes: Axes, axis: str, values: pd.Series, ticks: int) -> None:
    """Some whole numbers on one axis."""
    places = sorted({int(value) for value in values})
    getattr(axes, f"set_{axis}ticks")(places[:: -(-len(places) // ticks)])


def _absent(connection: duckdb.DuckDBPyConnection) -> str:
    """A note of the runs that are asked how they route and have not shown it; empty when all have."""
    absent = connection.execute(
        "SELECT run FROM recipe_runs WHERE routing AND run NOT IN (SELECT run FROM routing) ORDER BY run"
    ).fetchall()
    return "Not drawn, not dissected yet: " + ", ".join(run for (run,) in absent) if absent else ""
