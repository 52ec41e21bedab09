"""The last layer's training curves of the setups, and their difference from the baseline."""

from perlayer.report.figures import style

TITLE = "What each setup costs the last layer"
CAPTION = (
    "Left: training loss of the last layer, running means over 50 steps of the run of the lowest seed. Right: the same "
    "minus the baseline of the same seed; bold lines are means over seeds, light ones single seeds. Probes leave the "
    "backbone as it is: they stand for the baseline where their seed has no other."
)
EMPTY = "No run of this figure is here yet."
SHOWN = ("baseline", "separate", "shared", "shared_stop_gradient")
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


def data(connection: style.Connection) -> style.Table:
    """One row a step: step, tokens, loss of every setup, and `SETUP_minus_baseline`, the mean over seeds."""
    rows = _rows(connection)
    curves, differences = rows[rows["lowest"]], rows[rows["setup"] != "baseline"]
    index = ["step", "tokens"]
    losses = curves.pivot_table(index=index, columns="setup", values="loss").reindex(columns=list(SHOWN))
    means = differences.pivot_table(index=index, columns="setup", values="difference", aggfunc="mean")
    means = means.reindex(columns=list(SHOWN[1:])).add_suffix("_minus_baseline")
    return losses.join(means, how="outer").rename_axis(columns=None).reset_index()


def _rows(connection: style.Connection) -> style.Table:
    """One row a setup, seed and step; `lowest` where the seed is."""
    sql = f"""WITH last AS ({LAST})
        SELECT setup, seed, step, mine.tokens, mine.loss, mine.loss - plain.loss AS difference,
            seed = min(seed) OVER (PARTITION BY setup) AS lowest
        FROM last AS mine LEFT JOIN (SELECT seed, step, loss FROM last WHERE setup = 'baseline') AS plain
            USING (seed, step)
        ORDER BY setup, seed, step"""
    return connection.execute(sql).df()


def draw(table: style.Table, connection: style.Connection) -> style.Figure:
    rows = _rows(connection)
    curves, differences = rows[rows["lowest"]], rows[rows["setup"] != "baseline"].dropna(subset="difference")
    figure = style.new_figure(10.5, 4.2)
    left, right = figure.subplots(1, 2)
    look = {"hue": "setup", "palette": {setup: style.SETUPS[setup][1] for setup in SHOWN}}
    style.draw_line(left, curves, "tokens", "loss", linewidth=1.4, **look)
    left.set(title="Loss of the last layer", ylabel="Training loss (nats per token)")
    style.token_ticks(left)
    style.noted(figure, style.absent(connection, style.ABSENT))
    if differences.empty:
        style.say(right, "No setup stands beside a baseline of its seed yet.")
    else:
        right.axhline(0, color="#222222", linewidth=0.8)
        single = {"units": "seed", "estimator": None, "linewidth": 0.8, "alpha": 0.35}
        style.draw_line(right, differences, "tokens", "difference", **look, **single)
        style.draw_line(right, differences, "tokens", "difference", linewidth=1.8, **look)
        right.set(title="Minus the baseline of the same seed", ylabel="Difference (nats per token)")
        style.token_ticks(right)
    end = table.iloc[-1]
    labels = {setup: (end["tokens"], end[setup], *style.SETUPS[setup][:2]) for setup in SHOWN if end.notna()[setup]}
    style.label_lines(left, labels.values())
    if not differences.empty:
        changes = {setup: end[f"{setup}_minus_baseline"] for setup in SHOWN[1:]}
        changes = {setup: change for setup, change in changes.items() if change == change} | {"baseline": 0.0}
        style.label_lines(
            right, [(end["tokens"], change, *style.SETUPS[setup][:2]) for setup, change in changes.items()]
        )
    return figure
