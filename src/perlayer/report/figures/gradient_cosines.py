"""How the gradients of layer losses lie to that of the final loss, over training and over the backbone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import duckdb

from perlayer.report.figures import style

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TITLE = "Gradients of the layer losses beside that of the final loss"
CAPTION = (
    "One column a setup, by its run of the lowest seed that compares gradients. Top: cosine of the gradient of each "
    "layer's loss with that of the final loss, over the parameters of all layers together, where a loss counts as 0 in "
    "the layers above it; black: of the summed gradients of all layer losses. Bottom: the same at the last comparison, "
    "layer by layer of the model, and in the top row of the summed gradients. The baseline is read counterfactually, "
    "through its own final norm and head, by losses that train nothing."
)
NUMBERED = 8  # models with fewer losses below the last show their cosines as numbers, others as colours alone
ORDER = ("baseline", "separate", "shared", "shared_stop_gradient")


def data(connection: duckdb.DuckDBPyConnection) -> pd.DataFrame:
    """One row a setup, step, loss and layer of the model; `layer` is empty for the sum, `backbone_layer` for all."""
    return (
        connection.execute(
            f"""WITH chosen AS (
            SELECT CASE WHEN setup = 'probes' THEN 'baseline' ELSE setup END AS setup, run
            FROM setups WHERE residual = 'sandwich' AND run IN (SELECT run FROM gradient_cosines)
            QUALIFY row_number() OVER (
                PARTITION BY CASE WHEN setups.setup = 'probes' THEN 'baseline' ELSE setups.setup END
                ORDER BY seed, ema, setups.setup, run
            ) = 1
        )
        SELECT setup, run, step, tokens, CASE WHEN cosine IS NOT NULL THEN layer END AS layer, backbone_layer,
            coalesce(cosine, summed_cosine) AS cosine
        FROM gradient_cosines JOIN chosen USING (run)
        WHERE coalesce(cosine, summed_cosine) IS NOT NULL
        ORDER BY array_position({list(ORDER)}, setup), step, layer, backbone_layer"""
        )
        .df()
        .astype({"layer": "float64", "backbone_layer": "float64"})
    )


def draw(connection: duckdb.DuckDBPyConnection) -> Figure:
    """The figure of what is present."""
    table = data(connection)
    if table.empty:
        return style.empty_figure("No run that compares gradients is here yet.")
    setups = list(dict.fromkeys(table["setup"]))
    layers = sorted({int(layer) for layer in table["layer"].dropna()})
    palette = style.layer_colours(layers)
    figure = style.new_figure(max(3.7 * len(setups), 7), 6.6)
    grid = figure.subplots(2, len(setups), squeeze=False, sharey="row", height_ratios=[1.1, 1])
    for axes, setup in zip(grid[0], setups):
        mine = table[(table["setup"] == setup) & table["backbone_layer"].isna()]
        _draw_curves(axes, mine, palette)
        axes.set_title(style.SETUPS[setup][0].capitalize())
        axes.set_ylabel("Cosine with the final loss's gradient" if axes is grid[0, 0] else "")
    image = None
    for axes, setup in zip(grid[1], setups):
        mine = table[(table["setup"] == setup) & table["backbone_layer"].notna()]
        image = _draw_map(axes, mine, layers) or image
        axes.set_ylabel("Loss read after layer" if axes is grid[1, 0] else "")
    if image is not None and len(layers) >= NUMBERED:
        figure.colorbar(image, ax=list(grid[1]), label="Cosine", shrink=0.9)
    style.add_note(figure, _absent(connection))
    for axes, setup in zip(grid[0], setups):
        mine = table[(table["setup"] == setup) & table["backbone_layer"].isna()]
        ends = mine[mine["step"] == mine["step"].max()]
        named = [
            (end.tokens, end.cosine, _name(end.layer, layers), palette.get(end.layer, "#222222"))
            for end in ends.itertuples()
            if end.layer != end.layer or style.named_layer(int(end.layer), layers)
        ]
        style.label_lines(axes, named)
    return figure


def _name(layer: float, layers: list[int]) -> str:
    if layer != layer:
        return "sum"
    return f"layer {layer:.0f}" if layer == layers[0] else f"{layer:.0f}"


def _draw_curves(axes: Axes, mine: pd.DataFrame, palette: dict) -> None:
    import seaborn

    look = {"x": "tokens", "y": "cosine", "estimator": None, "legend": False, "ax": axes, "marker": "o"}
    look |= {"markersize": 3.5, "markeredgewidth": 0}
    axes.axhline(0, color="#222222", linewidth=0.8)
    seaborn.lineplot(mine.dropna(subset="layer"), hue="layer", palette=palette, linewidth=1.3, **look)
    seaborn.lineplot(mine[mine["layer"].isna()], color="#222222", linewidth=2, **look)
    style.token_ticks(axes)


def _draw_map(axes: Axes, mine: pd.DataFrame, layers: list[int]):
    """Cosines at the last comparison, as an image; None without any."""
    if mine.empty:
        style.say(axes, "Not compared layer by layer.")
        return None
    ends = mine[mine["step"] == mine["step"].max()]
    columns = sorted({int(layer) for layer in ends["backbone_layer"]})
    rows = [*layers, *([max(layers) + 1] if ends["layer"].isna().any() else [])]  # the sum on top
    places = ends.assign(layer=ends["layer"].fillna(max(layers) + 1))
    wide = places.pivot_table(index="layer", columns="backbone_layer", values="cosine")
    wide = wide.reindex(index=rows, columns=columns)
    edges = (columns[0] - 0.5, columns[-1] + 0.5, rows[0] - 0.5, rows[-1] + 0.5)
    image = axes.imshow(wide, cmap="RdBu", vmin=-1, vmax=1, origin="lower", aspect="auto", extent=edges)
    axes.grid(False)
    axes.set_yticks(rows, [*map(str, layers), *(["sum"] if len(rows) > len(layers) else [])])
    axes.set_xticks(columns[:: -(-len(columns) // 12)])
    axes.set_xlabel("Layer of the model")
    if len(layers) < NUMBERED:
        for row, values in wide.iterrows():
            for column, value in values.dropna().items():
                colour = "white" if abs(value) > 0.6 else "#222222"
                axes.text(column, row, f"{value:.2f}", ha="center", va="center", fontsize="x-small", color=colour)
    return image


def _absent(connection: duckdb.DuckDBPyConnection) -> str:
    found = connection.execute("SELECT DISTINCT setup FROM setups WHERE run IN (SELECT run FROM gradient_cosines)")
    found = {setup for (setup,) in found.fetchall()}
    found |= {"baseline"} if "probes" in found else set()
    missing = [style.SETUPS[setup][0] for setup in ("baseline", "separate", "shared") if setup not in found]
    return "Not drawn, no gradients compared yet: " + ", ".join(missing) if missing else ""
