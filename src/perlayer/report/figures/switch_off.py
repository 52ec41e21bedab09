"""What a shared head that is switched off early costs the last layer over training."""

from __future__ import annotations

from typing import TYPE_CHECKING

import duckdb

from perlayer.report.figures import by_layer, style

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

TITLE = "A shared head that is switched off early"
CAPTION = (
    "Training loss of the last layer minus the baseline of the same seed, as a mean over seeds; light lines are single "
    "seeds. Left: the first tenth of the training, running means over 1/240 of its steps (4 of 1110); dotted lines "
    "stand where a run's layer losses have come to nothing. Right: all of it, running means over 50 steps."
)
RUNS = """readouts = 'shared' AND weighting = 'uniform 1' AND reach = 'all below' AND surgery = 'none'
    AND layer_dropout = 'none' AND other = ''
    AND (schedule = 'constant' OR ends IS NOT NULL OR schedule LIKE 'off %' OR schedule LIKE 'linear to zero %')"""
COLOURS = ("#0072B2", "#E69F00", "#AA4499", "#56B4E9", "#D55E00")  # of those that are switched off, in turn
EARLY = """
    SELECT curves.run, layer, readout, step, curves.tokens, avg(loss) OVER (
            PARTITION BY curves.run, layer, readout ORDER BY step
            ROWS BETWEEN CAST(greatest(steps // 240, 1) - 1 AS BIGINT) PRECEDING AND CURRENT ROW
        ) AS loss
    FROM curves JOIN recipe_runs AS runs ON runs.run = curves.run
    WHERE step <= steps // 10
    QUALIFY step >= greatest(steps // 240, 1)
"""


def data(connection: duckdb.DuckDBPyConnection) -> pd.DataFrame:
    """One row a step: the mean difference of every run from its baseline, RUN over 50 steps and RUN_early over few."""
    whole, early = _differences(connection, style.SMOOTH), _differences(connection, EARLY)
    wide = whole.pivot_table(index=["step", "tokens"], columns="run", values="difference", aggfunc="mean")
    short = early.pivot_table(index=["step", "tokens"], columns="run", values="difference", aggfunc="mean")
    return wide.join(short.add_suffix("_early"), how="outer").rename_axis(columns=None).reset_index()


def _differences(connection: duckdb.DuckDBPyConnection, smooth: str) -> pd.DataFrame:
    """One row a group of runs, seed and step. Probes stand for the baseline where their seed has no other."""
    return connection.execute(
        f"""WITH members AS (
            SELECT groups.run, member, seed, layers
            FROM groups WHERE run IN (
                SELECT run FROM supervision WHERE residual = 'sandwich' AND full_depth AND ({RUNS})
            )
            QUALIFY row_number() OVER (PARTITION BY groups.run, seed ORDER BY ema, member) = 1
        ),
        baselines AS (
            SELECT member, seed FROM groups WHERE plain AND full_depth AND residual = 'sandwich'
            QUALIFY row_number() OVER (PARTITION BY seed ORDER BY readouts, ema, member) = 1
        ),
        smooth AS ({smooth})
        SELECT members.run, seed, mine.step, mine.tokens, mine.loss - plain.loss AS difference
        FROM members JOIN baselines USING (seed)
        JOIN smooth AS mine ON mine.run = members.member AND mine.layer = layers
        JOIN smooth AS plain ON plain.run = baselines.member AND plain.layer = layers AND plain.step = mine.step
        ORDER BY ALL"""
    ).df()


def draw(connection: duckdb.DuckDBPyConnection) -> Figure:
    """The figure of what is present."""
    import seaborn

    whole, early = _differences(connection, style.SMOOTH), _differences(connection, EARLY)
    if whole.empty:
        return style.empty_figure("No shared head stands beside a baseline of its seed yet.")
    ways = by_layer.shown(connection, RUNS).set_index("run").loc[list(dict.fromkeys(whole["run"]))]
    ways = ways.sort_values(["ends", "schedule"], na_position="first")
    colours = dict(zip(ways.index[ways["ends"].notna()], COLOURS * len(ways)))
    colours = {run: colours.get(run, style.SETUPS["shared"][1]) for run in ways.index}
    figure = style.new_figure(10.5, 4.4)
    left, right = figure.subplots(1, 2, width_ratios=[1, 1.2])
    for axes, table, x in ((left, early, "step"), (right, whole, "tokens")):
        look = {"x": x, "y": "difference", "hue": "run", "hue_order": list(ways.index), "palette": colours, "ax": axes}
        look |= {"legend": False, "errorbar": None}
        axes.axhline(0, color="#222222", linewidth=0.8)
        if table.empty:  # a tenth of a few steps
            continue
        seaborn.lineplot(table, units="seed", estimator=None, linewidth=0.8, alpha=0.35, **look)
        seaborn.lineplot(table, linewidth=1.8, **look)
    for run, ends in ways["ends"].dropna().items():
        left.axvline(int(ends), color=colours[run], linewidth=1, linestyle=":")
    left.set(title="The first tenth", xlabel="Update", ylabel="Minus the baseline (nats per token)")
    right.set(title="All of the training", ylabel="")
    style.token_ticks(right)
    style.add_note(figure, by_layer.absent(connection, RUNS))
    ends = whole.groupby(["run", "seed"]).last().groupby("run")
    named = ends["difference"].mean().items()
    last = whole["tokens"].max()
    style.label_lines(right, [(last, difference, _words(ways.loc[run]), colours[run]) for run, difference in named])
    return figure


def _words(way: pd.Series) -> str:
    if way["schedule"] == "constant":
        return "on throughout"
    return f"{'off after' if way['schedule'].startswith('off ') else 'to zero by'} step {way['ends']:g}"
