"""How deep models compute, as single numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import duckdb

from perlayer.report.figures import style
from perlayer.report.figures.panels import UNDISSECTED, absent

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TITLE = "How deep models compute"
CAPTION = (
    "Left: depth scores on held-out text, the mean layer weighted by what skipping it changes at future tokens: in the "
    "contributions of later layers, and in predictions. Marks are means over seeds, small ones single "
    "seeds. Right, by the run of the lowest seed: the first layer whose input the logit lens reads less "
    "than half as far from the output as at its farthest, the first whose input shares more than a fifth of the five "
    "likeliest tokens with the output (one beyond the last layer where there is none), the last at which the cosine of "
    "what is added turns from below 0, and the layer at which relative contributions fall most. "
    "Where depths differ, all are shares of it."
)
SCORES = {
    "depth_score": ("by later contributions", "#0072B2", "o", -0.14),
    "output_depth_score": ("by predictions", "#D55E00", "D", 0.14),
}
LAYERS = {
    "kl_layer": ("KL", "#0072B2", "s", -0.24),
    "overlap_layer": ("top-5 overlap", "#009E73", "D", -0.08),
    "cosine_layer": ("cosine", "#AA4499", "^", 0.08),
    "drop_layer": ("contributions fall", "#777777", "v", 0.24),
}


def data(connection: duckdb.DuckDBPyConnection) -> pd.DataFrame:
    """One row a setup, design or depth: means of the depth scores, and the layers of its run of the lowest seed."""
    return connection.execute(
        """SELECT label, lead AS run, layers,
            avg(value) FILTER (statistic = 'depth_score') AS depth_score,
            avg(value) FILTER (statistic = 'output_depth_score') AS output_depth_score,
            max(value) FILTER (statistic = 'kl_layer' AND run = lead) AS kl_layer,
            max(value) FILTER (statistic = 'overlap_layer' AND run = lead) AS overlap_layer,
            any_value(cosine) FILTER (run = lead) AS cosine_layer,
            max(value) FILTER (statistic = 'drop_layer' AND run = lead) AS drop_layer
        FROM depth_statistics JOIN dissected_runs USING (run)
        LEFT JOIN (SELECT run, cosine FROM effective_depths) USING (run)
        GROUP BY label, lead, layers, place ORDER BY place"""
    ).df()


def _seeds(connection: duckdb.DuckDBPyConnection) -> pd.DataFrame:
    return connection.execute(
        """SELECT label, statistic, value FROM depth_statistics JOIN dissected_runs USING (run)
        WHERE statistic IN ('depth_score', 'output_depth_score')
        QUALIFY count(*) OVER (PARTITION BY label, statistic) > 1 ORDER BY ALL"""
    ).df()


def draw(connection: duckdb.DuckDBPyConnection) -> Figure:
    """The figure of what is present."""
    table = data(connection)
    if table.empty:
        return style.empty_figure(UNDISSECTED)
    shares = table["layers"].nunique() > 1
    figure = style.new_figure(10.5, 0.42 * len(table) + 1.7)
    left, right = figure.subplots(1, 2, sharey=True)
    _draw_scores(left, table, _seeds(connection), shares)
    for column, (name, colour, marker, shift) in LAYERS.items():
        _dots(right, table, column, shift, shares, color=colour, marker=marker, label=name)
    left.set(title="Depth scores")
    right.set(title="Where the output takes shape")
    left.set_yticks(range(len(table)), table["label"])
    left.set_ylim(len(table) - 0.5, -0.5)
    for axes, side in ((left, "left"), (right, "right")):
        handles, names = axes.get_legend_handles_labels()
        figure.legend(handles, names, loc=f"outside upper {side}", ncols=len(names), frameon=False)
        _depth_axis(axes, table["layers"], shares)
    style.add_note(figure, absent(connection))
    return figure


def _draw_scores(axes: Axes, table: pd.DataFrame, seeds: pd.DataFrame, shares: bool) -> None:
    places = {label: place for place, label in enumerate(table["label"])}
    depths = dict(zip(table["label"], table["layers"]))
    for column, (name, colour, marker, shift) in SCORES.items():
        _dots(axes, table, column, shift, shares, color=colour, marker=marker, label=name)
        for row in seeds[seeds["statistic"] == column].itertuples():
            value = row.value / depths[row.label] if shares else row.value
            axes.scatter(value, places[row.label] + shift, color=colour, s=9, alpha=0.6, linewidth=0)


def _dots(axes: Axes, table: pd.DataFrame, column: str, shift: float, shares: bool, **look: object) -> None:
    values = table[column] / table["layers"] if shares else table[column]
    axes.plot(values, [place + shift for place in range(len(table))], linestyle="", markersize=6, **look)


def _depth_axis(axes: Axes, depths: pd.Series, shares: bool) -> None:
    from matplotlib.ticker import PercentFormatter

    axes.grid(True, axis="x")
    if shares:
        axes.xaxis.set_major_formatter(PercentFormatter(1))
        axes.set(xlim=(0, 1.08 + 1 / depths.min()), xlabel="Share of the depth")  # up to one layer beyond the last
    else:
        style.layer_ticks(axes, range(1, int(depths.max()) + 2))
