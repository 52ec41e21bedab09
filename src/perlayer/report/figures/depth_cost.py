"""What separate heads cost the last layer, and where each layer ends, in models of growing depth."""

from perlayer.report.figures import style

TITLE = "What separate heads cost models of growing depth"
CAPTION = (
    "Left: final training loss read after each layer, one line a depth, ending at that model's last layer; squares "
    "are plain models with as many layers. Right: the last layer minus the plain model of the same depth, means over "
    "seeds, with the interval that the claim is judged by. Depth is logarithmic."
)
EMPTY = "No model with separate heads is here yet."
SEPARATE = "residual = 'sandwich' AND readouts = 'separate' AND standard"
PLAIN = "SELECT layers, loss FROM depth_matched WHERE residual = 'sandwich' ORDER BY layers"
LAYERS = f"""
    SELECT layers AS depth, layer, final_loss.loss FROM supervision JOIN final_loss USING (run)
    WHERE {SEPARATE} ORDER BY ALL
"""
ABSENT = f"""
    SELECT min_by(run, row(seed, readouts, run)) AS run FROM recipe_runs
    WHERE residual = 'sandwich' AND standard AND readouts IN ('none', 'probes', 'separate')
        AND layers IN (SELECT layers FROM recipe_runs WHERE {SEPARATE})
    GROUP BY layers, readouts = 'separate' HAVING NOT bool_or(present) ORDER BY layers, run
"""


def data(connection: style.Connection) -> style.Table:
    """One row a depth: the last layer plain and with separate heads, cost with interval, and every layer."""
    costs = connection.execute(
        f"""SELECT layers AS depth, baseline_loss AS plain, loss AS separate, cost, low, high, supervision.seeds
        FROM supervision LEFT JOIN contrasts ON question = 'Q2' AND part = format('{{}} layers', layers)
        WHERE {SEPARATE} ORDER BY layers"""
    ).df()
    layers = (
        connection.execute(LAYERS).df().pivot_table(index="depth", columns="layer", values="loss").add_prefix("layer_")
    )
    return costs.join(layers, on="depth")


def draw(table: style.Table, connection: style.Connection) -> style.Figure:
    rows = connection.execute(LAYERS).df()
    palette = style.layer_colours(table["depth"])
    figure = style.new_figure(10.5, 4.4)
    left, right = figure.subplots(1, 2, width_ratios=[1.2, 1])
    look = {"hue": "depth", "palette": palette, "marker": "D", "markersize": 5, "markeredgewidth": 0}
    style.draw_line(left, rows, "layer", "loss", estimator=None, **look)
    plain = connection.execute(
        "SELECT layers, loss FROM depth_matched WHERE residual = 'sandwich' ORDER BY layers"
    ).df()
    look = style.marked("#222222", "s", 5, 1, ":")
    left.plot(plain["layers"], plain["loss"], zorder=1, label="plain models", **look)
    left.set(title="Loss by layer", xlabel="Layer", ylabel="Final training loss (nats per token)")
    _depth_axis(left, [*rows["layer"], *plain["layers"]], room=0.3)
    if not plain.empty:
        left.legend(frameon=False, loc="upper right")
    _draw_costs(right, table.dropna(subset="cost"), palette)
    style.noted(figure, style.absent(connection, ABSENT))
    # Named where they begin, since they end on top of each other.
    starts = rows.groupby("depth")[["layer", "loss"]].first().itertuples()
    named = [
        (layer, loss, f"{depth} layer{'' if depth == 1 else 's'}", palette[depth]) for depth, layer, loss in starts
    ]
    style.label_lines(left, named, side="left")
    return figure


def _draw_costs(axes: style.Axes, costs: style.Table, palette: dict) -> None:
    if costs.empty:
        style.say(axes, "None stands beside a plain model of its depth yet.")
        return
    axes.axhline(0, color="#222222", linewidth=0.8)
    axes.plot(costs["depth"], costs["cost"], color="#999999", linewidth=1.2, zorder=2)
    for row in costs.itertuples():
        axes.plot([row.depth, row.depth], [row.low, row.high], color=palette[row.depth], linewidth=1.2)
        axes.scatter(row.depth, row.cost, color=[palette[row.depth]], marker="D", s=42, zorder=3)
        words = {"path_effects": style.halo(), "zorder": 4}
        style.write(axes, f"{row.cost:+.3f}", (row.depth, row.cost), (6, 6), **words)
    axes.set(title="Last layer minus the plain model", xlabel="Layers", ylabel="Difference (nats per token)")
    axes.margins(y=0.15)
    _depth_axis(axes, costs["depth"])


def _depth_axis(axes: style.Axes, layers: list[int], room: float = 0.0) -> None:
    """Depths on a logarithmic axis, with `room` for words before the first, as a share of the width."""
    depths = sorted({int(layer) for layer in layers})
    style.depth_ticks(axes, [n for n in depths if n <= 4 or n % 2 == 0 and n <= 12 or n % 12 == 0])
    least, most = depths[0] / 1.2, depths[-1] * 1.2
    axes.set_xlim(least / (most / least) ** (room / (1 - room)), most)
