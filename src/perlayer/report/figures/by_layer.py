"""Final training loss by layer of chosen runs, with probes and ordinary models behind: what two figures share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import duckdb

from perlayer.report.figures import style

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

BEHIND = {"ordinary": ("ordinary models", "s", ":"), "probes": ("probes", "o", "-")}
GREY = "#9a9a9a"


# What the captions of those figures say of both panels.
PANELS = (
    "Left: final training loss of the run of the lowest seed. Right: the same minus the ordinary model of that depth, "
    "and at the last layer the mean over seeds minus that of the baseline. The right axis is linear near zero and "
    "logarithmic beyond."
)


class Look(NamedTuple):
    """How a run is drawn, and what it is called at its line."""

    label: str
    colour: str
    marker: str
    dashes: str

    def keywords(self) -> dict[str, Any]:
        """As seaborn's line plots take it."""
        marker = {"marker": self.marker, "markersize": 5.5, "markeredgewidth": 0}
        return {"color": self.colour, "linestyle": self.dashes, **marker}


def shown(connection: duckdb.DuckDBPyConnection, where: str) -> pd.DataFrame:
    """The groups of runs of the recipe's design and depth that a condition on the view `supervision` picks."""
    return connection.execute(
        f"SELECT * FROM supervision WHERE residual = 'sandwich' AND full_depth AND ({where}) ORDER BY loss DESC, run"
    ).df()


def absent(connection: duckdb.DuckDBPyConnection, where: str) -> str:
    """A note of the ways that the condition picks and no run of which has results, by their run of the lowest seed."""
    rows = connection.execute(
        f"""SELECT min_by(run, row(seed, run)) AS run FROM recipe_runs
        WHERE weighting IS NOT NULL AND residual = 'sandwich' AND full_depth AND ({where})
        GROUP BY readouts, seed_group HAVING NOT bool_or(present) ORDER BY run"""
    ).fetchall()
    return "Not drawn, no results yet: " + ", ".join(run for (run,) in rows) if rows else ""


def losses(connection: duckdb.DuckDBPyConnection, where: str) -> pd.DataFrame:
    """One row a run and layer: its loss, and what it is above the ordinary model of that depth.

    The last layer is compared with the baseline instead, as means over seeds.
    """
    return connection.execute(
        f"""WITH lines AS (
            SELECT run AS line, run, cost FROM supervision
            WHERE residual = 'sandwich' AND full_depth AND ({where})
            UNION ALL
            SELECT 'probes', run, NULL FROM setups
            WHERE residual = 'sandwich' AND setup = 'probes' AND run = lead
        )
        SELECT line, layer, final_loss.loss,
            CASE WHEN layer = runs.layers THEN coalesce(cost, final_loss.loss - ordinary.loss)
                ELSE final_loss.loss - ordinary.loss END AS gap
        FROM lines JOIN final_loss USING (run) JOIN recipe_runs AS runs USING (run)
        LEFT JOIN ordinary ON ordinary.residual = 'sandwich' AND ordinary.layers = layer
        UNION ALL
        SELECT 'ordinary', layers, loss, NULL FROM ({style.ORDINARY})
        ORDER BY ALL"""
    ).df()


def table(connection: duckdb.DuckDBPyConnection, where: str) -> pd.DataFrame:
    """One row a layer: the loss of ordinary models, probes and each run, and RUN_gap."""
    rows = losses(connection, where)
    runs = list(shown(connection, where)["run"])
    wide = rows.pivot_table(index="layer", columns="line", values="loss").reindex(columns=[*BEHIND, *runs])
    gaps = rows.pivot_table(index="layer", columns="line", values="gap").reindex(columns=runs)
    return wide.join(gaps.add_suffix("_gap")).rename_axis(index="layer", columns=None).reset_index()


def draw(connection: duckdb.DuckDBPyConnection, where: str, looks: Mapping[str, Look]) -> Figure:
    """Left the losses, right the gaps, of the runs in `looks`."""
    import seaborn

    rows = losses(connection, where)
    figure = style.new_figure(10.5, 5)
    left, right = figure.subplots(1, 2, width_ratios=[1.25, 1])
    labels = []
    for line, (label, marker, dashes) in BEHIND.items():
        mine = rows[rows["line"] == line]
        look = {"color": GREY, "marker": marker, "markersize": 4, "markeredgewidth": 0, "linestyle": dashes}
        if not mine.empty:
            seaborn.lineplot(mine, x="layer", y="loss", errorbar=None, linewidth=1, ax=left, **look)
            labels.append((mine["layer"].iloc[0], mine["loss"].iloc[0], label, "#777777"))
        if mine["gap"].notna().any():
            seaborn.lineplot(mine, x="layer", y="gap", errorbar=None, linewidth=1, ax=right, **look)
    for run, look in looks.items():
        mine = rows[rows["line"] == run]
        for axes, column in ((left, "loss"), (right, "gap")):
            seaborn.lineplot(mine, x="layer", y=column, errorbar=None, ax=axes, **look.keywords())
        labels.append((mine["layer"].iloc[0], mine["loss"].iloc[0], look.label, look.colour))
    left.set(title="Loss", ylabel="Final training loss (nats per token)")
    style.layer_ticks(left, rows["layer"], room=0.42)
    gaps = rows["gap"].dropna()
    if gaps.empty:
        style.say(right, "No run stands beside an ordinary model yet.")
    else:
        right.axhline(0, color="#222222", linewidth=0.8)
        right.set(title="Minus the ordinary model of that depth", ylabel="Difference (nats per token)")
        style.layer_ticks(right, rows["layer"])
        style.difference_scale(right, gaps.min(), gaps.max(), None)
    style.add_note(figure, absent(connection, where))
    style.label_lines(left, labels, side="left")
    return figure
