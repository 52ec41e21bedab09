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
    "Left: final training loss of the last layer minus the baseline, means over seeds; where a claim is judged by it, "
    "with the interval of that. A run marked * drops layers while it trains, so that its training loss is no measure "
    "of the finished model: held-out losses stand there. Right: final training loss of layer 1; the dotted line is an "
    "ordinary model of one layer. Sorted by the last layer; under each run how it is supervised."
)


def data(connection: duckdb.DuckDBPyConnection) -> pd.DataFrame:
    """One row a way, the cheapest for the last layer first."""
    return connection.execute(
        """WITH intervals AS (SELECT DISTINCT part AS run, low, high FROM contrasts WHERE question = 'Q5' AND claim IN (
            'cost', 'switched_off', 'llal', 'deeply_supervised'
        ))
        SELECT run, readouts, weighting, schedule, reach, surgery, layer_dropout, other, cost, low, high, seeds,
            first_layer_loss, measured_on
        FROM supervision LEFT JOIN intervals USING (run)
        WHERE residual = 'sandwich' AND full_depth AND cost IS NOT NULL
        ORDER BY cost, run"""
    ).df()


def draw(connection: duckdb.DuckDBPyConnection) -> Figure:
    """The figure of what is present."""
    from matplotlib.lines import Line2D

    table = data(connection)
    if table.empty:
        return style.empty_figure("No supervised run stands beside a baseline yet.")
    figure = style.new_figure(10, 1.9 + 0.36 * len(table))
    left, right = figure.subplots(1, 2, sharey=True, width_ratios=[1.6, 1])
    left.axvline(0, color="#222222", linewidth=0.8)
    for place, way in enumerate(table.itertuples()):
        _, colour, marker = style.SETUPS[way.readouts]
        look = {"marker": marker, "s": 42, "color": colour, "zorder": 3}
        left.plot([way.low, way.high], [place, place], color=colour, linewidth=1.2)
        left.scatter(way.cost, place, **look)
        right.scatter(way.first_layer_loss, place, **look)
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
