"""What taking away each layer does to perplexity, with intervals and categories."""

from __future__ import annotations

from typing import TYPE_CHECKING

import duckdb

from perlayer.questions.a2_ablation.question import QUESTION
from perlayer.report.figures import style
from perlayer.report.figures.panels import depth_axis, label_stack, panel_rows, stacked_panels
from perlayer.report.figures.perplexity_scale import UNMEASURED, finish, percent_scale

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TITLE = "What every layer is worth"
CAPTION = (
    "By how many percent perplexity on held-out text rises without a layer, on a scale that is linear up to 1 % and "
    "logarithmic beyond. Large marks: its weights become the mean of its neighbours' weights, in the run of the lowest "
    "seed of each setup, coloured by category (ours), with the 95 % interval over documents; small ones beside them: "
    "the same in other seeds. Crosses: the layer gives nothing, or its mean over tokens. Last: the published table of "
    "SmolLM2-135M, layers counted from 1, with the categories that it uses."
)
SOURCE = "SmolLM2-135M, published"
CATEGORIES = {
    "critical": "#D55E00",
    "important": "#E69F00",
    "minor": "#56B4E9",
    "redundant": "#999999",
    "anti": "#AA4499",
}
OTHER_WAYS = {"skip": ("gives nothing", "x", "#222222"), "mean_ablation": ("gives its mean", "+", "#0072B2")}


def data(connection: duckdb.DuckDBPyConnection) -> pd.DataFrame:
    """One row a model, layer and way; of the published model what its table says."""
    return connection.execute(
        f"""SELECT label, run, run = lead AS is_lead, layer, way, degradation, low, high, category
        FROM ablations JOIN anatomy_runs USING (run) WHERE sublayer IS NULL
        UNION ALL BY NAME
        SELECT '{SOURCE}' AS label, NULL AS run, true AS is_lead, substr(layer, 2)::INTEGER + 1 AS layer,
            'neighbour_average' AS way, degradation, category
        FROM ({QUESTION.sql("published")}) WHERE (SELECT count(*) FROM ablations) > 0
        ORDER BY label = '{SOURCE}', label <> 'baseline', label, run, layer, way"""
    ).df()


def draw(connection: duckdb.DuckDBPyConnection) -> Figure:
    """The figure of what is present."""
    from matplotlib.lines import Line2D

    table = data(connection)
    if table.empty:
        return style.empty_figure(UNMEASURED)
    figure = style.new_figure(10.5, 4.2 * panel_rows(table["label"]) + 0.7)
    panels = stacked_panels(figure, table["label"], (1,))
    for label, (axes,) in panels.items():
        _draw_model(axes, table[table["label"] == label])
        label_stack([axes], ["Rise of perplexity"])
        percent_scale(axes, table["degradation"].min(), table["degradation"].max())
    shown = [name for name in CATEGORIES if (table["category"] == name).any()]
    marks = {"marker": "o", "linestyle": ""}
    handles = [Line2D([], [], color=CATEGORIES[name], label=name, **marks) for name in shown]
    handles += [
        Line2D([], [], color=colour, marker=marker, linestyle="", label=label)
        for label, marker, colour in OTHER_WAYS.values()
    ]
    finish(figure, connection, handles)
    return figure


def _draw_model(axes: Axes, table: pd.DataFrame) -> None:
    average = table[table["way"] == "neighbour_average"]
    lead, seeds = average[average["is_lead"]], average[~average["is_lead"]]
    colours = lead["category"].map(CATEGORIES)
    axes.axhline(0, color="#222222", linewidth=0.8)
    known = lead.dropna(subset="low")
    reach = (known["degradation"] - known["low"], known["high"] - known["degradation"])
    bars = {"fmt": "none", "ecolor": "#555555", "elinewidth": 1, "capsize": 2.5}
    axes.errorbar(known["layer"], known["degradation"], yerr=reach, **bars)
    size = 34 if len(lead) <= 12 else 18
    axes.scatter(lead["layer"], lead["degradation"], color=colours, s=size, linewidth=0, zorder=3)
    axes.scatter(seeds["layer"] + 0.22, seeds["degradation"], color="#777777", s=9, alpha=0.7, linewidth=0)
    for way, (_, marker, colour) in OTHER_WAYS.items():
        mine = table[(table["way"] == way) & table["is_lead"]]
        axes.scatter(mine["layer"] - 0.22, mine["degradation"], color=colour, marker=marker, s=22, linewidth=1)
    depth_axis(axes, table)
