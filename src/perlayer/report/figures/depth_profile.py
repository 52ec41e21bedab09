"""What skipping a layer changes in the output, beside how near the logit lens is to it, at the same depth."""

from perlayer.report.figures import panels, style

TITLE = "What the output owes to each layer, and from which depth on it is near"
CAPTION = (
    "One column a setup or residual design, by its run of the lowest seed, or a published model; means over the tokens "
    "of held-out text. Top: how far the next-token distributions move when a layer is skipped, everywhere but at the "
    "first token of a text, and at tokens after a split when it is skipped before that (the last layer changes nothing "
    "there). Below: the model's own norm and head read the residual after each layer, 0 being the embedding: KL(lens "
    "|| final output), and the share of the five likeliest tokens that both have in common. Dotted: where the relative "
    "contribution of layers falls most, if it does. The axis of KL ends where the runs do: a published model may begin "
    "beyond it."
)
EMPTY = panels.UNDISSECTED
EFFECTS = {
    "output_effect_all": ("skipped everywhere", "#222222", "o", "-"),
    "output_effect_future": ("future tokens", "#E69F00", "^", "--"),
}
LENS = {"kl_lens_final": ("#0072B2", "s"), "top5_overlap": ("#009E73", "D")}


def data(connection: style.Connection) -> style.Table:
    """One row a model and layer; `drop_layer` is where its contributions fall most."""
    sql = f"""SELECT label, run, layer, output_effect_all, output_effect_future, kl_lens_final, kl_final_lens,
            top5_overlap, drop_layer, published
        FROM residual_lens JOIN ({panels.MODELS}) USING (run)
        LEFT JOIN (FROM output_effects WHERE stat = 'mean' AND sublayer IS NULL) USING (run, layer)
        LEFT JOIN (SELECT run, drop_layer FROM contribution_drops WHERE sublayer IS NULL) USING (run)
        ORDER BY place, layer"""
    return connection.execute(sql).df()


def draw(table: style.Table, connection: style.Connection) -> style.Figure:
    figure, stacks = panels.stacked(table, table["label"], (1.2, 1, 1), height=4.9)
    effects = table[list(EFFECTS)].stack()
    effects = effects[effects > 0]  # the scale is logarithmic
    ours = table[~table["published"]]
    reach = (table if ours.empty else ours)["kl_lens_final"].max()
    for mine, stack in stacks:
        for column, (_, colour, marker, dashes) in EFFECTS.items():
            rows = mine[mine[column] > 0]
            stack[0].plot(rows["layer"], rows[column], **style.marked(colour, marker, dashes=dashes))
        for axes, (column, (colour, marker)) in zip(stack[1:], LENS.items()):
            axes.plot(mine["layer"], mine[column], **style.marked(colour, marker))
        for axes in stack:
            for drop in mine["drop_layer"].dropna().unique():  # there may be none
                axes.axvline(drop - 0.5, color="#777777", linestyle=":", linewidth=1.2)
            panels.depth_axis(axes, mine["layer"])
        panels.label_stack(stack, "Output effect", "KL (nats)", "Top-5 overlap")
        if not effects.empty:
            style.log_scale(stack[0], (1,))
            stack[0].set_ylim(effects.min() / 1.6, effects.max() * 1.6)
        stack[1].set_ylim(-0.05 * reach, 1.08 * reach)
        stack[2].set_ylim(-0.05, 1.08)
    rows = [*EFFECTS.values(), ("contributions fall most", "#777777", None, ":")]
    looks = {name: {"color": colour, "marker": marker, "linestyle": dashes} for name, colour, marker, dashes in rows}
    return panels.finished(figure, connection, looks)
