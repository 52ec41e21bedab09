"""How well the layers of one model are a linear map of those of another."""

from typing import Any

from perlayer.report.figures import panels, style

TITLE = "How well layers of one model map onto those of another"
CAPTION = (
    "One column a pair of models: the error of a linear map from a layer of the first (column) to one of the second "
    "(row), relative to the length of what is predicted, on held-out text. Above the residual after each layer, below "
    "what each layer adds to it. Right of each map: the error where the mean is predicted. Dashed: the same relative "
    "depth in both models. Dots: the layer that maps best onto each. Embeddings are left out, as in the source."
)
EMPTY = "No pair of models has been mapped onto each other yet."
NUMBERED = 24  # layers abreast in all maps, up to which errors are written


def data(connection: style.Connection) -> style.Table:
    """One row a pair, kind, layer and source layer."""
    sql = """SELECT pair, kind, layers, source_layers, layer, source_layer, error, unexplained, mean_error, best
        FROM linear_maps WHERE layer > 0 AND source_layer > 0
        ORDER BY source_layers >= layers, pair, kind DESC, layer, source_layer"""
    return connection.execute(sql).df()


def draw(table: style.Table, connection: style.Connection) -> style.Figure:
    from matplotlib.colors import Normalize

    kinds = [kind for kind in ("residual", "contribution") if (table["kind"] == kind).any()]
    names, heights = table["pair"].str.replace("_", " "), (1,) * len(kinds)
    figure, stacks = panels.stacked(table, names, heights, height=3.1 * len(kinds), rest=0.4)
    norm = Normalize(table["error"].min(), table[["error", "mean_error"]].max().max())
    numbered = table["layers"].max() * min(len(stacks), panels.COLUMNS) <= NUMBERED
    for mine, stack in stacks:
        for axes, kind in zip(stack, kinds):
            image = _draw_errors(axes, mine[mine["kind"] == kind], norm, numbered)
            axes.set_ylabel(f"To layer ({kind})" if axes.get_subplotspec().is_first_col() else "")
            axes.set_xlabel("From layer" if kind == kinds[-1] else "")
    figure.colorbar(image, ax=figure.axes, aspect=40, pad=0.01, label="Relative error")
    return figure


def _draw_errors(axes: style.Axes, table: style.Table, norm: Any, numbered: bool) -> style.AxesImage:
    """One matrix, its diagonal, the best of each row, and the mean predictor one column to the right."""
    layers, sources = (int(table[name].iloc[0]) for name in ("layers", "source_layers"))
    errors = table.pivot_table(index="layer", columns="source_layer", values="error")
    aside = sources + 1.4  # where the mean predictor stands
    means = table.groupby("layer")["mean_error"].first().to_frame(aside)
    image = style.draw_map(axes, errors, cmap="viridis_r", norm=norm)
    style.draw_map(axes, means, cmap="viridis_r", norm=norm)
    first = 0.5 * layers / sources
    axes.plot([0.5, sources + 0.5], [first, layers + first], "--", color="white", linewidth=1.5)
    best = table[table["best"]]
    axes.plot(best["source_layer"], best["layer"], "o", color="#D55E00", markersize=5)
    words = {"ha": "center", "va": "top", "fontsize": 7}
    for (y, x), error in [*errors.stack().items(), *means.stack().items()] if numbered else []:
        axes.text(x, y - 0.15, f"{error:.2f}", color="white" if norm(error) > 0.5 else "#222222", **words)
    ticks = style.some(range(1, sources + 1), 8)
    axes.set_xticks([*ticks, aside], [*map(str, ticks), "mean"])
    axes.set_yticks(style.some(range(1, layers + 1), 8))
    axes.set(xlim=(0.5, aside + 0.5), ylim=(0.5, layers + 0.5))
    return image
