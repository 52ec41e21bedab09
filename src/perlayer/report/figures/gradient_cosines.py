"""How the gradients of layer losses lie to that of the final loss, over training and over the backbone."""

from perlayer.report.figures import style

TITLE = "Gradients of the layer losses beside that of the final loss"
CAPTION = (
    "One column a setup, by its run of the lowest seed that compares gradients. Top: cosine of the gradient of each "
    "layer's loss with that of the final loss, over the parameters of all layers together, where a loss counts as 0 in "
    "the layers above it; black: of the summed gradients of all layer losses. Bottom: the same at the last comparison, "
    "layer by layer of the model, and in the top row of the summed gradients. The baseline is read counterfactually, "
    "through its own final norm and head, by losses that train nothing."
)
EMPTY = "No run that compares gradients is here yet."
NUMBERED = 8  # models with fewer losses below the last show their cosines as numbers, others as colours alone
ORDER = ("baseline", "separate", "shared", "shared_stop_gradient")


def data(connection: style.Connection) -> style.Table:
    """One row a setup, step, loss and layer of the model; `layer` is empty for the sum, `backbone_layer` for all."""
    table = connection.execute(
        f"""SELECT backbone AS setup, run, step, tokens, CASE WHEN cosine IS NOT NULL THEN layer END AS layer,
            backbone_layer, coalesce(cosine, summed_cosine) AS cosine
        FROM gradient_cosines JOIN ({style.lowest_seeds("gradient_cosines")}) USING (run)
        WHERE coalesce(cosine, summed_cosine) IS NOT NULL
        ORDER BY array_position({list(ORDER)}, backbone), step, layer, backbone_layer"""
    ).df()
    return table.astype({"layer": "float64", "backbone_layer": "float64"})


def draw(table: style.Table, connection: style.Connection) -> style.Figure:
    setups = list(dict.fromkeys(table["setup"]))
    layers = sorted({int(layer) for layer in table["layer"].dropna()})
    palette = style.layer_colours(layers)
    figure = style.new_figure(max(3.7 * len(setups), 7), 6.6)
    grid = figure.subplots(2, len(setups), squeeze=False, sharey="row", height_ratios=[1.1, 1])
    image = None
    for (above, below), setup in zip(grid.T, setups):
        mine = table[table["setup"] == setup]
        _draw_curves(above, mine[mine["backbone_layer"].isna()], palette)
        above.set_title(style.SETUPS[setup][0].capitalize())
        above.set_ylabel("Cosine with the final loss's gradient" if setup == setups[0] else "")
        image = _draw_cosines(below, mine[mine["backbone_layer"].notna()], layers) or image
        below.set_ylabel("Loss read after layer" if setup == setups[0] else "")
    if image is not None and len(layers) >= NUMBERED:
        figure.colorbar(image, ax=list(grid[1]), label="Cosine", shrink=0.9)
    note = style.absent_setups("Not drawn, no gradients compared yet", ORDER[:3], setups)
    style.noted(figure, note)
    names = style.layer_names(layers)
    for axes, setup in zip(grid[0], setups):
        ends = table[(table["setup"] == setup) & table["backbone_layer"].isna()]
        ends = ends[ends["step"] == ends["step"].max()].fillna({"layer": 0})
        looks = {0: ("sum", "#222222")} | {layer: (name, palette[layer]) for layer, name in names.items()}
        named = [(end.tokens, end.cosine, *looks[end.layer]) for end in ends.itertuples() if end.layer in looks]
        style.label_lines(axes, named)
    return figure


def _draw_curves(axes: style.Axes, table: style.Table, palette: dict) -> None:
    look = {"estimator": None, "marker": "o", "markersize": 3.5, "markeredgewidth": 0}
    axes.axhline(0, color="#222222", linewidth=0.8)
    layers = table.dropna(subset="layer")
    style.draw_line(axes, layers, "tokens", "cosine", hue="layer", palette=palette, linewidth=1.3, **look)
    style.draw_line(axes, table[table["layer"].isna()], "tokens", "cosine", color="#222222", linewidth=2, **look)
    style.token_ticks(axes)


def _draw_cosines(axes: style.Axes, table: style.Table, layers: list[int]) -> style.AxesImage | None:
    """Cosines at the last comparison, as an image; None without any."""
    if table.empty:
        style.say(axes, "Not compared layer by layer.")
        return None
    ends = table[table["step"] == table["step"].max()]
    names = {layer: str(layer) for layer in layers}
    if ends["layer"].isna().any():
        names[layers[-1] + 1] = "sum"  # on top
    places = ends.fillna({"layer": layers[-1] + 1})
    wide = places.pivot_table(index="layer", columns="backbone_layer", values="cosine").reindex(index=list(names))
    image = style.draw_map(axes, wide, cmap="RdBu", vmin=-1, vmax=1, interpolation=None)
    axes.set_yticks(list(names), list(names.values()))
    axes.set_xticks(style.some(wide.columns, 12))
    axes.set_xlabel("Layer of the model")
    if len(layers) < NUMBERED:
        for (row, column), value in wide.stack().dropna().items():
            colour = "white" if abs(value) > 0.6 else "#222222"
            axes.text(column, row, f"{value:.2f}", ha="center", va="center", fontsize="x-small", color=colour)
    return image
