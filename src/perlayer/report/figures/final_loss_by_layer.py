"""Final training loss after every layer, for every setup, beside depth-matched baselines."""

from perlayer.report.figures import by_layer, style

TITLE = "Final training loss by layer"
CAPTION = (
    "Left: the mean over the last 50 steps of the loss read after each layer; lines are means over seeds, light "
    "points single seeds, and the squares are depth-matched baselines, plain models with as many layers. Right: the "
    "run of the lowest seed minus the depth-matched baseline, and at the last layer the mean difference from the "
    "baseline of the same seed. The right axis is linear near zero and logarithmic beyond."
)
EMPTY = "No run of this figure is here yet."
SHOWN = ("depth_matched", *style.TRAINED)


def data(connection: style.Connection) -> style.Table:
    """One row a layer: the depth-matched baseline, the mean of every setup, then every single run as `RUN_run`."""
    losses = _losses(connection)
    means = losses.pivot_table(index="layer", columns="line", values="loss", aggfunc="mean")
    single = losses[losses["line"] != "depth_matched"].pivot_table(index="layer", columns="run", values="loss")
    means = means.reindex(columns=list(SHOWN)).join(single.add_suffix("_run"))
    return means.rename_axis(index="layer", columns=None).reset_index()


def _losses(connection: style.Connection) -> style.Table:
    sql = f"""SELECT setup AS line, run, layer, loss FROM final_loss JOIN ({style.SETUP_RUNS}) USING (run)
        WHERE setup <> 'baseline'
        UNION ALL
        SELECT 'depth_matched', run, layers, loss FROM ({style.DEPTH_MATCHED})
        ORDER BY ALL"""
    return connection.execute(sql).df()


def draw(table: style.Table, connection: style.Connection) -> style.Figure:
    import pandas as pd

    rows = [_losses(connection), connection.execute(style.EFFECTS).df().rename(columns={"setup": "line"})]
    lines = {}
    for setup in SHOWN:
        label, colour, marker = style.SETUPS[setup]
        dashes = ":" if setup == "depth_matched" else "-"
        lines[setup] = (label, colour, style.marked(colour, marker, 5.5, 1.2, dashes))
    look = {"size": (10, 4.6), "room": 0.46, "seeds": True}
    note, alone = style.absent(connection, style.ABSENT), "No setup stands beside a depth-matched baseline yet."
    return by_layer.draw_lines(pd.concat(rows), lines, note, alone=alone, **look)
