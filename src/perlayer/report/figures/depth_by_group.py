"""Depth scores of problems, group by group of growing difficulty."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import duckdb

from perlayer.report.figures import style
from perlayer.report.figures.depth_scores import SCORES
from perlayer.report.figures.panels import UNDISSECTED, absent, is_any, label_stack, panel_rows, stacked_panels

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TITLE = "How deep models compute on harder problems"
CAPTION = (
    "One panel a setup, residual design or published model and set of problems, whose groups grow harder to the right. "
    "The depth score is the mean layer, weighted by what skipping it before a split of the answer changes at the "
    "answer's tokens from there on: in the contributions of later layers, and in predictions of the answer's later "
    "tokens and of what would follow it. Lines are means over seeds, small dots single seeds; bars are one standard "
    "error over problems in the run of the lowest seed; dashed lines are the scores on held-out text. Where depths "
    "differ, all are shares of it."
)
COLUMNS = {"depth_score": "standard_error", "output_depth_score": "output_standard_error"}


def data(connection: duckdb.DuckDBPyConnection) -> pd.DataFrame:
    """One row a model, set and group of prompts, from easy to hard; `lead` is the run of the lowest seed."""
    return connection.execute(
        """SELECT label, scores.run, lead, prompts, prompt_group, difficulty, scores.layers, scores.depth_score,
            standard_error, scores.output_depth_score, output_standard_error, answered, prompts_read,
            held_out.depth_score AS held_out_depth_score, held_out.output_depth_score AS held_out_output_depth_score
        FROM group_scores AS scores JOIN dissected_runs USING (run)
        LEFT JOIN (FROM depth_scores WHERE sublayer IS NULL AND stat = 'mean') AS held_out ON held_out.run = scores.run
        WHERE scores.depth_score IS NOT NULL
        ORDER BY place, prompts, difficulty, prompt_group, seed"""
    ).df()


def draw(connection: duckdb.DuckDBPyConnection) -> Figure:
    """The figure of what is present."""
    from matplotlib.lines import Line2D

    table = data(connection)
    if table.empty:
        return style.empty_figure(_nothing(connection))
    several = table.groupby("label")["prompts"].transform("nunique") > 1
    names = table["label"].where(~several, table["label"] + ": " + table["prompts"])
    shares = table["layers"].nunique() > 1
    figure = style.new_figure(10.5, 2.3 * panel_rows(names) + 0.7)
    panels = stacked_panels(figure, names, (1,))
    for name, (axes,) in panels.items():
        _draw_panel(axes, table[names == name], shares)
        label_stack([axes], ["Share of the depth" if shares else "Layer"])
    reach = [limit for (axes,) in panels.values() for limit in axes.get_ylim()]
    for (axes,) in panels.values():
        axes.set_ylim(min(reach), max(reach))
    handles = [Line2D([], [], color=colour, marker=marker, label=name) for name, colour, marker, _ in SCORES.values()]
    figure.legend(handles=handles, loc="outside upper left", ncols=len(handles), frameon=False)
    style.add_note(figure, ". ".join(note for note in (_too_long(connection), absent(connection)) if note))
    return figure


def _draw_panel(axes: Axes, table: pd.DataFrame, shares: bool) -> None:
    from matplotlib.ticker import PercentFormatter

    groups = list(dict.fromkeys(table["prompt_group"]))
    place = table["prompt_group"].map(groups.index)
    whole = table["layers"] if shares else 1
    lead = table["run"] == table["lead"]
    for column, error in COLUMNS.items():
        _, colour, marker, _ = SCORES[column]
        scores = table[column] / whole
        means = scores.groupby(place).mean()
        axes.plot(means.index, means, color=colour, marker=marker, markersize=4, linewidth=1.3)
        if not lead.all():
            axes.scatter(place, scores, color=colour, s=9, alpha=0.6, linewidth=0)
        bars = {"fmt": "none", "ecolor": colour, "elinewidth": 1, "capsize": 2}
        centres = place[lead].map(means)
        axes.errorbar(place[lead], centres, yerr=(table[error] / whole)[lead].fillna(0), **bars)
        held_out = (table[f"held_out_{column}"] / whole).mean()  # not a number where none has been taken
        axes.axhline(held_out, color=colour, linestyle="--", linewidth=0.8, zorder=1)
    axes.set_xlim(-0.5, len(groups) - 0.5)
    _group_ticks(axes, groups)
    if shares:
        axes.yaxis.set_major_formatter(PercentFormatter(1, decimals=0))


def _group_ticks(axes: Axes, groups: list[str]) -> None:
    """The names of groups below them; where they differ in a number alone that number, and what it counts as label."""
    number = r"\b\d+(\.\d+)?\b"
    words = {re.sub(number, "", group, count=1).strip() for group in groups}
    if len(words) == 1 and all(re.search(number, group) for group in groups):
        axes.set_xticks(range(len(groups)), [re.search(number, group).group() for group in groups])
        axes.set_xlabel(words.pop().capitalize())
    else:
        axes.set_xticks(range(len(groups)), groups, rotation=30, ha="right")


def _nothing(connection: duckdb.DuckDBPyConnection) -> str:
    """Why there are no scores to draw."""
    if not is_any(connection, "dissected_runs"):
        return UNDISSECTED
    if is_any(connection, "group_scores WHERE prompts_read > 0"):
        return "No model that has read problems has a depth score on them, which takes three layers."
    return "No problems of known difficulty have been read yet."


def _too_long(connection: duckdb.DuckDBPyConnection) -> str:
    """A note of the prompts that models have left out; empty without any."""
    rows = connection.execute(
        """SELECT format('{} {} of {}', label, sum(too_long)::INTEGER, sum(too_long + prompts_read)::INTEGER)
        FROM group_scores JOIN dissected_runs USING (run) WHERE run = lead
        GROUP BY label, place HAVING sum(too_long) > 0 ORDER BY place"""
    ).fetchall()
    return "Left out, as longer than a model reads: " + ", ".join(row for (row,) in rows) if rows else ""
