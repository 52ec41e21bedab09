"""What a shared head that is switched off early costs the last layer over training."""

from perlayer.report.figures import by_layer, style

TITLE = "A shared head that is switched off early"
CAPTION = (
    "Training loss of the last layer minus the baseline of the same seed, as a mean over seeds; light lines are single "
    "seeds. Left: the first tenth of the training, running means over 1/240 of its steps (4 of 1110); dotted lines "
    "stand where a run's layer losses have come to nothing. Right: all of it, running means over 50 steps."
)
EMPTY = "No shared head stands beside a baseline of its seed yet."
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


def data(connection: style.Connection) -> style.Table:
    """One row a step: the mean difference of every run from its baseline, RUN over 50 steps and RUN_early over few."""
    whole, early = (
        _differences(connection, smooth).pivot_table(index=["step", "tokens"], columns="run", values="difference")
        for smooth in (style.SMOOTH, EARLY)
    )
    return whole.join(early.add_suffix("_early"), how="outer").rename_axis(columns=None).reset_index()


def _differences(connection: style.Connection, smooth: str) -> style.Table:
    """One row a group of runs, seed and step. Probes stand for the baseline where their seed has no other."""
    sql = f"""WITH members AS (
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
    return connection.execute(sql).df()


def draw(table: style.Table, connection: style.Connection) -> style.Figure:
    whole, early = _differences(connection, style.SMOOTH), _differences(connection, EARLY)
    if whole.empty:
        return style.empty_figure(EMPTY)
    groups = by_layer.shown(connection, RUNS).set_index("run").loc[list(dict.fromkeys(whole["run"]))]
    groups = groups.sort_values(["ends", "schedule"], na_position="first")
    colours = dict.fromkeys(groups.index, style.SETUPS["shared"][1])
    colours |= dict(zip(groups.index[groups["ends"].notna()], COLOURS * len(groups)))
    figure = style.new_figure(10.5, 4.4)
    left, right = figure.subplots(1, 2, width_ratios=[1, 1.2])
    look = {"y": "difference", "hue": "run", "hue_order": list(groups.index), "palette": colours}
    for axes, rows, x in ((left, early, "step"), (right, whole, "tokens")):
        axes.axhline(0, color="#222222", linewidth=0.8)
        if not rows.empty:  # a tenth of a few steps
            style.draw_line(axes, rows, x, units="seed", estimator=None, linewidth=0.8, alpha=0.35, **look)
            style.draw_line(axes, rows, x, linewidth=1.8, **look)
    for run, ends in groups["ends"].dropna().items():
        left.axvline(int(ends), color=colours[run], linewidth=1, linestyle=":")
    left.set(title="The first tenth", xlabel="Update", ylabel="Minus the baseline (nats per token)")
    right.set(title="All of the training", ylabel="")
    style.token_ticks(right)
    style.noted(figure, by_layer.absent(connection, RUNS))
    ends = whole.groupby(["run", "seed"])["difference"].last().groupby("run").mean()
    last = whole["tokens"].max()
    style.label_lines(right, [(last, end, _words(groups.loc[run]), colours[run]) for run, end in ends.items()])
    return figure


def _words(group: style.Table) -> str:
    if group["schedule"] == "constant":
        return "on throughout"
    return f"{'off after' if group['schedule'].startswith('off ') else 'to zero by'} step {group['ends']:g}"
