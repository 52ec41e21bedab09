"""Final training loss by layer in every residual design, by probes and by separate heads."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

import duckdb

from perlayer.report.figures import style

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

TITLE = "Every residual design, read by probes and by separate heads"
CAPTION = (
    "One panel a residual design: final training loss read after each layer, means over seeds; a design with "
    "value residual has a panel of its own. Probes leave the plain model as it is, so their last layer is that "
    "model's own. Behind every panel, in grey, stand the "
    "ordinary models of Sandwich-LN, the baseline, with as many layers. All panels share the logarithmic loss axis."
)
COLUMNS = 5
READOUTS = ("probes", "separate")
ORDINARY = {"color": "#9a9a9a", "marker": "s", "linestyle": ":", "linewidth": 1, "markersize": 3.5}


def data(connection: duckdb.DuckDBPyConnection) -> pd.DataFrame:
    """One row a design (with or without value residual) and layer: loss by both readouts, and of the ordinary model."""
    return connection.execute(
        f"""SELECT residual, value_residual, design, layer,
            max(mean) FILTER (readouts = 'probes') AS probes, max(mean) FILTER (readouts = 'separate') AS separate,
            any_value(ordinary) AS ordinary
        FROM design_layers
        LEFT JOIN (SELECT layers AS layer, loss AS ordinary FROM ({style.ORDINARY})) USING (layer)
        GROUP BY residual, value_residual, design, layer
        ORDER BY design_place(residual), residual, value_residual NULLS FIRST, layer"""
    ).df()


def draw(connection: duckdb.DuckDBPyConnection) -> Figure:
    """The figure of what is present."""
    import seaborn
    from matplotlib.lines import Line2D

    table = data(connection)
    if table.empty:
        return style.empty_figure("No residual design has been trained yet.")
    ordinary = connection.execute(f"SELECT layers, loss FROM ({style.ORDINARY}) ORDER BY layers").df()
    figure = style.new_figure(10.5, 2.15 * -(-table["design"].nunique() // COLUMNS) + 0.8)
    panels = style.small_multiples(figure, table["design"], COLUMNS)
    for design, axes in panels.items():
        axes.set_title("\n".join(textwrap.wrap(design, 24)), fontsize="medium")
        mine = table[table["design"] == design]
        axes.plot(ordinary["layers"], ordinary["loss"], zorder=1, **ORDINARY)
        for readouts in READOUTS:
            if mine[readouts].notna().any():
                seaborn.lineplot(mine, x="layer", y=readouts, errorbar=None, ax=axes, **_look(readouts))
        style.layer_ticks(axes, [*mine["layer"], *ordinary["layers"]], ticks=7)
        style.outer_labels(axes, "Layer", "Final training loss\n(nats per token)")
    losses = [loss for column in (*(table[name] for name in READOUTS), ordinary["loss"]) for loss in column.dropna()]
    style.log_scale(axes, (1, 1.5, 2, 2.5, 3, 3.5, 4, 4.5, 5, 6, 8), minor=False)
    axes.set_ylim(min(losses) / 1.02, max(losses) * 1.02)
    handles = [Line2D([], [], label="ordinary models of Sandwich-LN", **ORDINARY)]
    handles += [Line2D([], [], label=style.SETUPS[readouts][0], **_look(readouts)) for readouts in READOUTS]
    figure.legend(handles=handles, loc="outside upper left", ncols=len(handles), frameon=False)
    style.add_note(figure, style.absent_designs(connection))
    return figure


def _look(readouts: str) -> dict[str, object]:
    _, colour, marker = style.SETUPS[readouts]
    return {"color": colour, "marker": marker, "linewidth": 1.3, "markersize": 4, "markeredgewidth": 0}
