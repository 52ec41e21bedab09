"""Training curves of every layer against backbone compute, beside those of depth-matched baselines: the main figure."""

from perlayer.report.figures import style

TITLE = "Training curves per layer against backbone compute"
CAPTION = (
    "One panel a setup, one colour a layer. Solid: the loss read after that layer; dashed: the depth-matched "
    "baseline, a plain model with as many layers. Running means over 50 steps, from step 100 (both shorter in "
    "proportion on runs under 1000 steps). Backbone compute is 6ND: N parameters of the layers up to that one, D "
    "training tokens so far."
)
EMPTY = "No run with a readout at every layer is here yet."
SETUPS = ("separate", "probes", "shared", "shared_stop_gradient")


def data(connection: style.Connection) -> style.Table:
    """One row a step: step, tokens, backbone_flops_K of layer K, and the running mean SETUP_K of every curve."""
    curves = _curves(connection)
    flops = curves.pivot_table(index=["step", "tokens"], columns="layer", values="backbone_flops", aggfunc="first")
    losses = style.by_setup_and_layer(curves, ("depth_matched", *style.TRAINED))
    return flops.add_prefix("backbone_flops_").join(losses).rename_axis(columns=None).reset_index()


def _curves(connection: style.Connection) -> style.Table:
    sql = f"""WITH smooth AS ({style.SMOOTH}), shown AS (
            SELECT run, setup, NULL AS only_layer FROM ({style.SETUP_RUNS})
            WHERE run = representative AND setup <> 'baseline'
            UNION ALL
            SELECT run, 'depth_matched', layers FROM ({style.DEPTH_MATCHED})
        )
        SELECT setup, layer, step, tokens, backbone_flops, loss
        FROM smooth JOIN shown USING (run)
        WHERE only_layer IS NULL OR layer = only_layer
        ORDER BY setup, layer, step"""
    return connection.execute(sql).df()


def draw(table: style.Table, connection: style.Connection) -> style.Figure:
    curves = _curves(connection)
    setups = [setup for setup in SETUPS if setup in set(curves["setup"])]
    if not setups:
        return style.empty_figure(EMPTY)
    palette = style.layer_colours(curves["layer"])
    depth_matched = curves[curves["setup"] == "depth_matched"]
    columns = min(2, len(setups))
    rows = -(-len(setups) // columns)
    figure = style.new_figure(5.2 * columns, 3.9 * rows)
    grid = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False).flatten()
    look = {"x": "backbone_flops", "y": "loss", "hue": "layer", "palette": palette, "estimator": None}
    for axes, setup in zip(grid, setups):
        style.draw_line(axes, depth_matched, linewidth=0.9, linestyle=(0, (3, 1.5)), **look)
        style.draw_line(axes, curves[curves["setup"] == setup], linewidth=1.7, **look)
        axes.set(title=style.SETUPS[setup][0].capitalize(), xscale="log")
        axes.xaxis.set_minor_formatter("")
        axes.label_outer()
        style.outer_labels(axes, "Backbone compute 6ND (FLOPs)", "Training loss (nats per token)")
    for axes in grid[len(setups) :]:
        axes.set_axis_off()
    # The first steps fall from log(vocabulary); what matters lies below the loss of the best layer at the start.
    top = curves.groupby(["setup", "layer"])["loss"].first().median()
    bottom = curves["loss"].min()
    grid[0].set_ylim(bottom - 0.04 * (top - bottom), top + 0.02 * (top - bottom))
    _name_dashes(grid[0], depth_matched[depth_matched["loss"] < top], palette)
    style.noted(figure, style.absent(connection, style.ABSENT))
    words = {"va": "center", "annotation_clip": False, "path_effects": style.halo()}
    for axes, setup in zip(grid, setups):
        ends = curves[curves["setup"] == setup].groupby("layer").last()
        for layer, name in style.layer_names(palette).items():  # ends crowd: compute grows by ever smaller factors
            end = ends.loc[layer]
            style.write(axes, name, (end["backbone_flops"], end["loss"]), (4, 0), color=palette[layer], **words)
    return figure


def _name_dashes(axes: style.Axes, depth_matched: style.Table, palette: dict) -> None:
    """Say once what the dashes are, beside the shallowest depth-matched baseline: nothing is left of its curve."""
    if depth_matched.empty:
        return
    visible = depth_matched[depth_matched["layer"] == depth_matched["layer"].min()]
    point = visible.iloc[len(visible) // 4]
    layer = point["layer"]
    text = f"depth-matched\nbaseline,\n{layer} layer{'' if layer == 1 else 's'}"
    words = {"ha": "right", "va": "top", "color": palette[layer]}
    style.write(axes, text, (point["backbone_flops"], point["loss"]), (-6, -6), **words)
