"""Final training loss after every layer, for every setup, beside ordinary models of the same depth."""

from perlayer.report.figures import by_layer, style

TITLE = "Final training loss by layer"
CAPTION = (
    "Left: the mean over the last 50 steps of the loss read after each layer; lines are means over seeds, light points "
    "single seeds, and the squares are ordinary models with as many layers. Right: the run of the lowest seed minus "
    "the ordinary model of that depth, and at the last layer the mean difference from the baseline of the same seed; "
    "the grey band is the noise floor of the last layer. The right axis is linear near zero and logarithmic beyond."
)
EMPTY = "No run of this figure is here yet."
# Null without plain runs of several seeds.
FLOOR = "SELECT max(spread) FROM noise_floor WHERE residual = 'sandwich' AND readout = 'head'"
SHOWN = ("ordinary", *style.TRAINED)


def data(connection: style.Connection) -> style.Table:
    """One row a layer: the ordinary model, the mean of every setup, then every single run as `RUN_run`."""
    losses = _losses(connection)
    means = losses.pivot_table(index="layer", columns="line", values="loss", aggfunc="mean")
    single = losses[losses["line"] != "ordinary"].pivot_table(index="layer", columns="run", values="loss")
    means = means.reindex(columns=list(SHOWN)).join(single.add_suffix("_run"))
    return means.rename_axis(index="layer", columns=None).reset_index()


def _losses(connection: style.Connection) -> style.Table:
    sql = f"""SELECT setup AS line, run, layer, loss FROM final_loss JOIN ({style.SETUP_RUNS}) USING (run)
        WHERE setup <> 'baseline'
        UNION ALL
        SELECT 'ordinary', run, layers, loss FROM ({style.ORDINARY})
        ORDER BY ALL"""
    return connection.execute(sql).df()


def draw(table: style.Table, connection: style.Connection) -> style.Figure:
    import pandas as pd

    rows = [_losses(connection), connection.execute(style.EFFECTS).df().rename(columns={"setup": "line"})]
    lines = {}
    for setup in SHOWN:
        label, colour, marker = style.SETUPS[setup]
        dashes = ":" if setup == "ordinary" else "-"
        lines[setup] = (label, colour, style.marked(colour, marker, 5.5, 1.2, dashes))
    floor = connection.execute(FLOOR).fetchone()[0]
    look = {"size": (10, 4.6), "room": 0.4, "floor": floor, "seeds": True}
    note, alone = style.absent(connection, style.ABSENT), "No setup stands beside an ordinary model yet."
    return by_layer.draw_lines(pd.concat(rows), lines, note, alone=alone, **look)
