"""What leaving out a layer changes in each later layer: everywhere, at future tokens, and locally."""

from perlayer.report.figures import panels, style

TITLE = "What later layers would do without a layer"
CAPTION = (
    "Three maps a setup or residual design, by its run of the lowest seed, or a published model: how far the "
    "contribution of a later layer (column) changes, relative to its length, when a layer (row) is skipped; mean over "
    "tokens, where the source takes the greatest. All tokens: skipped and looked at everywhere but at the first token "
    "of a text. Future: skipped before a split, looked at from there on. Local: all tokens, as if the later layer "
    "alone read the change. All maps share one scale, cut at 1, whose colours follow the square root."
)
EMPTY = {"dissected_runs": "No dissected model has a layer after its first.", "": panels.UNDISSECTED}
KINDS = {"effect_all": "all tokens", "effect_future": "future", "local_effect_all": "local"}
ABREAST = 2  # models side by side


def data(connection: style.Connection) -> style.Table:
    """One row a model, skipped layer and later layer."""
    sql = f"""SELECT label, run, layer, later_layer, effect_all, effect_future, local_effect_all, local_effect_future
        FROM skip_effects JOIN ({panels.MODELS}) USING (run) WHERE stat = 'mean' AND sublayer IS NULL
        ORDER BY place, layer, later_layer"""
    return connection.execute(sql).df()


def draw(table: style.Table, connection: style.Connection) -> style.Figure:
    labels = list(dict.fromkeys(table["label"]))
    abreast = min(ABREAST, len(labels))
    rows = -(-len(labels) // abreast)
    figure = style.new_figure(5.2 * abreast + 0.3, 1.95 * rows + 0.4)
    grid = figure.subplots(rows, len(KINDS) * abreast, squeeze=False)
    stacks = grid.reshape(-1, len(KINDS))  # the maps of one model
    for place, (label, maps) in enumerate(zip(labels, stacks)):
        image = _draw_maps(maps, table[table["label"] == label], place + abreast >= len(labels))
        name = {"fontsize": "medium", "fontweight": "bold", "xycoords": "axes fraction"}
        style.write(maps[0], label, (0, 1), (0, 19), **name)
    for axes in stacks[len(labels) :].flat:
        axes.set_axis_off()
    figure.colorbar(image, ax=grid, shrink=0.6, aspect=40, pad=0.01, label="Relative change", extend="max")
    return style.noted(figure, panels.absent(connection))


def _draw_maps(maps: list[style.Axes], table: style.Table, last: bool) -> style.AxesImage:
    from matplotlib.colors import PowerNorm

    whole = range(1, int(table["later_layer"].max()) + 1)
    ticks = style.some(whole, 6)
    for axes, (column, kind) in zip(maps, KINDS.items()):
        wide = table.pivot_table(index="layer", columns="later_layer", values=column).reindex(whole, columns=whole)
        image = style.draw_map(axes, wide, origin="upper", cmap="viridis", norm=PowerNorm(0.5, 0, 1))
        first = axes is maps[0]
        axes.set_title(kind, fontsize="medium", fontweight="normal")
        axes.set(xticks=ticks, yticks=ticks, ylabel="Skipped layer" if first else "")
        axes.set_xlabel("Later layer" if last else "")
        axes.tick_params(labelleft=first)
    return image
