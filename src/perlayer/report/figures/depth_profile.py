"""What skipping a layer changes in the output, beside how near the logit lens is to it, at the same depth."""

from __future__ import annotations

from typing import TYPE_CHECKING

import duckdb

from perlayer.report.figures import style
from perlayer.report.figures.panels import (
    LEADS,
    UNDISSECTED,
    depth_axis,
    finish,
    label_stack,
    panel_rows,
    stacked_panels,
)

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TITLE = "What the output owes to each layer, and from which depth on it is near"
CAPTION = (
    "One column a setup or residual design, by its run of the lowest seed, or a published model; means over the "
    "tokens of held-out text. "
    "Top: how far the next-token distributions move when a layer is skipped, everywhere but at the first token of a "
    "text, and at tokens after a split when it is skipped before that (the last layer changes nothing there). Below: "
    "the model's own norm and head read the residual after each layer, 0 being the embedding: KL(lens || final "
    "output), and the share of the five likeliest tokens that both have in common. "
    "Dotted: where the relative contribution of layers falls most, if it does. The axis of KL ends where the runs do: "
    "a published model may begin beyond it."
)
EFFECTS = {
    "output_effect_all": ("skipped everywhere", "#222222", "o", "-"),
    "output_effect_future": ("future tokens", "#E69F00", "^", "--"),
}
LENS = {"kl_lens_final": ("KL", "#0072B2", "s"), "top5_overlap": ("overlap", "#009E73", "D")}


def data(connection: duckdb.DuckDBPyConnection) -> pd.DataFrame:
    """One row a model and layer; `drop_layer` is where its contributions fall most."""
    return connection.execute(
        f"""SELECT label, run, layer, output_effect_all, output_effect_future, kl_lens_final, kl_final_lens,
            top5_overlap, drop_layer, published
        FROM residual_lens JOIN ({LEADS}) USING (run)
        LEFT JOIN (FROM output_effects WHERE stat = 'mean' AND sublayer IS NULL) USING (run, layer)
        LEFT JOIN (SELECT run, drop_layer FROM contribution_drops WHERE sublayer IS NULL) USING (run)
        ORDER BY place, layer"""
    ).df()


def draw(connection: duckdb.DuckDBPyConnection) -> Figure:
    """The figure of what is present."""
    from matplotlib.lines import Line2D

    table = data(connection)
    if table.empty:
        return style.empty_figure(UNDISSECTED)
    figure = style.new_figure(10.5, 4.9 * panel_rows(table["label"]) + 0.7)
    panels = stacked_panels(figure, table["label"], (1.2, 1, 1))
    for label, stack in panels.items():
        mine = table[table["label"] == label]
        _draw_stack(stack, mine)
        label_stack(stack, ["Output effect", "KL (nats)", "Top-5 overlap"])
    _share_scales(panels, table)
    handles = [
        Line2D([], [], color=colour, marker=marker, linestyle=dashes, label=name)
        for name, colour, marker, dashes in EFFECTS.values()
    ]
    handles.append(Line2D([], [], color="#777777", linestyle=":", label="contributions fall most"))
    finish(figure, connection, handles)
    return figure


def _draw_stack(stack: list[Axes], table: pd.DataFrame) -> None:
    effects, *lenses = stack
    look = {"markersize": 4, "markeredgewidth": 0, "linewidth": 1.3}
    for column, (_, colour, marker, dashes) in EFFECTS.items():
        mine = table[table[column] > 0]  # the scale is logarithmic
        effects.plot(mine["layer"], mine[column], color=colour, marker=marker, linestyle=dashes, **look)
    for axes, (column, (_, colour, marker)) in zip(lenses, LENS.items()):
        axes.plot(table["layer"], table[column], color=colour, marker=marker, **look)
    drops = table["drop_layer"].dropna().unique()  # there may be none
    for axes in stack:
        for drop in drops:
            axes.axvline(drop - 0.5, color="#777777", linestyle=":", linewidth=1.2)
        depth_axis(axes, table)


def _share_scales(panels: dict[str, list[Axes]], table: pd.DataFrame) -> None:
    """The same scale in each row of all models."""
    effects = table[list(EFFECTS)].stack()
    effects = effects[effects > 0]
    ours = table[~table["published"]]
    reach = (table if ours.empty else ours)["kl_lens_final"].max()
    for above, middle, below in panels.values():
        if not effects.empty:
            style.log_scale(above, (1,))
            above.set_ylim(effects.min() / 1.6, effects.max() * 1.6)
        middle.set_ylim(-0.05 * reach, 1.08 * reach)
        below.set_ylim(-0.05, 1.08)
