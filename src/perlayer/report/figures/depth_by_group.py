"""Depth scores of problems, group by group of growing difficulty."""

import re

from perlayer.report.figures import panels, style
from perlayer.report.figures.depth_scores import SCORES

TITLE = "How deep models compute on harder problems"
CAPTION = (
    "One panel a setup, residual design or published model and set of problems, whose groups grow harder to the right. "
    "The depth score is the mean layer, weighted by what skipping it before a split of the answer changes at the "
    "answer's tokens from there on: in the contributions of later layers, and in predictions of the answer's later "
    "tokens and of what would follow it. Lines are means over seeds, small dots single seeds; bars are one standard "
    "error over problems in the run of the lowest seed; dashed lines are the scores on held-out text. Where depths "
    "differ, all are shares of it."
)
READ = "No model that has read problems has a depth score on them, which takes three layers."
EMPTY = {
    "dissected_runs, group_scores WHERE prompts_read > 0": READ,
    "dissected_runs": "No problems of known difficulty have been read yet.",
    "": panels.UNDISSECTED,
}
ERRORS = {"depth_score": "standard_error", "output_depth_score": "output_standard_error"}
TOO_LONG = """
    SELECT format('{} {} of {}', label, sum(too_long)::INTEGER, sum(too_long + prompts_read)::INTEGER)
    FROM group_scores JOIN dissected_runs USING (run) WHERE run = representative
    GROUP BY label, place HAVING sum(too_long) > 0 ORDER BY place
"""


def data(connection: style.Connection) -> style.Table:
    """One row a model, set and group of prompts, from easy to hard; `representative` is the run of the lowest seed."""
    sql = """SELECT label, scores.run, representative, prompts, prompt_group, difficulty, scores.layers,
            scores.depth_score, standard_error, scores.output_depth_score, output_standard_error, answered,
            prompts_read, held_out.depth_score AS held_out_depth_score,
            held_out.output_depth_score AS held_out_output_depth_score
        FROM group_scores AS scores JOIN dissected_runs USING (run)
        LEFT JOIN (FROM depth_scores WHERE sublayer IS NULL AND stat = 'mean') AS held_out ON held_out.run = scores.run
        WHERE scores.depth_score IS NOT NULL
        ORDER BY place, prompts, difficulty, prompt_group, seed"""
    return connection.execute(sql).df()


def draw(table: style.Table, connection: style.Connection) -> style.Figure:
    several = table.groupby("label")["prompts"].transform("nunique") > 1
    names = table["label"].where(~several, table["label"] + ": " + table["prompts"])
    shares = table["layers"].nunique() > 1
    figure, stacks = panels.stacked(table, names, (1,), height=2.3)
    for mine, (axes,) in stacks:
        _draw_panel(axes, mine, shares)
        panels.label_stack([axes], "Share of the depth" if shares else "Layer")
    reach = [limit for _, (axes,) in stacks for limit in axes.get_ylim()]
    for _, (axes,) in stacks:
        axes.set_ylim(min(reach), max(reach))
    style.legend(figure, style.looks(SCORES.values()))
    too_long = style.absent(connection, TOO_LONG, "Left out, as longer than a model reads")
    return style.noted(figure, too_long, panels.absent(connection))


def _draw_panel(axes: style.Axes, table: style.Table, shares: bool) -> None:
    groups = list(dict.fromkeys(table["prompt_group"]))
    place = table["prompt_group"].map(groups.index)
    whole = table["layers"] if shares else 1
    first = table["run"] == table["representative"]
    for column, error in ERRORS.items():
        _, colour, marker, _ = SCORES[column]
        scores = table[column] / whole
        means = scores.groupby(place).mean()
        axes.plot(means.index, means, color=colour, marker=marker, markersize=4, linewidth=1.3)
        if not first.all():
            axes.scatter(place, scores, color=colour, s=9, alpha=0.6, linewidth=0)
        bars = {"fmt": "none", "ecolor": colour, "elinewidth": 1, "capsize": 2}
        axes.errorbar(
            place[first],
            place[first].map(means),
            yerr=(table[error] / whole)[first].fillna(0),
            **bars,
        )
        held_out = (table[f"held_out_{column}"] / whole).mean()  # not a number where none has been taken
        axes.axhline(held_out, color=colour, linestyle="--", linewidth=0.8, zorder=1)
    axes.set_xlim(-0.5, len(groups) - 0.5)
    _group_ticks(axes, groups)
    if shares:
        axes.yaxis.set_major_formatter("{x:.0%}")


def _group_ticks(axes: style.Axes, groups: list[str]) -> None:
    """The names of groups below them; where they differ in a number alone that number, and what it counts as label."""
    number = r"\b\d+(\.\d+)?\b"
    words = {re.sub(number, "", group, count=1).strip() for group in groups}
    if len(words) == 1 and all(re.search(number, group) for group in groups):
        axes.set_xticks(range(len(groups)), [re.search(number, group).group() for group in groups])
        axes.set_xlabel(words.pop().capitalize())
    else:
        axes.set_xticks(range(len(groups)), groups, rotation=30, ha="right")
