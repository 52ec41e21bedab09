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
    "means over pairs of one seed, each way of it beside plain runs of its own seeds; at the last layer the next token "
    "is read by the model's own head. Stars are the modules that predict the token after next. Below: the same with "
    "minus without, so that a layer below zero knows more; lines across the marks are what counts as noise, the points "
    "beside them single pairs, and the grey bars how far plain runs end apart."
)
TOKENS = {1: "The next token (t+1)", 2: "The token after next (t+2)"}
PLAIN = {"color": "#222222", "marker": "o", "linestyle": ":"}
MARKING = {"markersize": 5.5, "markeredgewidth": 0}
RUNS = "residual = 'sandwich' AND full_depth AND NOT at_rung AND ahead <= 2"


def data(connection: duckdb.DuckDBPyConnection) -> pd.DataFrame:
    """One row a way of multi-token prediction, token and layer; `seed_N` are the differences of single pairs."""
    layers = connection.execute(
        f"""SELECT way, ahead, layer, readout, plain, loss, difference, standard_error, noise, floor, seeds, module
        FROM multi_token_layers WHERE {RUNS} ORDER BY way <> deepseek_v3(), way, ahead, layer"""
    ).df()
    pairs = connection.execute(
        f"SELECT way, ahead, layer, seed, difference FROM multi_token_pairs WHERE {RUNS} ORDER BY ALL"
    ).df()
    return style.with_seeds(layers, pairs, ["way", "ahead", "layer"])


def draw(connection: duckdb.DuckDBPyConnection) -> Figure:
    """The figure of what is present."""
    table = data(connection)
    if table.empty:
        return style.empty_figure("No model with multi-token prediction stands beside a plain model of its seed yet.")
    figure = style.new_figure(10, 6.4)
    grid = figure.subplots(2, 2, sharey="row", height_ratios=[1.25, 1])
    ways = _ways(table)
    for (above, below), (ahead, title) in zip(grid.T, TOKENS.items()):
        mine = table[table["ahead"] == ahead]
        if mine.empty:
            style.say(above, "No pair has been read for this token yet.")
            below.set_axis_off()
            continue
        _draw_losses(above, mine, ways)
        _draw_differences(below, mine, ways)
        above.set(title=title)
        for axes in (above, below):
            style.layer_ticks(axes, table["layer"])
            axes.set_xlim(table["layer"].min() - 0.5, table["layer"].max() + 0.5)
        style.outer_labels(above, "", "Final training loss (nats)")
        style.outer_labels(below, "Layer", "With minus without (nats)")
    _add_legend(figure, table, ways)
    style.add_note(figure, _absent(connection))
    return figure


def _ways(table: pd.DataFrame) -> dict[str, dict[str, object]]:
    """A colour and a marker for each way."""
    ways = list(dict.fromkeys(table["way"]))
    return {
        way: {
            "color": style.WAY_COLOURS[number % len(style.WAY_COLOURS)],
            "marker": style.WAY_MARKERS[number % len(style.WAY_MARKERS)],
        }
        for number, way in enumerate(ways)
    }


def _draw_losses(axes: Axes, table: pd.DataFrame, ways: dict[str, dict[str, object]]) -> None:
    for (way, look), shift in zip(ways.items(), _shifts(ways)):
        mine = table[table["way"] == way]
        plain = {**PLAIN, "color": look["color"]} if len(ways) > 1 else PLAIN
        axes.plot(mine["layer"], mine["plain"], linewidth=1.3, **plain, **MARKING)
        axes.plot(mine["layer"], mine["loss"], linewidth=1.4, **look, **MARKING)
        module = mine.dropna(subset="module")
        edge = {"edgecolors": "white", "linewidths": 0.7, "zorder": 4}
        axes.scatter(module["layer"] + shift, module["module"], color=look["color"], marker="*", s=150, **edge)


def _draw_differences(axes: Axes, table: pd.DataFrame, ways: dict[str, dict[str, object]]) -> None:
    floor = table.dropna(subset="floor").drop_duplicates("layer")
    axes.bar(floor["layer"], 2 * floor["floor"], bottom=-floor["floor"], width=0.8, color="#dddddd", linewidth=0)
    axes.axhline(0, color="#222222", linewidth=0.8)
    for (way, look), shift in zip(ways.items(), _shifts(ways)):
        mine = table[table["way"] == way]
        known = mine.dropna(subset="noise")
        bars = {"ecolor": look["color"], "elinewidth": 1.1, "capsize": 3, "zorder": 3}
        axes.errorbar(known["layer"] + shift, known["difference"], known["noise"], fmt="none", **bars)
        for seed in mine.filter(like="seed_"):
            axes.scatter(mine["layer"] + shift + 0.1, mine[seed], color=look["color"], **style.SINGLE_PAIR)
        axes.plot(mine["layer"] + shift, mine["difference"], zorder=4, **{**look, **MARKING, "linestyle": ""})
    axes.use_sticky_edges = False  # room below the grey bars
    style.signed_ticks(axes)


def _shifts(ways: dict[str, dict[str, object]]) -> list[float]:
    """How far from its layer each way is drawn, so that they stand side by side."""
    return [0.24 * (number - (len(ways) - 1) / 2) for number in range(len(ways))]


def _add_legend(figure: Figure, table: pd.DataFrame, ways: dict[str, dict[str, object]]) -> None:
    from matplotlib.lines import Line2D

    handles = [Line2D([], [], label="without multi-token prediction", **PLAIN, **MARKING)]
    handles += [Line2D([], [], label=way, **look, **MARKING) for way, look in ways.items()]
    if table["module"].notna().any():
        star = {"marker": "*", "markersize": 11, "markeredgewidth": 0, "linestyle": "", "color": "#777777"}
        handles.append(Line2D([], [], label="the module itself", **star))
    figure.legend(handles=handles, loc="outside upper left", ncols=min(len(handles), 4), frameon=False)


def _absent(connection: duckdb.DuckDBPyConnection) -> str:
    """A note of the runs with multi-token prediction that are not here; empty when all are."""
    rows = connection.execute(
        """SELECT run FROM multi_token_runs
        WHERE residual = 'sandwich' AND full_depth AND NOT at_rung AND NOT present ORDER BY run"""
    ).fetchall()
    return "Not drawn, no results yet: " + ", ".join(run for (run,) in rows) if rows else ""
