"""How closely a lens at every layer agrees with the model's own output."""

from __future__ import annotations

from typing import TYPE_CHECKING

import duckdb

from perlayer.report.figures import style

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

TITLE = "How closely lenses agree with the final output"
CAPTION = (
    "Solid: the logit lens; dashed: the tuned lens; on held-out text. Left: KL(final output || lens), on a "
    "logarithmic axis, without the last layer, where it is 0. Right: the share of the five likeliest next tokens that "
    "lens and final output have in common. One colour a setup, by its run of the lowest seed that a lens has read, or "
    "a published model. Probes leave the backbone as it is: they stand for the baseline where no lens has read that. "
    "Layer 0 is the embedding; where depths differ by more than half, the axis is the share of the layers."
)
OTHER_COLOURS = ("#E69F00", "#56B4E9", "#CC79A7", "#999933", "#882255")  # of published models, in turn
MARKERS = ("P", "X", "h", "<", ">")


def data(connection: duckdb.DuckDBPyConnection) -> pd.DataFrame:
    """One row a model, lens and layer."""
    return connection.execute(
        """WITH chosen AS (
            SELECT run, CASE WHEN setup = 'probes' THEN 'baseline' ELSE setup END AS name
            FROM setups
            WHERE residual = 'sandwich' AND run IN (SELECT run FROM lenses)
            QUALIFY row_number() OVER (
                PARTITION BY CASE WHEN setup = 'probes' THEN 'baseline' ELSE setup END
                ORDER BY seed, ema, run NOT IN (SELECT run FROM lenses WHERE readout = 'tuned_lens'), setup, run
            ) = 1
            UNION ALL
            SELECT DISTINCT run, run FROM lenses WHERE size = 'published'
        )
        SELECT name, run, readout, layer, layer / max(layer) OVER (PARTITION BY run) AS depth,
            kl_final_lens, kl_final_lens_standard_error, top5_overlap, top5_overlap_standard_error
        FROM lenses JOIN chosen USING (run)
        ORDER BY size = 'published', array_position(['baseline', 'separate', 'shared', 'shared_stop_gradient'], name),
            name, readout, layer"""
    ).df()


def draw(connection: duckdb.DuckDBPyConnection) -> Figure:
    """The figure of what is present."""
    import seaborn
    from matplotlib.lines import Line2D
    from matplotlib.ticker import PercentFormatter

    table = data(connection)
    if table.empty:
        return style.empty_figure("No finished model has been read by a lens yet.")
    names = list(dict.fromkeys(table["name"]))
    looks = _looks(names)
    depths = table.groupby("name")["layer"].max()
    relative = depths.max() > 1.5 * depths.min()
    x = "depth" if relative else "layer"
    figure = style.new_figure(10.5, 4.6)
    left, right = figure.subplots(1, 2, width_ratios=[1.4, 1])
    panels = {
        "kl_final_lens": (left, "KL(final output || lens), nats per token"),
        "top5_overlap": (right, "Overlap of the five likeliest tokens"),
    }
    labels = []
    for name in names:
        label, colour, marker = looks[name]
        mine = table[table["name"] == name]
        size = 5 if depths[name] <= 12 else 3
        for column, (axes, _) in panels.items():
            shown = mine[(mine["layer"] < depths[name]) & (mine[column] > 0)] if axes is left else mine
            for readout, dashes in (("logit_lens", "-"), ("tuned_lens", "--")):
                seaborn.lineplot(
                    shown[shown["readout"] == readout], x=x, y=column, color=colour, marker=marker, markersize=size,
                    markeredgewidth=0, linestyle=dashes, errorbar=None, legend=False, ax=axes,
                )  # fmt: skip
        first = mine[(mine["readout"] == "logit_lens") & (mine["layer"] < depths[name])].head(1)
        labels += [(row[x], row["kl_final_lens"], label, colour) for _, row in first.iterrows()]
    for axes, meaning in panels.values():
        axes.set(ylabel=meaning)
        if relative:
            axes.set_xlim(-0.55 if axes is left else -0.03, 1.03)
            axes.set_xticks([0, 0.25, 0.5, 0.75, 1])
            axes.xaxis.set_major_formatter(PercentFormatter(1))
            axes.set_xlabel("Depth (share of the layers)")
        else:
            style.layer_ticks(axes, table["layer"], room=0.34 if axes is left else 0)
    left.set(title="Divergence")
    style.log_scale(left, (1, 2, 5))
    left.set_ylim(top=3 * left.get_ylim()[1])  # labels of lines that end close together reach above them
    right.set(title="Overlap", ylim=(-0.03, 1.03))
    grey = {"color": "#555555", "linewidth": 1.4}
    handles = [
        Line2D([], [], linestyle=dashes, label=label, **grey)
        for readout, label, dashes in (("logit_lens", "logit lens", "-"), ("tuned_lens", "tuned lens", "--"))
        if (table["readout"] == readout).any()
    ]
    figure.legend(handles=handles, loc="outside upper right", ncols=2, frameon=False)
    style.add_note(figure, _not_read(connection))
    style.label_lines(left, labels, side="left")
    return figure


def _looks(names: list[str]) -> dict[str, tuple[str, str, str]]:
    """Label, colour and marker of each setup and published model."""
    others = [name for name in names if name not in style.SETUPS]
    looks = {name: style.SETUPS[name] for name in names if name in style.SETUPS}
    for place, name in enumerate(others):
        looks[name] = (name, OTHER_COLOURS[place % len(OTHER_COLOURS)], MARKERS[place % len(MARKERS)])
    return looks


def _not_read(connection: duckdb.DuckDBPyConnection) -> str:
    """A note of the setups of which no lens has read a run yet; probes are the backbone of the baseline."""
    absent = connection.execute(
        """SELECT setup FROM recipe_runs WHERE residual = 'sandwich' AND full_depth AND standard
        GROUP BY setup HAVING NOT bool_or(run IN (SELECT run FROM lenses)) ORDER BY setup"""
    ).fetchall()
    return "Not read by a lens yet: " + ", ".join(style.SETUPS[setup][0] for (setup,) in absent) if absent else ""
