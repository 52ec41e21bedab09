"""How far plain runs end apart by chance, layer by layer, beside the effects that are read from them."""

from perlayer.report.figures import style

TITLE = "The noise floor beside the effects"
CAPTION = (
    "Grey: greatest minus least final training loss among plain runs that differ in nothing but seed or EMA, read by "
    "probes below the last layer. Lines: how far each setup ends from the depth-matched baseline, at the "
    "last layer from the baseline, as a mean over seeds; hollow markers are below it, and markers on the lower edge "
    "are smaller still. Two runs that differ by less than the grey may do so by chance; claims are judged by intervals."
)
EMPTY = "The noise floor needs two plain runs that differ in seed; they are not here yet."


def data(connection: style.Connection) -> style.Table:
    """One row a layer: readout, runs, spread and std of the noise floor, and every setup's difference."""
    floor = connection.execute(
        "SELECT layer, readout, runs, spread, std FROM noise_floor WHERE residual = 'sandwich' ORDER BY layer"
    ).df()
    effects = connection.execute(style.EFFECTS).df()
    wide = effects.pivot_table(index="layer", columns="setup", values="gap").reindex(columns=list(style.TRAINED))
    return floor.set_index("layer").join(wide, how="outer").rename_axis(index="layer", columns=None).reset_index()


def draw(table: style.Table, connection: style.Connection) -> style.Figure:
    floor = table.dropna(subset="spread")
    if floor.empty:
        return style.empty_figure(EMPTY)
    figure = style.new_figure(7, 4.4)
    axes = figure.subplots()
    # Runs may end exactly alike, which a logarithm cannot show.
    bottom = floor["spread"].where(floor["spread"] > 0).min() / 4 if floor["spread"].any() else 1e-4
    height = (floor["spread"] - bottom).clip(lower=0)
    axes.bar(floor["layer"], height, bottom=bottom, width=0.7, color="#cccccc", linewidth=0, zorder=1)
    for layer, spread in zip(floor["layer"], floor["spread"]):
        style.write(axes, f"{spread:.2g}", (layer, spread), (0, -3), ha="center", va="top", size=8)
    labels = []
    for setup in style.TRAINED:
        label, colour, marker = style.SETUPS[setup]
        effect = table[["layer", setup]].dropna()
        if effect.empty:
            continue
        size = effect[setup].abs().clip(lower=bottom)  # the logarithm ends somewhere: probes end at exactly 0
        axes.plot(effect["layer"], size, color=colour, linewidth=1.4, zorder=3)
        for face, part in ((colour, effect[setup] > 0), ("white", effect[setup] <= 0)):
            look = {"marker": marker, "s": 26, "color": face, "edgecolors": colour, "clip_on": False, "zorder": 4}
            axes.scatter(effect["layer"][part], size[part], **look)
        labels.append((effect["layer"].iloc[0], size.iloc[0], label, colour))
    title = f"Spread of {floor['runs'].max()} plain runs (grey) and effects"
    axes.set(yscale="log", ylabel="Nats per token", title=title)
    axes.set_ylim(bottom=bottom)
    axes.yaxis.set_major_formatter("{x:g}")
    style.layer_ticks(axes, table["layer"], room=0.3)
    axes.set_xlim(right=table["layer"].max() + 0.5)
    style.noted(figure, style.absent(connection, style.ABSENT))
    style.label_lines(axes, labels, side="left")
    return figure
