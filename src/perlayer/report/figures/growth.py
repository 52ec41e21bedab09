"""Where growth training ends beside uniform training, over what it costs."""

from __future__ import annotations

from itertools import cycle
from typing import TYPE_CHECKING

import duckdb

from perlayer.report.figures import style

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TITLE = "Growth training beside uniform training"
CAPTION = (
    "Left: where validation loss of the last layer ends over the compute of training, in updates of the whole model; a "
    "mark a run, lines through the means of runs of as many updates. Right: the end of growth training minus that of "
    "uniform training, at equal steps, at equal compute and with about half the steps of uniform training, means over "
    "seeds with the intervals by which claims are judged, where there are some; below 0 growth ends lower."
)
UNIFORM = ("#222222", "s")
COLOURS, MARKERS = ("#D55E00", "#0072B2", "#009E73", "#AA4499"), ("D", "^", "v", "P", "o")
BUDGETS = ("equal steps", "equal compute", "half the budget")


def data(connection: duckdb.DuckDBPyConnection) -> pd.DataFrame:
    """One row a run, where it ends; and one a group of runs and budget, where growth ends beside uniform training."""
    return connection.execute(
        """SELECT * FROM (
            SELECT method, run, seed, steps AS step, compute, val_loss FROM growth_runs
            WHERE NOT uniform OR "group" IN (SELECT uniform_group FROM growth_effects)
                OR run IN (SELECT run FROM recipe_runs WHERE changes = 'steps')
            UNION ALL BY NAME
            SELECT method, "group" AS run, steps AS step, uniform_steps, compute, val_loss, budget,
                val_loss - uniform_loss AS difference, low, high
            FROM growth_effects
            LEFT JOIN contrasts ON question = 'A6' AND claim = replace(budget, ' ', '_') AND part = "group"
        ) ORDER BY method <> 'uniform', method, run, step, budget NULLS FIRST, uniform_steps"""
    ).df()


def draw(connection: duckdb.DuckDBPyConnection) -> Figure:
    """The figure of what is present."""
    from matplotlib.lines import Line2D

    table = data(connection)
    if table.empty:
        return style.empty_figure("No growth training is here yet.")
    methods = [method for method in dict.fromkeys(table["method"]) if method != "uniform"]
    looks = {"uniform": UNIFORM} | dict(zip(methods, zip(cycle(COLOURS), cycle(MARKERS))))
    figure = style.new_figure(10.5, 4.6)
    left, right = figure.subplots(1, 2, width_ratios=[1.25, 1])
    _draw_curves(left, table[table["budget"].isna()], looks)
    _draw_differences(right, table.dropna(subset="budget"), looks)
    handles = [
        Line2D([], [], color=colour, marker=marker, markersize=5, label=method)
        for method, (colour, marker) in looks.items()
    ]
    figure.legend(handles=handles, loc="outside upper left", ncols=min(len(handles), 4), frameon=False)
    style.add_note(figure, _absent(connection))
    figure.get_layout_engine().set(w_pad=0.1)  # inches
    return figure


def _draw_curves(axes: Axes, table: pd.DataFrame, looks: dict[str, tuple[str, str]]) -> None:
    for method, (colour, marker) in looks.items():
        ends = table[table["method"] == method]
        means = ends.groupby("step")[["compute", "val_loss"]].mean()
        axes.plot(means["compute"], means["val_loss"], color=colour, linewidth=1)
        axes.scatter(ends["compute"], ends["val_loss"], color=colour, marker=marker, s=22, linewidth=0, alpha=0.8)
    axes.set(xlabel="Compute (updates of the whole model)", ylabel="Validation loss (nats per token)", title="Loss")


def _draw_differences(axes: Axes, table: pd.DataFrame, looks: dict[str, tuple[str, str]]) -> None:
    if table.empty:
        style.say(axes, "No growth training stands beside\nuniform training yet.")
        return
    axes.axhline(0, color="#222222", linewidth=0.8)
    methods = list(dict.fromkeys(table["method"]))
    for number, method in enumerate(methods):
        colour, marker = looks[method]
        shift = 0.5 * (number - (len(methods) - 1) / 2) / len(methods)
        for place, budget in enumerate(BUDGETS):
            mine = table[(table["method"] == method) & (table["budget"] == budget)]
            at = [place + shift] * len(mine)
            axes.vlines(at, mine["low"], mine["high"], color=colour, linewidth=1.2)
            axes.plot(at, mine["difference"], marker=marker, color=colour, markersize=6, linestyle="")
    axes.set_xticks(range(len(BUDGETS)), BUDGETS)
    axes.set_xlim(-0.5, len(BUDGETS) - 0.5)
    style.signed_ticks(axes)
    axes.set(title="Growth minus uniform", ylabel="Difference (nats per token)")
    axes.grid(False, axis="x")


def _absent(connection: duckdb.DuckDBPyConnection) -> str:
    """A note of the runs of growth training that are not here; empty when all are."""
    rows = connection.execute(
        "SELECT run FROM recipe_runs WHERE growth IS NOT NULL AND NOT present ORDER BY run"
    ).fetchall()
    return "Not drawn, no results yet: " + ", ".join(run for (run,) in rows) if rows else ""
