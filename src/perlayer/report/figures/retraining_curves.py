"""Held-out loss of every layer along the retraining of its readout."""

from perlayer.report.figures import style

TITLE = "Held-out loss along the retraining of the readouts"
CAPTION = (
    "One column a setup, one colour a layer. Top: the held-out loss of every readout while it is retrained on layers "
    "that no longer change, from what training left, at 0 tokens, to the end. Bottom: the same minus that of the "
    "start; the two columns share both axes."
)
EMPTY = "No readouts have been retrained yet."
ROWS = {"loss": "Held-out loss (nats per token)", "change": "Change (nats per token)"}


def data(connection: style.Connection) -> style.Table:
    """One row a step: step, tokens, and SETUP_K, the held-out loss of layer K."""
    table = style.by_setup_and_layer(_curves(connection), style.TRAINED)
    return table.rename_axis(columns=None).reset_index()


def _curves(connection: style.Connection) -> style.Table:
    """Of each setup the retrained run of the lowest seed."""
    sql = """WITH chosen AS (
            SELECT setup, run FROM setups
            WHERE residual = 'sandwich' AND setup <> 'baseline' AND run IN (SELECT run FROM retraining)
            QUALIFY row_number() OVER (PARTITION BY setup ORDER BY seed, ema, run) = 1
        )
        SELECT setup, layer, step, tokens, value AS loss,
            value - first(value) OVER (PARTITION BY setup, layer ORDER BY step) AS change
        FROM layer_metrics JOIN chosen USING (run)
        WHERE readout = 'retrained' AND metric = 'loss' AND split = 'val' AND ahead = 1 AND other_layer IS NULL
        ORDER BY setup, layer, step"""
    return connection.execute(sql).df()


def draw(table: style.Table, connection: style.Connection) -> style.Figure:
    curves = _curves(connection)
    setups = [setup for setup in style.TRAINED if setup in set(curves["setup"])]
    palette = style.layer_colours(curves["layer"])
    figure = style.new_figure(max(5.2 * len(setups), 6.5), 6.6)
    grid = figure.subplots(2, len(setups), sharex=True, sharey="row", squeeze=False, height_ratios=[1.35, 1])
    look = {"hue": "layer", "palette": palette, "estimator": None}
    look |= {"linewidth": 1.6, "marker": "o", "markersize": 4, "markeredgewidth": 0}
    for panels, (column, meaning) in zip(grid, ROWS.items()):
        for axes, setup in zip(panels, setups):
            if column == "change":
                axes.axhline(0, color="#222222", linewidth=0.8)
            style.draw_line(axes, curves[curves["setup"] == setup], "tokens", column, **look)
            if column == "loss":
                axes.set_title(style.SETUPS[setup][0].capitalize())
            style.token_ticks(axes)
            axes.set(xlabel="Tokens of the retraining", ylabel=meaning)
            axes.label_outer()
    style.noted(figure, style.absent_setups("Not drawn, not retrained yet", ("probes", "separate"), setups))
    for panels, column in zip(grid, ROWS):
        for axes, setup in zip(panels, setups):
            ends = curves[curves["setup"] == setup].groupby("layer").last()
            named = [
                (ends["tokens"][layer], ends[column][layer], name, palette[layer])
                for layer, name in style.layer_names(palette).items()
            ]
            style.label_lines(axes, named)
    return figure
