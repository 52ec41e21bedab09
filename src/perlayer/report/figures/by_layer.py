"""Final training loss by layer beside depth-matched baselines, and the difference: what three figures share."""

from collections.abc import Callable, Mapping
from typing import Any

from perlayer.report.figures import style

# What the captions of the figures of some runs say of both panels.
PANELS = (
    "Left: final training loss of the run of the lowest seed. Right: the same minus the depth-matched baseline, "
    "and at the last layer the mean over seeds minus that of the baseline. The right axis is linear near zero and "
    "logarithmic beyond."
)
# By line: its label, the colour of that, and how the line is drawn.
BEHIND = {
    "depth_matched": ("depth-matched baselines", "#777777", style.marked("#9a9a9a", "s", width=1, dashes=":")),
    "probes": ("probes", "#777777", style.marked("#9a9a9a", "o", width=1)),
}


def shown(connection: style.Connection, where: str) -> style.Table:
    """The groups of runs of the recipe's design and depth that a condition on the view `supervision` picks."""
    return connection.execute(
        f"SELECT * FROM supervision WHERE residual = 'sandwich' AND full_depth AND ({where}) ORDER BY loss DESC, run"
    ).df()


def absent(connection: style.Connection, where: str) -> str:
    """A note of the groups that the condition picks and no run of which has results, by that of the lowest seed."""
    return style.absent(
        connection,
        f"""SELECT min_by(run, row(seed, run)) AS run FROM recipe_runs
        WHERE weighting IS NOT NULL AND residual = 'sandwich' AND full_depth AND ({where})
        GROUP BY readouts, seed_group HAVING NOT bool_or(present) ORDER BY run""",
    )


def losses(connection: style.Connection, where: str) -> style.Table:
    """One row a run and layer: its loss, and what it is above the depth-matched baseline.

    The last layer is compared with the baseline instead, as means over seeds.
    """
    sql = f"""WITH lines AS (
            SELECT run AS line, run, cost FROM supervision
            WHERE residual = 'sandwich' AND full_depth AND ({where})
            UNION ALL
            SELECT 'probes', run, NULL FROM setups
            WHERE residual = 'sandwich' AND setup = 'probes' AND run = representative
        )
        SELECT line, layer, final_loss.loss,
            CASE WHEN layer = runs.layers THEN coalesce(cost, final_loss.loss - depth_matched.loss)
                ELSE final_loss.loss - depth_matched.loss END AS gap
        FROM lines JOIN final_loss USING (run) JOIN recipe_runs AS runs USING (run)
        LEFT JOIN depth_matched ON depth_matched.residual = 'sandwich' AND depth_matched.layers = layer
        UNION ALL
        SELECT 'depth_matched', layers, loss, NULL FROM ({style.DEPTH_MATCHED})
        ORDER BY ALL"""
    return connection.execute(sql).df()


def table(connection: style.Connection, where: str) -> style.Table:
    """One row a layer: the loss of depth-matched baselines, probes and each run, and RUN_gap."""
    rows = losses(connection, where)
    runs = list(shown(connection, where)["run"])
    wide = rows.pivot_table(index="layer", columns="line", values="loss").reindex(columns=[*BEHIND, *runs])
    gaps = rows.pivot_table(index="layer", columns="line", values="gap").reindex(columns=runs)
    return wide.join(gaps.add_suffix("_gap")).rename_axis(index="layer", columns=None).reset_index()


def draw(
    connection: style.Connection, where: str, look: Callable[[Any], tuple[str, str, str, str]], empty: str
) -> style.Figure:
    """Losses and gaps of the runs that the condition picks; `look` gives label, colour, marker and dashes of one."""
    runs = shown(connection, where)
    if runs.empty:
        return style.empty_figure(empty)
    lines = dict(BEHIND)
    for run in runs.itertuples():
        label, colour, marker, dashes = look(run)
        lines[run.run] = (label, colour, style.marked(colour, marker, 5.5, 1.2, dashes))
    return draw_lines(losses(connection, where), lines, absent(connection, where), (10.5, 5), room=0.45)


def draw_lines(
    rows: style.Table,
    lines: Mapping[str, tuple[str, str, Mapping[str, Any]]],
    note: str,
    size: tuple[float, float],
    room: float,
    seeds: bool = False,
    alone: str = "No run stands beside a depth-matched baseline yet.",
) -> style.Figure:
    """Left the losses of lines, means over seeds, right their gaps.

    Args:
        rows: line, layer, loss, gap.
        lines: by line as in `BEHIND`.
        size: of the figure, inches.
        room: for the labels, see `style.layer_ticks`.
        seeds: whether single losses are drawn, too.
        alone: what stands to the right without any gap.
    """
    import seaborn

    figure = style.new_figure(*size)
    left, right = figure.subplots(1, 2, width_ratios=[1.25, 1])
    labels = []
    for line, (label, colour, look) in lines.items():
        mine = rows[rows["line"] == line]
        known, gaps = mine.dropna(subset="loss"), mine.dropna(subset="gap")
        if not known.empty:
            style.draw_line(left, known, "layer", "loss", **look)
            first = known["layer"].min()
            labels.append((first, known[known["layer"] == first]["loss"].mean(), label, colour))
            if seeds:
                dots = {"color": look["color"], "s": 18, "alpha": 0.3, "linewidth": 0}
                seaborn.scatterplot(known, x="layer", y="loss", ax=left, **dots)
        if not gaps.empty:
            style.draw_line(right, gaps, "layer", "gap", **look)
    left.set(title="Loss", ylabel="Final training loss (nats per token)")
    style.layer_ticks(left, rows["layer"], room=room)
    gaps = rows["gap"].dropna()
    if gaps.empty:
        style.say(right, alone)
    else:
        right.axhline(0, color="#222222", linewidth=0.8)
        right.set(title="Minus the depth-matched baseline", ylabel="Difference (nats per token)")
        style.layer_ticks(right, rows["layer"])
        style.difference_scale(right, gaps.min(), gaps.max())
    style.noted(figure, note)
    style.label_lines(left, labels, side="left")
    return figure
