"""How well the layers of one model are a linear map of those of another."""

from __future__ import annotations

from typing import TYPE_CHECKING

import duckdb

from perlayer.report.figures import style
from perlayer.report.figures.panels import COLUMNS, panel_rows, stacked_panels

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.colors import Normalize
    from matplotlib.figure import Figure
    from matplotlib.image import AxesImage

TITLE = "How well layers of one model map onto those of another"
CAPTION = (
    "One column a pair of models: the error of a linear map from a layer of the first (column) to one of the second "
    "(row), relative to the length of what is predicted, on held-out text. Above the residual after each layer, below "
    "what each layer adds to it. Right of each map: the error where the mean is predicted. Dashed: the same relative "
    "depth in both models. Dots: the layer that maps best onto each. Embeddings are left out, as in the source."
)
NUMBERED = 24  # layers abreast in all maps, up to which errors are written


def data(connection: duckdb.DuckDBPyConnection) -> pd.DataFrame:
    """One row a pair, kind, layer and source layer."""
    return connection.execute(
        """SELECT pair, kind, layers, source_layers, layer, source_layer, error, unexplained, mean_error, best
        FROM linear_maps WHERE layer > 0 AND source_layer > 0
        ORDER BY source_layers >= layers, pair, kind DESC, layer, source_layer"""
    ).df()


def draw(connection: duckdb.DuckDBPyConnection) -> Figure:
    """The figure of what is present."""
    from matplotlib.colors import Normalize

    table = data(connection)
    if table.empty:
        return style.empty_figure("No pair of models has been mapped onto each other yet.")
    kinds = [kind for kind in ("residual", "contribution") if (table["kind"] == kind).any()]
    names = {pair: pair.replace("_", " ") for pair in table["pair"]}
    figure = style.new_figure(10.5, 3.1 * len(kinds) * panel_rows(names) + 0.4)
    panels = stacked_panels(figure, names.values(), (1,) * len(kinds))
    norm = Normalize(table["error"].min(), table[["error", "mean_error"]].max().max())
    numbered = table["layers"].max() * min(len(names), COLUMNS) <= NUMBERED
    for pair, name in names.items():
        for axes, kind in zip(panels[name], kinds):
            image = _draw_map(axes, table[(table["pair"] == pair) & (table["kind"] == kind)], norm, numbered)
            axes.set_ylabel(f"To layer ({kind})" if axes.get_subplotspec().is_first_col() else "")
            axes.set_xlabel("From layer" if kind == kinds[-1] else "")
    figure.colorbar(image, ax=figure.axes, aspect=40, pad=0.01, label="Relative error")
    return figure


def _draw_map(axes: Axes, table: pd.DataFrame, norm: Normalize, numbered: bool) -> AxesImage:
    """One matrix, its diagonal, the best of each row, and the mean predictor one column to the right."""
    layers, sources = (int(table[name].iloc[0]) for name in ("layers", "source_layers"))
    errors = table.pivot_table(index="layer", columns="source_layer", values="error")
    means = table.groupby("layer")[["mean_error"]].first()
    aside = sources + 1.4  # where the mean predictor stands
    axes.grid(False)
    look = {"cmap": "viridis_r", "norm": norm, "aspect": "auto", "interpolation": "nearest", "origin": "lower"}
    image = axes.imshow(errors, extent=(0.5, sources + 0.5, 0.5, layers + 0.5), **look)
    axes.imshow(means, extent=(aside - 0.5, aside + 0.5, 0.5, layers + 0.5), **look)
    first = 0.5 * layers / sources
    axes.plot([0.5, sources + 0.5], [first, layers + first], "--", color="white", linewidth=1.5)
    best = table[table["best"]]
    axes.plot(best["source_layer"], best["layer"], "o", color="#D55E00", markersize=5)
    if numbered:
        _write_errors(axes, table, norm, aside)
    ticks, rows = (range(1, count + 1, -(-count // 8)) for count in (sources, layers))
    axes.set_xticks([*ticks, aside], [*map(str, ticks), "mean"])
    axes.set_yticks(rows)
    axes.set(xlim=(0.5, aside + 0.5), ylim=(0.5, layers + 0.5))
    return image


def _write_errors(axes: Axes, table: pd.DataFrame, norm: Normalize, aside: float) -> None:
    words = {"ha": "center", "va": "top", "fontsize": 7}
    places = [(row.source_layer, row.layer, row.error) for row in table.itertuples()]
    places += [(aside, row.layer, row.mean_error) for row in table.drop_duplicates("layer").itertuples()]
    for x, y, error in places:
        axes.text(x, y - 0.15, f"{error:.2f}", color="white" if norm(error) > 0.5 else "#222222", **words)
