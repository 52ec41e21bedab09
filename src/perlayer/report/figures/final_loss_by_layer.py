"""Final training loss after every layer, for every setup, beside ordinary models of the same depth."""

from __future__ import annotations

from typing import TYPE_CHECKING

import duckdb

from perlayer.report.figures import style

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

TITLE = "Final training loss by layer"
CAPTION = (
    "Left: the mean over the last 50 steps of the loss read after each layer; lines are means over seeds, light points "
    "single seeds, and the squares are ordinary models with as many layers. Right: the run of the lowest seed minus "
    "the ordinary model of that depth, and at the last layer the mean difference from the baseline of the same seed; "
    "the grey band is the noise floor of the last layer. The right axis is linear near zero and logarithmic beyond."
)


def data(connection: duckdb.DuckDBPyConnection) -> pd.DataFrame:
    """One row a layer: the ordinary model, the mean of every setup, then every single run as `RUN_run`."""
    losses = _losses(connection)
    means = losses.pivot_table(index="layer", columns="setup", values="loss", aggfunc="mean")
    means = means.reindex(columns=["ordinary", *style.TRAINED])
    single = losses[losses["setup"] != "ordinary"].pivot_table(index="layer", columns="run", values="loss")
    single.columns = [f"{run}_run" for run in single.columns]
    return means.join(single).rename_axis(index="layer", columns=None).reset_index()


def _losses(connection: duckdb.DuckDBPyConnection) -> pd.DataFrame:
    return connection.execute(
        f"""SELECT setup, run, layer, loss FROM final_loss JOIN ({style.SETUP_RUNS}) USING (run)
        WHERE setup <> 'baseline'
        UNION ALL
        SELECT 'ordinary', run, layers, loss FROM ({style.ORDINARY})
        ORDER BY ALL"""
    ).df()


def draw(connection: duckdb.DuckDBPyConnection) -> Figure:
    """The figure of what is present."""
    import seaborn

    losses = _losses(connection)
    if losses.empty:
        return style.empty_figure("No run of this figure is here yet.")
    effects = connection.execute(style.EFFECTS).df()
    figure = style.new_figure(10, 4.6)
    left, right = figure.subplots(1, 2, width_ratios=[1.25, 1])
    labels = []
    for setup in ("ordinary", *style.TRAINED):
        label, colour, marker = style.SETUPS[setup]
        mine, effect = losses[losses["setup"] == setup], effects[effects["setup"] == setup]
        if mine.empty:
            continue
        look = {"color": colour, "marker": marker, "markersize": 5.5, "markeredgewidth": 0}
        look["linestyle"] = ":" if setup == "ordinary" else "-"
        seaborn.lineplot(mine, x="layer", y="loss", errorbar=None, ax=left, **look)
        seaborn.scatterplot(mine, x="layer", y="loss", color=colour, s=18, alpha=0.3, linewidth=0, ax=left)
        seaborn.lineplot(effect, x="layer", y="gap", errorbar=None, ax=right, **look)
        first = mine["layer"].min()
        labels.append((first, mine[mine["layer"] == first]["loss"].mean(), label, colour))
    left.set(title="Loss", ylabel="Final training loss (nats per token)")
    style.layer_ticks(left, losses["layer"], room=0.4)
    if effects.empty:
        style.say(right, "No setup stands beside an ordinary model yet.")
    else:
        floor = style.draw_floor(right, connection)
        right.set(title="Minus the ordinary model of that depth", ylabel="Difference (nats per token)")
        style.layer_ticks(right, losses["layer"])
        style.difference_scale(right, effects["gap"].min(), effects["gap"].max(), floor)
    style.add_note(figure, style.missing(connection))
    style.label_lines(left, labels, side="left")
    return figure
