"""Whether what reads a plain model falls with depth, in every residual design."""

import textwrap

from perlayer.report.figures import style

TITLE = "Whether loss falls with depth, in every residual design"
CAPTION = (
    "Above, one panel a residual design: held-out loss of its plain models after each layer, means over seeds, by what "
    "reads them: probes all held-out text, lenses its first sequences, as many as lens.sequences says. The loss axis "
    "is logarithmic. Below: Kendall's tau of layer and loss, a point a seed, -1 where every layer lowers the loss; in "
    "the grey part the order is no clearer than chance makes (as few rising pairs have a probability of 0.05 or more "
    "in a random order)."
)
EMPTY = "No plain model has been read after every layer yet."
COLUMNS = 5
LOOKS = {  # label, colour, marker, dashes
    "probes": (*style.SETUPS["probes"], "-"),
    "logit_lens": style.READINGS["logit_lens"],
    "tuned_lens": style.READINGS["tuned_lens"],
}
# AttnRes beside the baseline, then the rest.
PLACE = "CASE WHEN residual = 'sandwich' THEN 0 WHEN starts_with(residual, 'attnres') THEN 1 ELSE 2 END"
UNREAD = """
    SELECT design_name(residual) FROM recipe_runs WHERE full_depth AND standard
        AND readouts IN ('none', 'probes') AND residual NOT IN (
            SELECT residual FROM depth_losses WHERE readout IN ('probes', 'logit_lens')
            GROUP BY residual HAVING count(DISTINCT readout) = 2
        )
    GROUP BY residual ORDER BY design_place(residual), residual
"""


def data(connection: style.Connection) -> style.Table:
    """One row a design, readout, seed and layer, with tau of the whole line."""
    sql = f"""SELECT residual, design_name(residual) AS design, readout, seed, layer, loss, tau, rising, pairs, chance
        FROM depth_losses LEFT JOIN depth_order USING (residual, readout, run, seed)
        ORDER BY {PLACE}, design_place(residual), residual,
            array_position(['probes', 'logit_lens', 'tuned_lens'], readout), seed, layer"""
    return connection.execute(sql).df()


def draw(table: style.Table, connection: style.Connection) -> style.Figure:
    rows = -(-table["design"].nunique() // COLUMNS)
    figure = style.new_figure(10.5, 2.15 * rows + 3.1)
    top, bottom = figure.subfigures(2, 1, height_ratios=[2.15 * rows + 0.5, 2.6])
    _draw_losses(top, table)
    _draw_tau(bottom.subplots(), table)
    unread = style.absent(connection, UNREAD, "Without probes or logit lens yet")
    style.noted(bottom, unread, style.absent_designs(connection))
    return figure


def _draw_losses(figure: style.SubFigure, table: style.Table) -> None:
    looks = {
        readout: (label, style.marked(colour, marker, dashes=dashes))
        for readout, (label, colour, marker, dashes) in LOOKS.items()
        if readout in set(table["readout"])
    }
    for _, axes, mine in style.small_multiples(figure, table, "design", COLUMNS):
        for readout, (_, look) in looks.items():
            if readout in set(mine["readout"]):
                style.draw_line(axes, mine[mine["readout"] == readout], "layer", "loss", **look)
        style.layer_ticks(axes, mine["layer"], ticks=7)
        style.outer_labels(axes, "Layer", "Held-out loss\n(nats per token)")
    style.log_scale(axes, (1, 1.5, 2, 3, 4, 5, 6, 8), minor=False)
    axes.set_ylim(table["loss"].min() / 1.05, table["loss"].max() * 1.05)
    style.legend(figure, dict(looks.values()))


def _draw_tau(axes: style.Axes, table: style.Table) -> None:
    ends = table.dropna(subset="tau").drop_duplicates(["design", "readout", "seed"])
    if ends.empty:
        style.say(axes, "It takes two layers to speak of an order.")
        return
    designs = list(dict.fromkeys(table["design"]))
    chance = ends["chance"].fillna(-1.1).iloc[0]  # of three layers or fewer no order is clearer
    axes.axhspan(chance, 1.1, color="#bbbbbb", alpha=0.4, linewidth=0)
    for shift, (readout, (_, colour, marker, _)) in zip((-0.18, 0.0, 0.18), LOOKS.items()):
        mine = ends[ends["readout"] == readout]
        places = [designs.index(design) + shift for design in mine["design"]]
        axes.scatter(places, mine["tau"], color=colour, marker=marker, s=34, zorder=3)
    axes.set_xticks(range(len(designs)), ["\n".join(textwrap.wrap(design, 12)) for design in designs])
    axes.set(title="How far from falling with depth", ylabel="Kendall's tau", ylim=(-1.1, 1.1))
    axes.set_xlim(-0.5, len(designs) - 0.5)
    words = {"color": "#555555", "fontsize": "small", "ha": "right", "va": "top", "transform": axes.transAxes}
    axes.text(0.995, 0.96, "no clearer an order than chance makes", **words)
