"""Every way to supervise shallow layers, by what it costs the last layer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import duckdb

from perlayer.report.figures import by_layer, style

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

TITLE = "What every way to supervise shallow layers costs the last layer"
CAPTION = (
    "Left: final training loss of the last layer minus the baseline of the same seed; the grey band is the noise "
    "floor of a single pair, bars are three standard errors where there are three pairs or more, and a hollow marker "
    "lies within its noise, or nothing says what that is. All stand beside one baseline and one noise floor: of so "
    "many, some may pass it by chance. A run marked * drops layers while it trains, so that its training loss is no "
    "measure of the finished model: it is judged by held-out loss, against held-out losses, and small bars across "
    "its row end where its noise does. Right: final training loss of layer 1 in the run of the lowest seed; the dotted "
    "line is an ordinary model of one layer. Sorted by the last layer; under each run how it is supervised."
)


def data(connection: duckdb.DuckDBPyConnection) -> pd.DataFrame:
    """One row a way, the cheapest for the last layer first."""
    return connection.execute(
        """SELECT run, readouts, weighting, schedule, reach, surgery, layer_dropout, other, difference, noise, seeds,
            first_layer_loss, measured_on
        FROM supervision WHERE residual = 'sandwich' AND full_depth AND difference IS NOT NULL
        ORDER BY difference, run"""
    ).df()


def draw(connection: duckdb.DuckDBPyConnection) -> Figure:
    """The figure of what is present."""
    from matplotlib.lines import Line2D

    table = data(connection)
    if table.empty:
        return style.empty_figure("No supervised run stands beside a baseline of its seed yet.")
    figure = style.new_figure(10, 1.9 + 0.36 * len(table))
    left, right = figure.subplots(1, 2, sharey=True, width_ratios=[1.6, 1])
    floor = connection.execute(style.FLOOR).fetchone()[0]
    if floor:
        left.axvspan(-floor, floor, color="#bbbbbb", alpha=0.4, linewidth=0)
    left.axvline(0, color="#222222", linewidth=0.8)
    for place, way in enumerate(table.itertuples()):
        _, colour, marker = style.SETUPS[way.readouts]
        within = not abs(way.difference) > way.noise  # so is what has no noise to be held against
        look = {"marker": marker, "s": 42, "edgecolors": colour, "linewidths": 1.3, "zorder": 3}
        if way.seeds >= 3:
            left.errorbar(way.difference, place, xerr=way.noise, fmt="none", ecolor=colour, elinewidth=1.2, capsize=3)
        if way.measured_on != "train" and way.noise == way.noise:
            left.scatter([-way.noise, way.noise], [place, place], marker="|", s=90, color=colour, linewidths=1)
        left.scatter(way.difference, place, color="white" if within else colour, **look)
        right.scatter(way.first_layer_loss, place, color=colour, **look)
    names = [f"{way.run}{'' if way.measured_on == 'train' else '*'}\n{_how(way)}" for way in table.itertuples()]
    left.set_yticks(range(len(table)), names, fontsize="small", linespacing=1.1)
    left.set_ylim(len(table) - 0.5, -0.5)
    left.set(title="Last layer minus the baseline", xlabel="Difference (nats per token)")
    right.set(title="Layer 1", xlabel="Loss (nats per token)")
    one = connection.execute(f"SELECT loss FROM ({style.ORDINARY}) WHERE layers = 1").fetchone()
    if one:
        right.axvline(one[0], color="#222222", linewidth=1, linestyle=":")
    handles = []
    for label, colour, marker in (style.SETUPS[setup] for setup in style.TRAINED if setup in set(table["readouts"])):
        handles.append(Line2D([], [], linestyle="", color=colour, marker=marker, label=label))
    figure.legend(handles=handles, loc="outside upper right", ncols=len(handles), frameon=False)
    notes = [by_layer.absent(connection, "true")]
    if (table["measured_on"] != "train").any():
        notes.append("* by held-out loss: layers are dropped in training")
    style.add_note(figure, ". ".join(note for note in notes if note))
    return figure


def _how(way) -> str:
    """What sets this way apart, in a line."""
    parts = [f"weights {way.weighting}"]
    parts += [way.schedule] if way.schedule != "constant" else []
    parts += [way.reach] if way.reach != "all below" else []
    parts += ["surgery"] if way.surgery != "none" else []
    parts += [f"layer dropout {way.layer_dropout}"] if way.layer_dropout != "none" else []
    parts += [way.other] if way.other else []
    return ", ".join(parts)
