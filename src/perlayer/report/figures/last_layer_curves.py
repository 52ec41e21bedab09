"""The last layer's training curves of the setups, and their difference from the baseline."""

from __future__ import annotations

from typing import TYPE_CHECKING

import duckdb

from perlayer.report.figures import style

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

TITLE = "What each setup costs the last layer"
CAPTION = (
    "Left: training loss of the last layer, running means over 50 steps of the run of the lowest seed. Right: the same "
    "minus the baseline of the same seed; bold lines are means over seeds, light ones single seeds. Probes leave the "
    "backbone as it is: they stand for the baseline where their seed has no other."
)
SHOWN = ("baseline", "separate", "shared", "shared_stop_gradient")


def data(connection: duckdb.DuckDBPyConnection) -> pd.DataFrame:
    """One row a step: step, tokens, loss of every setup, and `SETUP_minus_baseline`, the mean over seeds."""
    import pandas as pd

    curves, differences = _curves(connection), _differences(connection)
    if curves.empty:
        return pd.DataFrame(columns=["step", "tokens", *SHOWN, *(f"{setup}_minus_baseline" for setup in SHOWN[1:])])
    steps = curves[["step", "tokens"]].drop_duplicates().set_index("step").sort_index()
    losses = curves.pivot_table(index="step", columns="setup", values="loss").reindex(columns=list(SHOWN))
    means = differences.pivot_table(index="step", columns="setup", values="difference", aggfunc="mean")
    means = means.reindex(columns=list(SHOWN[1:])).rename(columns=lambda setup: f"{setup}_minus_baseline")
    return pd.concat([steps, losses, means], axis=1).rename_axis(index="step", columns=None).reset_index()


# A seed without a run that is plain has its probes run, which is the same backbone.
LAST = f"""
    SELECT setup, seed, step, tokens, loss
    FROM (
        SELECT CASE WHEN setup = 'probes' THEN 'baseline' ELSE setup END AS setup, run, seed, layers
        FROM ({style.SETUP_RUNS}) AS setups
        QUALIFY row_number() OVER (
            PARTITION BY CASE WHEN setups.setup = 'probes' THEN 'baseline' ELSE setups.setup END, seed
            ORDER BY setups.setup, ema, run
        ) = 1
    )
    JOIN ({style.SMOOTH}) USING (run)
    WHERE layer = layers
"""


def _curves(connection: duckdb.DuckDBPyConnection) -> pd.DataFrame:
    return connection.execute(
        f"""SELECT * EXCLUDE seed FROM ({LAST})
        QUALIFY rank() OVER (PARTITION BY setup ORDER BY seed) = 1 ORDER BY setup, step"""
    ).df()


def _differences(connection: duckdb.DuckDBPyConnection) -> pd.DataFrame:
    return connection.execute(
        f"""WITH last AS ({LAST})
        SELECT mine.setup, seed, step, mine.tokens, mine.loss - plain.loss AS difference
        FROM last AS mine JOIN last AS plain USING (seed, step)
        WHERE plain.setup = 'baseline' AND mine.setup <> 'baseline' ORDER BY ALL"""
    ).df()


def draw(connection: duckdb.DuckDBPyConnection) -> Figure:
    """The figure of what is present."""
    import seaborn

    curves, differences = _curves(connection), _differences(connection)
    if curves.empty:
        return style.empty_figure("No run of this figure is here yet.")
    figure = style.new_figure(10.5, 4.2)
    left, right = figure.subplots(1, 2)
    colours = {setup: style.SETUPS[setup][1] for setup in SHOWN}
    look = {"x": "tokens", "hue": "setup", "palette": colours, "legend": False, "errorbar": None}
    seaborn.lineplot(curves, y="loss", linewidth=1.4, ax=left, **look)
    left.set(title="Loss of the last layer", ylabel="Training loss (nats per token)")
    style.token_ticks(left)
    style.add_note(figure, style.missing(connection))
    end = curves["tokens"].max()
    if differences.empty:
        style.say(right, "No setup stands beside a baseline of its seed yet.")
        style.label_lines(left, _labels(curves, end, "loss"))
        return figure
    right.axhline(0, color="#222222", linewidth=0.8)
    single = {"units": "seed", "estimator": None, "linewidth": 0.8, "alpha": 0.35}
    seaborn.lineplot(differences, y="difference", ax=right, **look, **single)
    seaborn.lineplot(differences, y="difference", linewidth=1.8, ax=right, **look)
    right.set(title="Minus the baseline of the same seed", ylabel="Difference (nats per token)")
    style.token_ticks(right)
    style.label_lines(left, _labels(curves, end, "loss"))
    baseline = (end, 0.0, *style.SETUPS["baseline"][:2])
    style.label_lines(right, [baseline, *_labels(differences, end, "difference")])
    return figure


def _labels(table: pd.DataFrame, end: int, column: str) -> list[tuple[float, float, str, str]]:
    means = table[table["tokens"] == end].groupby("setup")[column].mean()
    return [(end, value, *style.SETUPS[setup][:2]) for setup, value in means.items()]
