"""What leaving out a layer changes in each later layer: everywhere, at future tokens, and locally."""

from __future__ import annotations

from typing import TYPE_CHECKING

import duckdb

from perlayer.report.figures import style
from perlayer.report.figures.panels import LEADS, UNDISSECTED, absent, is_any

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.image import AxesImage

TITLE = "What later layers would do without a layer"
CAPTION = (
    "Three maps a setup or residual design, by its run of the lowest seed, or a published model: how far the "
    "contribution of a later layer "
    "(column) changes, relative to its length, when a layer (row) is skipped; mean over tokens, where the source takes "
    "the greatest. All tokens: skipped and looked at everywhere but at the first token of a text. Future: skipped "
    "before a split, looked at from there on. Local: all tokens, as if the later layer alone read the change. All maps "
    "share one scale, cut at 1, whose colours follow the square root."
)
KINDS = {"effect_all": "all tokens", "effect_future": "future", "local_effect_all": "local"}
ABREAST = 2  # models side by side


def data(connection: duckdb.DuckDBPyConnection) -> pd.DataFrame:
    """One row a model, skipped layer and later layer."""
    return connection.execute(
        f"""SELECT label, run, layer, later_layer, effect_all, effect_future, local_effect_all, local_effect_future
        FROM skip_effects JOIN ({LEADS}) USING (run) WHERE stat = 'mean' AND sublayer IS NULL
        ORDER BY place, layer, later_layer"""
    ).df()


def draw(connection: duckdb.DuckDBPyConnection) -> Figure:
    """The figure of what is present."""
    table = data(connection)
    if table.empty:
        shallow = "No dissected model has a layer after its first."
        return style.empty_figure(shallow if is_any(connection, "dissected_runs") else UNDISSECTED)
    labels = list(dict.fromkeys(table["label"]))
    abreast = min(ABREAST, len(labels))
    rows = -(-len(labels) // abreast)
    figure = style.new_figure(5.2 * abreast + 0.3, 1.95 * rows + 0.4)
    grid = figure.subplots(rows, len(KINDS) * abreast, squeeze=False)
    for place in range(rows * abreast):
        row, column = divmod(place, abreast)
        maps = grid[row, column * len(KINDS) : (column + 1) * len(KINDS)]
        if place < len(labels):
            image = _draw_maps(
                maps, table[table["label"] == labels[place]], labels[place], place + abreast >= len(labels)
            )
        else:
            for axes in maps:
                axes.set_axis_off()
    figure.colorbar(image, ax=grid, shrink=0.6, aspect=40, pad=0.01, label="Relative change", extend="max")
    style.add_note(figure, absent(connection))
    return figure


def _draw_maps(maps: list[Axes], table: pd.DataFrame, label: str, last: bool) -> AxesImage:
    """The maps of one model; its name stands above the first."""
    from matplotlib.colors import PowerNorm

    whole = list(range(1, int(table["later_layer"].max()) + 1))
    for axes, (column, kind) in zip(maps, KINDS.items()):
        wide = table.pivot_table(index="layer", columns="later_layer", values=column).reindex(whole, columns=whole)
        edges = (0.5, len(whole) + 0.5, len(whole) + 0.5, 0.5)
        axes.grid(False)
        image = axes.imshow(
            wide, cmap="viridis", norm=PowerNorm(0.5, 0, 1), aspect="auto", extent=edges, interpolation="nearest"
        )
        first = axes is maps[0]
        axes.set_title(kind, fontsize="medium", fontweight="normal")
        ticks = whole[:: -(-len(whole) // 6)]
        axes.set(xticks=ticks, yticks=ticks, ylabel="Skipped layer" if first else "")
        axes.set_xlabel("Later layer" if last else "")
        axes.tick_params(labelleft=first)
    name = {"xytext": (0, 19), "textcoords": "offset points", "fontsize": "medium", "fontweight": "bold"}
    maps[0].annotate(label, (0, 1), xycoords="axes fraction", **name)
    return image
