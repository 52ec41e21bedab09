"""What the figures of anatomy share: which models, and a scale for what happens to perplexity."""

from typing import Any

from perlayer.report.figures import panels, style

# Of each setup, design and depth the run of the lowest seed.
MODELS = "SELECT run, label, place, layers FROM anatomy_runs WHERE run = representative"
UNMEASURED = "No finished model has been dissected by anatomy yet."
# Three kinds of attention's matrices beside its output, and the MLP's three.
MATRICES = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")
LINEAR = 1.0  # percent, up to which the scale of a change of perplexity is linear


def finished(figure: style.Figure, connection: style.Connection, looks: style.Looks, columns: int = 6) -> style.Figure:
    """The figure with a legend above, of so many columns at most, a note of what is absent below, and its layout."""
    style.legend(figure, looks, columns)
    style.noted(figure, panels.absent(connection, "runs_of_anatomy"))
    figure.get_layout_engine().set(w_pad=0.18)  # inches: percents are as wide as no other tick labels
    figure.draw_without_rendering()  # the layout knows how wide they are once they are drawn
    return figure


def draw_changes(axes: style.Axes, table: style.Table, x: str, **look: Any) -> None:
    """Changes of perplexity, each with its interval."""
    reach = (table["degradation"] - table["low"], table["high"] - table["degradation"])
    axes.errorbar(table[x], table["degradation"], yerr=reach, **look)


def matrix_axis(axes: style.Axes) -> dict[str, int]:
    """The kinds of matrices on the x axis, and the place of each there."""
    names = [matrix.removesuffix("_proj") for matrix in MATRICES]
    axes.set_xticks(range(len(names)), names, rotation=45, ha="right", rotation_mode="anchor")
    axes.set_xlim(-0.6, len(names) - 0.4)
    axes.grid(False, axis="x")
    return {matrix: place for place, matrix in enumerate(MATRICES)}


def percent_scale(axes: style.Axes, least: float, greatest: float, along: str = "y") -> None:
    """An axis of changes of perplexity in percent: linear up to 1 % of both signs, logarithmic beyond."""
    from matplotlib.ticker import SymmetricalLogLocator

    scaled = axes.yaxis if along == "y" else axes.xaxis
    set_scale, set_limits = (axes.set_yscale, axes.set_ylim) if along == "y" else (axes.set_xscale, axes.set_xlim)
    set_scale("symlog", linthresh=LINEAR, linscale=0.5)
    scaled.set_major_locator(SymmetricalLogLocator(base=10, linthresh=LINEAR))
    scaled.set_major_formatter(_as_percent)
    set_limits(2.5 * min(least, -0.2 * LINEAR), 2.5 * max(greatest, LINEAR))


def _as_percent(value: float, _: int) -> str:
    if not value:
        return "0"
    return f"{value:+,.0f} %" if abs(value) < 1e6 else f"{value:+.0e} %"
