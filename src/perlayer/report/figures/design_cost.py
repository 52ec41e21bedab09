"""What separate heads cost the last layer in every residual design."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import duckdb

from perlayer.questions.wording import percent, signed
from perlayer.report.figures import style

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TITLE = "What separate heads cost the last layer in every residual design"
CAPTION = (
    "Left: final training loss of the last layer with separate heads minus that of the plain model of the same design "
    "and seed, mean over pairs; lines are what counts as noise, and the grey band is the noise floor of a single pair, "
    "from plain runs of Sandwich-LN, the baseline. Right: the same as a share of what the baseline pays, with the "
    "noise of that share; the dotted line is the half that is claimed of Hyper-Connections."
)
COLOURS = {"sandwich": "#7a7a7a", "hyper_connections": "#D55E00"}
OTHERS = "#7fa8c9"


def data(connection: duckdb.DuckDBPyConnection) -> pd.DataFrame:
    """One row a design, the cheapest first: cost, share of the baseline's, and the noise of both."""
    return connection.execute(
        """SELECT residual, design_name(residual) AS design, run, seeds, cost, noise, less, less_noise, fraction,
            fraction_noise
        FROM design_costs ORDER BY cost, residual"""
    ).df()


def draw(connection: duckdb.DuckDBPyConnection) -> Figure:
    """The figure of what is present."""
    from matplotlib.ticker import MaxNLocator

    table = data(connection)
    if table.empty:
        return style.empty_figure("No design has been trained with separate heads and plain from one seed yet.")
    figure = style.new_figure(10.5, 0.34 * len(table) + 1.5)
    left, right = figure.subplots(1, 2, width_ratios=[1.15, 1], sharey=True)
    style.draw_floor(left, connection, upright=True)
    _draw_bars(left, table, "cost", "noise", signed)
    left.set(title="Cost", xlabel="Last layer minus the plain model (nats per token)")
    left.set_yticks(range(len(table)), [_name(row) for row in table.itertuples()])
    left.invert_yaxis()
    if table["fraction"].isna().all():
        # The other panel's axis is not to go with this one's.
        right.text(0.5, 0.5, _no_share(table), ha="center", va="center", color="#555555", transform=right.transAxes)
        right.set_frame_on(False)
        right.xaxis.set_visible(False)
        right.yaxis.set_visible(False)
    else:
        right.axvline(1, color="#222222", linewidth=0.8)
        right.axvline(0.5, color="#222222", linewidth=0.8, linestyle=":")
        _draw_bars(right, table, "fraction", "fraction_noise", percent)
        right.xaxis.set_major_locator(MaxNLocator(5))
        right.xaxis.set_major_formatter(lambda value, _: style.minus(percent(value)))
        right.set(title="Share of what Sandwich-LN pays", xlabel="Share")
        right.tick_params(labelleft=False)
    style.add_note(figure, style.absent_designs(connection))
    return figure


def _draw_bars(axes: Axes, table: pd.DataFrame, value: str, noise: str, form: Callable[[float], str]) -> None:
    places = range(len(table))
    colours = [COLOURS.get(residual, OTHERS) for residual in table["residual"]]
    axes.barh(places, table[value], color=colours, height=0.62, zorder=2)
    known = table[noise].notna()
    bars = {"ecolor": "#222222", "elinewidth": 1, "capsize": 2.5, "zorder": 3}
    axes.errorbar(table[value][known], known.index[known], xerr=table[noise][known], fmt="none", **bars)
    axes.axvline(0, color="#222222", linewidth=0.8)
    for place, number in enumerate(table[value]):  # in a column beside the axes, clear of the bars
        axes.text(
            1.01, place, style.minus(form(number)), va="center", fontsize="small", transform=axes.get_yaxis_transform()
        )
    axes.grid(False, axis="y")


def _name(row) -> str:
    return f"{row.design} ({row.seeds} pair{'' if row.seeds == 1 else 's'})"


def _no_share(table: pd.DataFrame) -> str:
    if "sandwich" not in set(table["residual"]):
        return "Without Sandwich-LN there are no shares."
    baseline = table[table["residual"] == "sandwich"].iloc[0]
    if math.isnan(baseline["noise"]):
        return "Whether what Sandwich-LN pays is more than noise\nis not known: shares of it say nothing."
    if baseline["cost"] < -baseline["noise"]:
        return "Sandwich-LN gains, beyond the noise:\nshares of what it pays say nothing."
    return "What Sandwich-LN pays is no more than noise:\nshares of it say nothing."
