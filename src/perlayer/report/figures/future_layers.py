"""What every layer knows of the next token and of the one after it, without and with multi-token prediction."""

from __future__ import annotations

from typing import TYPE_CHECKING

import duckdb

from perlayer.report.figures import style

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TITLE = "What every layer knows of the next token and of the one after, with multi-token prediction"
CAPTION = (
    "Above: final training loss read by probes after each layer without (dotted) and with multi-token prediction, "
    "means over seeds; at the last layer the next token is read by the model's own head. Stars are the modules that "
    "predict the token after next. Below: the same with minus without, so that a layer below zero knows more; lines "
    "across the marks of the last layer are the intervals by which claims are judged, where there are some."
)
TOKENS = {1: "The next token (t+1)", 2: "The token after next (t+2)"}
PLAIN = {"color": "#222222", "marker": "o", "linestyle": ":"}
MARKING = {"markersize": 5.5, "markeredgewidth": 0}


def data(connection: duckdb.DuckDBPyConnection) -> pd.DataFrame:
    """One row a method of multi-token prediction, token and layer."""
    return connection.execute(
        """SELECT method, ahead, layer, readout, plain, loss, difference, low, high, multi.seeds, plain_seeds, module
        FROM multi_token_layers AS multi
        LEFT JOIN contrasts ON question = 'Q7' AND method = deepseek_v3() AND layer = layers
            AND claim = CASE ahead WHEN 1 THEN 'next_last' ELSE 'after_last' END
        WHERE residual = 'sandwich' AND full_depth AND rung IS NULL AND ahead <= 2
        ORDER BY method <> deepseek_v3(), method, ahead, layer"""
    ).df()


def draw(connection: duckdb.DuckDBPyConnection) -> Figure:
    """The figure of what is present."""
    table = data(connection)
    if table.empty:
        return style.empty_figure("No model with multi-token prediction stands beside a plain model yet.")
    figure = style.new_figure(10, 6.4)
    grid = figure.subplots(2, 2, sharey="row", height_ratios=[1.25, 1])
    methods = _methods(table)
    for (above, below), (ahead, title) in zip(grid.T, TOKENS.items()):
        mine = table[table["ahead"] == ahead]
        if mine.empty:
            style.say(above, "No plain model has been read for this token yet.")
            below.set_axis_off()
            continue
        _draw_losses(above, mine, methods)
        _draw_differences(below, mine, methods)
        above.set(title=title)
        for axes in (above, below):
            style.layer_ticks(axes, table["layer"])
            axes.set_xlim(table["layer"].min() - 0.5, table["layer"].max() + 0.5)
        style.outer_labels(above, "", "Final training loss (nats)")
        style.outer_labels(below, "Layer", "With minus without (nats)")
    _add_legend(figure, table, methods)
    style.add_note(figure, _absent(connection))
    return figure


def _methods(table: pd.DataFrame) -> dict[str, dict[str, object]]:
    """A colour and a marker for each method."""
    methods = list(dict.fromkeys(table["method"]))
    return {
        method: {
            "color": style.WAY_COLOURS[number % len(style.WAY_COLOURS)],
            "marker": style.WAY_MARKERS[number % len(style.WAY_MARKERS)],
        }
        for number, method in enumerate(methods)
    }


def _draw_losses(axes: Axes, table: pd.DataFrame, methods: dict[str, dict[str, object]]) -> None:
    plain = table.drop_duplicates("layer")
    axes.plot(plain["layer"], plain["plain"], linewidth=1.3, **PLAIN, **MARKING)
    for (method, look), shift in zip(methods.items(), _shifts(methods)):
        mine = table[table["method"] == method]
        axes.plot(mine["layer"], mine["loss"], linewidth=1.4, **look, **MARKING)
        module = mine.dropna(subset="module")
        edge = {"edgecolors": "white", "linewidths": 0.7, "zorder": 4}
        axes.scatter(module["layer"] + shift, module["module"], color=look["color"], marker="*", s=150, **edge)


def _draw_differences(axes: Axes, table: pd.DataFrame, methods: dict[str, dict[str, object]]) -> None:
    axes.axhline(0, color="#222222", linewidth=0.8)
    for (method, look), shift in zip(methods.items(), _shifts(methods)):
        mine = table[table["method"] == method]
        axes.vlines(mine["layer"] + shift, mine["low"], mine["high"], color=look["color"], linewidth=1.1, zorder=3)
        axes.plot(mine["layer"] + shift, mine["difference"], zorder=4, **{**look, **MARKING, "linestyle": ""})
    style.signed_ticks(axes)


def _shifts(methods: dict[str, dict[str, object]]) -> list[float]:
    """How far from its layer each method is drawn, so that they stand side by side."""
    return [0.24 * (number - (len(methods) - 1) / 2) for number in range(len(methods))]


def _add_legend(figure: Figure, table: pd.DataFrame, methods: dict[str, dict[str, object]]) -> None:
    from matplotlib.lines import Line2D

    handles = [Line2D([], [], label="without multi-token prediction", **PLAIN, **MARKING)]
    handles += [Line2D([], [], label=method, **look, **MARKING) for method, look in methods.items()]
    if table["module"].notna().any():
        star = {"marker": "*", "markersize": 11, "markeredgewidth": 0, "linestyle": "", "color": "#777777"}
        handles.append(Line2D([], [], label="the module itself", **star))
    figure.legend(handles=handles, loc="outside upper left", ncols=min(len(handles), 4), frameon=False)


def _absent(connection: duckdb.DuckDBPyConnection) -> str:
    """A note of the runs with multi-token prediction that are not here; empty when all are."""
    rows = connection.execute(
        """SELECT run FROM recipe_runs WHERE changes = 'multi_token_prediction' AND readouts IN ('none', 'probes')
            AND residual = 'sandwich' AND full_depth AND NOT present ORDER BY run"""
    ).fetchall()
    return "Not drawn, no results yet: " + ", ".join(run for (run,) in rows) if rows else ""
