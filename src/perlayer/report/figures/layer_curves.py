"""Training curves of every layer against backbone compute, beside those of ordinary models: the main figure."""

from __future__ import annotations

from typing import TYPE_CHECKING

import duckdb

from perlayer.report.figures import style

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TITLE = "Training curves per layer against backbone compute"
CAPTION = (
    "One panel a setup, one colour a layer. Solid: the loss read after that layer; dashed: an ordinary model with as "
    "many layers. Running means over 50 steps, from step 100 (both shorter in proportion on runs under 1000 steps). "
    "Backbone compute is 6ND: N parameters of the layers up to that one, D training tokens so far."
)


def data(connection: duckdb.DuckDBPyConnection) -> pd.DataFrame:
    """One row a step: step, tokens, backbone_flops_K of layer K, and the running mean SETUP_K of every curve."""
    import pandas as pd

    curves = _curves(connection)
    if curves.empty:
        return pd.DataFrame(columns=["step", "tokens"])
    steps = curves[["step", "tokens"]].drop_duplicates().set_index("step").sort_index()
    flops = curves.pivot_table(index="step", columns="layer", values="backbone_flops", aggfunc="first")
    flops.columns = [f"backbone_flops_{layer}" for layer in flops.columns]
    parts = [steps, flops]
    for setup in ("ordinary", *style.TRAINED):
        part = curves[curves["setup"] == setup].pivot_table(index="step", columns="layer", values="loss")
        part.columns = [f"{setup}_{layer}" for layer in part.columns]
        parts.append(part)
    return pd.concat(parts, axis=1).rename_axis("step").reset_index()


def _curves(connection: duckdb.DuckDBPyConnection) -> pd.DataFrame:
    return connection.execute(
        f"""WITH smooth AS ({style.SMOOTH}), shown AS (
            SELECT run, setup, NULL AS only_layer FROM ({style.SETUP_RUNS}) WHERE run = lead AND setup <> 'baseline'
            UNION ALL
            SELECT run, 'ordinary', layers FROM ({style.ORDINARY})
        )
        SELECT setup, layer, step, tokens, backbone_flops, loss
        FROM smooth JOIN shown USING (run)
        WHERE only_layer IS NULL OR layer = only_layer
        ORDER BY setup, layer, step"""
    ).df()


def draw(connection: duckdb.DuckDBPyConnection) -> Figure:
    """The figure of what is present."""
    import seaborn
    from matplotlib.ticker import NullFormatter

    curves = _curves(connection)
    setups = [
        setup for setup in ("separate", "probes", "shared", "shared_stop_gradient") if setup in set(curves["setup"])
    ]
    if not setups:
        return style.empty_figure("No run with a readout at every layer is here yet.")
    layers = sorted(curves["layer"].unique())
    palette = style.layer_colours(layers)
    ordinary = curves[curves["setup"] == "ordinary"]
    columns = min(2, len(setups))
    rows = -(-len(setups) // columns)
    figure = style.new_figure(5.2 * columns, 3.9 * rows)
    grid = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False).flatten()
    for axes, setup in zip(grid, setups):
        mine = curves[curves["setup"] == setup]
        look = {"x": "backbone_flops", "y": "loss", "hue": "layer", "palette": palette, "legend": False, "ax": axes}
        seaborn.lineplot(ordinary, estimator=None, linewidth=0.9, linestyle=(0, (3, 1.5)), **look)
        seaborn.lineplot(mine, estimator=None, linewidth=1.7, **look)
        axes.set(title=style.SETUPS[setup][0].capitalize(), xscale="log")
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.label_outer()
        axes.set_ylabel("Training loss (nats per token)" if axes.get_subplotspec().is_first_col() else "")
        axes.set_xlabel("Backbone compute 6ND (FLOPs)" if axes.get_subplotspec().is_last_row() else "")
    for axes in grid[len(setups) :]:
        axes.set_axis_off()
    # The first steps fall from log(vocabulary); what matters lies below the loss of the best layer at the start.
    top = curves.groupby(["setup", "layer"])["loss"].first().median()
    bottom = curves["loss"].min()
    grid[0].set_ylim(bottom - 0.04 * (top - bottom), top + 0.02 * (top - bottom))
    _name_dashes(grid[0], ordinary, top, palette)
    style.add_note(figure, style.missing(connection))
    for axes, setup in zip(grid, setups):
        ends = curves[curves["setup"] == setup].groupby("layer").last()
        for layer, end in ends.iterrows():
            # The ends of deep models crowd, since compute grows by an ever smaller factor.
            if style.named_layer(layer, layers):
                style.label_point(
                    axes,
                    (end["backbone_flops"], end["loss"]),
                    f"layer {layer}" if layer == layers[0] else str(layer),
                    palette[layer],
                )
    return figure


def _name_dashes(axes: Axes, ordinary: pd.DataFrame, top: float, palette: dict) -> None:
    """Say once what the dashes are, beside the shallowest ordinary model: nothing is left of its curve."""
    if ordinary.empty:
        return
    layer = ordinary["layer"].min()
    visible = ordinary[(ordinary["layer"] == layer) & (ordinary["loss"] < top)]
    if visible.empty:
        return
    point = visible.iloc[len(visible) // 4]
    text = f"ordinary model,\n{layer} layer{'' if layer == 1 else 's'}"
    place = {"xytext": (-6, -6), "textcoords": "offset points", "ha": "right", "va": "top"}
    axes.annotate(text, (point["backbone_flops"], point["loss"]), color=palette[layer], **place)
