"""Held-out loss of every layer of every finished model, by what reads it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import duckdb

from perlayer.report.figures import style

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TITLE = "Every finished model, by what reads its layers"
CAPTION = (
    "One panel a run or published model: the held-out loss of its logit lens and tuned lens, of the readout it was "
    "trained with, and of that readout retrained on the frozen layers (hollow). Layer 0 is the embedding. All panels "
    "share the logarithmic loss axis, which ends where the runs do: what a published model has beyond stands at its "
    "upper edge, with its value. It has a vocabulary of its own, so compare the shapes alone."
)
COLUMNS = 4


def data(connection: duckdb.DuckDBPyConnection) -> pd.DataFrame:
    """One row a model and layer: the loss of each of its readouts."""
    return connection.execute(
        f"""WITH models AS (
            SELECT run, size, max(layer) AS depth FROM by_readout
            WHERE run IN (SELECT run FROM lenses UNION SELECT run FROM retraining) GROUP BY run, size
        )
        SELECT models.run, models.size, layer, {", ".join(style.READINGS)}
        FROM models JOIN by_readout USING (run, size) LEFT JOIN recipe_runs AS runs ON runs.run = models.run
        -- First what the setups are, then other designs and algorithms, other depths and other seeds.
        ORDER BY models.size = 'published', models.run NOT IN (SELECT run FROM groups), NOT full_depth,
            residual <> 'sandwich', residual, NOT standard, depth,
            array_position(['none', 'probes', 'separate', 'shared', 'shared_stop_gradient'], readouts),
            ema, seed, models.run, layer"""
    ).df()


def draw(connection: duckdb.DuckDBPyConnection) -> Figure:
    """The figure of what is present."""
    import math

    import seaborn
    from matplotlib.lines import Line2D

    table = data(connection)
    if table.empty:
        return style.empty_figure("No finished model has been read yet.")
    models = list(dict.fromkeys(table["run"]))
    columns = min(COLUMNS, len(models))
    rows = math.ceil(len(models) / columns)
    figure = style.new_figure(max(2.6 * columns, 7.4), max(2.3 * rows + 0.7, 3.6))
    grid = figure.subplots(rows, columns, sharey=True, squeeze=False)
    for axes, model in zip(grid.flatten(), models):
        mine = table[table["run"] == model]
        for reading in style.READINGS:
            look = _look(reading, small=len(mine) > 13)  # the markers of deep models would touch
            seaborn.lineplot(mine, x="layer", y=reading, errorbar=None, legend=False, ax=axes, **look)
        axes.set_title(model, fontsize="medium")
        style.layer_ticks(axes, mine["layer"], ticks=7)
        axes.set(xlabel="", ylabel="Held-out loss\n(nats per token)" if axes.get_subplotspec().is_first_col() else "")
    for axes in grid.flatten()[len(models) :]:
        axes.set_axis_off()
    losses = table.set_index("size")[list(style.READINGS)].stack()
    trained = losses[losses.index.get_level_values("size") != "published"]
    # Layer 0 of a published model may lie at a hundred nats, and would flatten all others.
    top = 1.04 * (trained if len(trained) else losses).max()
    style.log_scale(grid[0, 0], (1, 1.5, 2, 3, 4, 5, 6, 8))
    grid[0, 0].set_ylim(losses.min() / 1.04, top)
    for axes, model in zip(grid.flatten(), models):
        _mark_beyond(axes, table[table["run"] == model], top)
    handles = [
        Line2D([], [], label=label, **_look(reading))
        for reading, (label, *_) in style.READINGS.items()
        if table[reading].notna().any()
    ]
    figure.legend(handles=handles, loc="outside upper left", ncols=len(handles), frameon=False)
    style.add_note(figure, _not_read(connection))
    return figure


def _mark_beyond(axes: Axes, table: pd.DataFrame, top: float) -> None:
    """An arrow at the upper edge for each layer that lies beyond it, and the greatest value."""
    beyond = table.set_index("layer")[list(style.READINGS)].stack()
    beyond = beyond[beyond > top]
    for layer, reading in beyond.index:
        axes.plot(layer, top, marker="^", color=style.READINGS[reading][1], markersize=6, clip_on=False, zorder=5)
    if len(beyond):
        layer, _ = beyond.idxmax()
        place = {"xytext": (7, -3), "textcoords": "offset points", "va": "top", "fontsize": "small"}
        axes.annotate(f"{beyond.max():.0f} nats", (layer, top), path_effects=style.halo(), **place)


def _look(reading: str, small: bool = False) -> dict[str, object]:
    """How a line is drawn. Retrained readouts mostly lie where those of training do: hollow, so that both are seen."""
    _, colour, marker, dashes = style.READINGS[reading]
    look = {"color": colour, "marker": marker, "linestyle": dashes, "linewidth": 1.3}
    if reading == "retrained":
        hollow = {"markerfacecolor": "none", "markeredgecolor": colour, "markeredgewidth": 1.1}
        return {**look, **hollow, "linewidth": 0.9, "markersize": 5 if small else 8}
    return {**look, "markeredgewidth": 0, "markersize": 2 if small else 4}


def _not_read(connection: duckdb.DuckDBPyConnection) -> str:
    """A note of the runs that no lens has read yet; empty when all have been read."""
    absent = connection.execute(
        "SELECT run FROM recipe_runs WHERE run NOT IN (SELECT run FROM lenses) ORDER BY run"
    ).fetchall()
    return "Not read by a lens yet: " + ", ".join(run for (run,) in absent) if absent else ""
