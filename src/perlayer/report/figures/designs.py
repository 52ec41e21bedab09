"""Final training loss by layer in every residual design, by probes and by separate heads."""

import textwrap

from perlayer.report.figures import style

TITLE = "Every residual design, read by probes and by separate heads"
CAPTION = (
    "One panel a residual design: final training loss read after each layer, means over seeds; a design with "
    "value residual has a panel of its own. Probes leave the plain model as it is, so their last layer is that "
    "model's own. Behind every panel, in grey, stand the "
    "depth-matched baselines of Sandwich-LN. All panels share the logarithmic loss axis."
)
EMPTY = "No residual design has been trained yet."
COLUMNS = 5
READOUTS = {name: style.marked(*style.SETUPS[name][1:]) for name in ("probes", "separate")}
DEPTH_MATCHED = {"color": "#9a9a9a", "marker": "s", "linestyle": ":", "linewidth": 1, "markersize": 3.5}


def data(connection: style.Connection) -> style.Table:
    """One row a design, with or without value residual, and layer: its losses and that of the baseline."""
    sql = f"""SELECT residual, value_residual, design, layer,
            max(mean) FILTER (readouts = 'probes') AS probes, max(mean) FILTER (readouts = 'separate') AS separate,
            any_value(depth_matched) AS depth_matched
        FROM design_layers
        LEFT JOIN (SELECT layers AS layer, loss AS depth_matched FROM ({style.DEPTH_MATCHED})) USING (layer)
        GROUP BY residual, value_residual, design, layer
        ORDER BY design_place(residual), residual, value_residual NULLS FIRST, layer"""
    return connection.execute(sql).df()


def draw(table: style.Table, connection: style.Connection) -> style.Figure:
    depth_matched = connection.execute(f"SELECT layers, loss FROM ({style.DEPTH_MATCHED}) ORDER BY layers").df()
    figure = style.new_figure(10.5, 2.15 * -(-table["design"].nunique() // COLUMNS) + 0.8)
    for design, axes, mine in style.small_multiples(figure, table, "design", COLUMNS):
        axes.set_title("\n".join(textwrap.wrap(design, 24)), fontsize="medium")
        axes.plot(depth_matched["layers"], depth_matched["loss"], zorder=1, **DEPTH_MATCHED)
        for readouts, look in READOUTS.items():
            if mine[readouts].notna().any():
                style.draw_line(axes, mine, "layer", readouts, **look)
        style.layer_ticks(axes, [*mine["layer"], *depth_matched["layers"]], ticks=7)
        style.outer_labels(axes, "Layer", "Final training loss\n(nats per token)")
    losses = [*table[list(READOUTS)].stack().dropna(), *depth_matched["loss"]]
    style.log_scale(axes, (1, 1.5, 2, 2.5, 3, 3.5, 4, 4.5, 5, 6, 8), minor=False)
    axes.set_ylim(min(losses) / 1.02, max(losses) * 1.02)
    looks = {style.SETUPS[readouts][0]: look for readouts, look in READOUTS.items()}
    style.legend(figure, {"depth-matched baselines of Sandwich-LN": DEPTH_MATCHED} | looks)
    return style.noted(figure, style.absent(connection, style.ABSENT_OF_DESIGNS), style.absent_designs(connection))
