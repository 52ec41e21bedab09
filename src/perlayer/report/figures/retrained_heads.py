"""Held-out loss of every layer before and after its readout is retrained on the frozen layers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import duckdb

from perlayer.report.figures import style

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TITLE = "Held-out loss by layer before and after the readouts are retrained"
CAPTION = (
    "Left: the loss of the readouts that training left (hollow, dashed) and of the same readouts retrained on the "
    "frozen layers (filled, solid). Right: what retraining changes, and for comparison the gap between probes and "
    "separate heads (squares), before and after; bars across the marks are the intervals by which claims are judged, "
    "where there are some. The right axis is linear near zero and logarithmic beyond."
)
SHOWN = ("probes", "separate")
GAPS = {"gap_before": ("gap before", "--", "white"), "gap_after": ("gap after", "-", "#222222")}


def data(connection: duckdb.DuckDBPyConnection) -> pd.DataFrame:
    """One row a layer: losses of both setups, what retraining changes, and the gap between them."""
    return connection.execute(
        """SELECT retrained_gap.*, probes_before - separate_before AS gap_before,
            probes_after - separate_after AS gap_after, change.low AS separate_change_low,
            change.high AS separate_change_high, gap.low AS gap_after_low, gap.high AS gap_after_high
        FROM retrained_gap
        LEFT JOIN contrasts AS change
            ON change.question = 'Q6' AND change.claim = 'separate_higher' AND change.part = format('layer {}', layer)
        LEFT JOIN contrasts AS gap
            ON gap.question = 'Q6' AND gap.claim = 'probes_worse' AND gap.part = format('layer {}', layer)
        ORDER BY layer"""
    ).df()


def draw(connection: duckdb.DuckDBPyConnection) -> Figure:
    """The figure of what is present."""
    table = data(connection)
    setups = [setup for setup in SHOWN if table[f"{setup}_after"].notna().any()]
    if not setups:
        return style.empty_figure("No readouts of probes or separate heads have been retrained yet.")
    figure = style.new_figure(10, 4.6)
    left, right = figure.subplots(1, 2, width_ratios=[1, 1.15])
    _draw_losses(left, table, setups)
    labels = _draw_changes(right, table, setups)
    style.add_note(figure, style.not_retrained(connection))
    ends = []
    for setup in setups:
        mine = table.dropna(subset=[f"{setup}_after"])
        label, colour, _ = style.SETUPS[setup]
        ends.append((mine["layer"].iloc[0], mine[f"{setup}_after"].iloc[0], label, colour))
    style.label_lines(left, ends, side="left")
    style.label_lines(right, labels, side="left")
    return figure


def _draw_losses(axes: Axes, table: pd.DataFrame, setups: list[str]) -> None:
    import seaborn
    from matplotlib.lines import Line2D

    for setup in setups:
        _, colour, marker = style.SETUPS[setup]
        look = {"x": "layer", "color": colour, "marker": marker, "errorbar": None, "ax": axes, "legend": False}
        hollow = {"markersize": 8, "markerfacecolor": "white", "markeredgecolor": colour, "markeredgewidth": 1.1}
        seaborn.lineplot(table, y=f"{setup}_before", linestyle="--", linewidth=1.1, **look, **hollow)
        seaborn.lineplot(table, y=f"{setup}_after", markersize=5, markeredgewidth=0, **look)
    axes.set(title="Loss", ylabel="Held-out loss (nats per token)")
    style.layer_ticks(axes, table["layer"], room=0.36)
    grey = {"color": "#555555", "marker": "o"}
    handles = [
        Line2D([], [], linestyle="--", markersize=8, markerfacecolor="white", label="before", **grey),
        Line2D([], [], markersize=5, label="after", **grey),
    ]
    axes.legend(handles=handles, frameon=False, loc="upper right")


def _draw_changes(axes: Axes, table: pd.DataFrame, setups: list[str]) -> list[tuple[float, float, str, object]]:
    """Draw what retraining changes beside the gap; returns the labels of the lines."""
    import seaborn

    axes.axhline(0, color="#222222", linewidth=0.8)
    labels, values = [], []
    looks = {
        f"{setup}_change": (style.SETUPS[setup][0], style.SETUPS[setup][1], {"marker": style.SETUPS[setup][2]})
        for setup in setups
    }
    for column, (label, dashes, face) in GAPS.items():
        squares = {"marker": "s", "markerfacecolor": face, "markeredgecolor": "#222222", "linestyle": dashes}
        looks[column] = (label, "#222222", squares)
    for column, (label, colour, look) in looks.items():
        mine = table.dropna(subset=[column])
        if mine.empty:
            continue
        seaborn.lineplot(mine, x="layer", y=column, color=colour, markersize=5, errorbar=None, ax=axes, **look)
        if f"{column}_low" in mine:
            axes.vlines(mine["layer"], mine[f"{column}_low"], mine[f"{column}_high"], color=colour, linewidth=1)
        labels.append((mine["layer"].iloc[0], mine[column].iloc[0], label, colour))
        values.append(mine.filter(regex=f"^{column}(_low|_high)?$"))
    least, greatest = min(part.min().min() for part in values), max(part.max().max() for part in values)
    axes.set(title="What retraining changes, beside the gap", ylabel="Difference (nats per token)")
    style.layer_ticks(axes, table["layer"], room=0.36)
    style.difference_scale(axes, least, greatest, None)
    return labels
