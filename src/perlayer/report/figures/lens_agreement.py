"""How closely a lens at every layer agrees with the model's own output."""

from perlayer.report.figures import style

TITLE = "How closely lenses agree with the final output"
CAPTION = (
    "Solid: the logit lens; dashed: the tuned lens; on held-out text. Left: KL(final output || lens), on a "
    "logarithmic axis, without the last layer, where it is 0. Right: the share of the five likeliest next tokens that "
    "lens and final output have in common. One colour a setup, by its run of the lowest seed that a lens has read, or "
    "a published model. Probes leave the backbone as it is: they stand for the baseline where no lens has read that. "
    "Layer 0 is the embedding; where depths differ by more than half, the axis is the share of the layers."
)
EMPTY = "No finished model has been read by a lens yet."
COLOURS = ("#E69F00", "#56B4E9", "#CC79A7", "#999933", "#882255")  # of published models, in turn
MARKERS = ("P", "X", "h", "<", ">")
LENSES = {"logit_lens": ("logit lens", "-"), "tuned_lens": ("tuned lens", "--")}
TUNED_FIRST = "run NOT IN (SELECT run FROM lenses WHERE readout = 'tuned_lens')"
# Setups of which no lens has read a run; probes are the backbone of the baseline.
UNREAD = """
    SELECT setup FROM recipe_runs WHERE residual = 'sandwich' AND full_depth AND standard
    GROUP BY setup HAVING NOT bool_or(run IN (SELECT run FROM lenses)) ORDER BY setup
"""


def data(connection: style.Connection) -> style.Table:
    """One row a model, lens and layer."""
    sql = f"""WITH chosen AS (
            SELECT run, backbone AS name FROM ({style.lowest_seeds("lenses", TUNED_FIRST)})
            UNION ALL
            SELECT DISTINCT run, run FROM lenses WHERE size = 'published'
        )
        SELECT name, run, readout, layer, layer / max(layer) OVER (PARTITION BY run) AS depth,
            kl_final_lens, kl_final_lens_standard_error, top5_overlap, top5_overlap_standard_error
        FROM lenses JOIN chosen USING (run)
        ORDER BY size = 'published', array_position(['baseline', 'separate', 'shared', 'shared_stop_gradient'], name),
            name, readout, layer"""
    return connection.execute(sql).df()


def draw(table: style.Table, connection: style.Connection) -> style.Figure:
    depths = table.groupby("name", sort=False)["layer"].max()
    published = style.in_turn([name for name in depths.index if name not in style.SETUPS], COLOURS, MARKERS)
    relative = depths.max() > 1.5 * depths.min()
    x = "depth" if relative else "layer"
    figure = style.new_figure(10.5, 4.6)
    left, right = figure.subplots(1, 2, width_ratios=[1.4, 1])
    labels = []
    for name, depth in depths.items():
        label, colour, marker = style.SETUPS.get(name) or (name, *published[name].values())
        mine = table[table["name"] == name]
        below = mine[mine["layer"] < depth]
        look = style.marked(colour, marker, 5 if depth <= 12 else 3, 1.2)
        for axes, column, rows in (
            (left, "kl_final_lens", below[below["kl_final_lens"] > 0]),
            (right, "top5_overlap", mine),
        ):
            for readout, (_, dashes) in LENSES.items():
                style.draw_line(axes, rows[rows["readout"] == readout], x, column, **look | {"linestyle": dashes})
        first = below[below["readout"] == "logit_lens"].head(1)
        labels += [(place, loss, label, colour) for place, loss in zip(first[x], first["kl_final_lens"])]
    for axes, room in ((left, 0.34), (right, 0)):
        if relative:
            axes.set_xlim(-0.55 if room else -0.03, 1.03)
            axes.set_xticks([0, 0.25, 0.5, 0.75, 1])
            axes.xaxis.set_major_formatter("{x:.0%}")
            axes.set_xlabel("Depth (share of the layers)")
        else:
            style.layer_ticks(axes, table["layer"], room=room)
    left.set(title="Divergence", ylabel="KL(final output || lens), nats per token")
    style.log_scale(left, (1, 2, 5))
    left.set_ylim(top=3 * left.get_ylim()[1])  # labels of lines that end close together reach above them
    right.set(title="Overlap", ylim=(-0.03, 1.03), ylabel="Overlap of the five likeliest tokens")
    looks = {
        label: {"color": "#555555", "linewidth": 1.4, "linestyle": dashes}
        for readout, (label, dashes) in LENSES.items()
        if (table["readout"] == readout).any()
    }
    style.legend(figure, looks, columns=2, side="right")
    unread = [setup for (setup,) in connection.execute(UNREAD).fetchall()]
    style.noted(figure, style.absent_setups("Not read by a lens yet", unread))
    style.label_lines(left, labels, side="left")
    return figure
