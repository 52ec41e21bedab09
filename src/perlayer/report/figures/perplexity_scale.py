"""What the figures of anatomy share: which models, and a scale for what happens to perplexity."""

from __future__ import annotations

from typing import TYPE_CHECKING

import duckdb

from perlayer.report.figures import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Of each setup, design and depth the run of the lowest seed.
LEADS = "SELECT run, label, place, layers FROM anatomy_runs WHERE run = lead"
UNMEASURED = "No finished model has been dissected by anatomy yet."
# Three kinds of attention's matrices beside its output, and the MLP's three.
MATRICES = {
    "q_proj": "#0072B2",
    "k_proj": "#56B4E9",
    "v_proj": "#009E73",
    "o_proj": "#222222",
    "gate_proj": "#D55E00",
    "up_proj": "#E69F00",
    "down_proj": "#AA4499",
}
LINEAR = 1.0  # percent, up to which the scale of a change of perplexity is linear


def absent(connection: duckdb.DuckDBPyConnection) -> str:
    """A note of the runs that are to be drawn and have not been dissected; empty when all have."""
    rows = connection.execute("SELECT run FROM runs_of_anatomy WHERE NOT present ORDER BY run").fetchall()
    return "Not drawn, not dissected yet: " + ", ".join(run for (run,) in rows) if rows else ""


def finish(figure: Figure, connection: duckdb.DuckDBPyConnection, handles: list, columns: int = 6) -> None:
    """The legend above, of so many columns at most, below a note of what is absent, and the layout."""
    if handles:
        figure.legend(handles=handles, loc="outside upper left", ncols=min(len(handles), columns), frameon=False)
    style.add_note(figure, absent(connection))
    figure.get_layout_engine().set(w_pad=0.18)  # inches: percents are as wide as no other tick labels
    figure.draw_without_rendering()  # the layout knows how wide they are once they are drawn


def percent_scale(axes: Axes, least: float, greatest: float, along: str = "y") -> None:
    """An axis of changes of perplexity in percent: linear up to 1 % of both signs, logarithmic beyond."""
    from matplotlib.ticker import FuncFormatter, SymmetricalLogLocator

    scaled = axes.yaxis if along == "y" else axes.xaxis
    set_scale, set_limits = (axes.set_yscale, axes.set_ylim) if along == "y" else (axes.set_xscale, axes.set_xlim)
    set_scale("symlog", linthresh=LINEAR, linscale=0.5)
    scaled.set_major_locator(SymmetricalLogLocator(base=10, linthresh=LINEAR))
    scaled.set_major_formatter(FuncFormatter(_as_percent))
    set_limits(2.5 * min(least, -0.2 * LINEAR), 2.5 * max(greatest, LINEAR))


def _as_percent(value: float, _: int) -> str:
    if not value:
        return "0"
    return f"{value:+,.0f} %" if abs(value) < 1e6 else f"{value:+.0e} %"
