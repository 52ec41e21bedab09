"""How well neighbours predict the weights of a layer beside chance, and what replaced layers cost."""

from perlayer.report.figures import panels, perplexity_scale, style

TITLE = "Do neighbours tell the weights of a layer?"
CAPTION = (
    "One column a setup, by its run of the lowest seed. Above: R2 of each kind of matrix predicted from the layers "
    "before and after, on entries that were not fitted to; a dot a layer. Beside it what chance gives: the same before "
    "training and with the layers in other orders. 0 is no better than the mean; the dotted line is the published R2 "
    "of gate_proj in SmolLM2-135M. Below: by how many percent perplexity on held-out text rises with ever more layers "
    "replaced by their predictions, the best predicted first, with the 95 % interval over documents."
)
EMPTY = perplexity_scale.UNMEASURED
PUBLISHED = 0.909
KINDS = {
    "r2": ("as trained", "#D55E00", 0.0),
    "initial": ("before training", "#222222", -0.24),
    "shuffled": ("layers in other orders", "#0072B2", 0.24),
}


def data(connection: style.Connection) -> style.Table:
    """One row a model, layer and kind of matrix; and one a model and number of replaced layers."""
    sql = f"""SELECT * EXCLUDE (place) FROM (
            SELECT place, label, run, layer, matrix, r2, initial, shuffled, entries_alone
            FROM predictability JOIN ({perplexity_scale.MODELS}) USING (run)
            UNION ALL BY NAME
            SELECT place, label, run, layer, replaced, degradation, low, high
            FROM replacements JOIN ({perplexity_scale.MODELS}) USING (run)
        ) ORDER BY place, replaced NULLS FIRST, list_position(matrices(), matrix), layer"""
    return connection.execute(sql).df()


def draw(table: style.Table, connection: style.Connection) -> style.Figure:
    figure, stacks = panels.stacked(table, table["label"], (1.3, 1), height=5.2)
    least = min(-0.1, 1.1 * table[list(KINDS)].min().min())
    for mine, (above, below) in stacks:
        above.axhline(0, color="#222222", linewidth=0.8)
        above.axhline(PUBLISHED, color="#777777", linestyle=":", linewidth=1.2)
        words = {"ha": "right", "va": "top", "fontsize": "small", "color": "#555555"}
        above.text(6.5, PUBLISHED - 0.02, "published", **words)
        rows, places = mine.dropna(subset="matrix"), perplexity_scale.matrix_axis(above)
        for column, (_, colour, shift) in KINDS.items():
            at = rows["matrix"].map(places) + shift
            above.scatter(at, rows[column], color=colour, s=12, alpha=0.7, linewidth=0)
        above.set_ylim(least, 1.02)
        _draw_replaced(below, mine.dropna(subset="replaced"))
        if table["degradation"].notna().any():
            perplexity_scale.percent_scale(below, table["low"].min(), table["high"].max())
        panels.label_stack([above, below], "R2", "Rise of perplexity")
        above.tick_params(labelbottom=True)
        below.set_xlabel("Layers replaced")
    looks = style.looks([(name, colour, "o") for name, colour, _ in KINDS.values()], markersize=4, linestyle="")
    return perplexity_scale.finished(figure, connection, looks)


def _draw_replaced(axes: style.Axes, table: style.Table) -> None:
    if table.empty:
        style.say(axes, "No layer replaced.")
        return
    axes.axhline(0, color="#222222", linewidth=0.8)
    look = {"color": "#D55E00", "marker": "o", "markersize": 4, "linewidth": 1.3, "elinewidth": 1, "capsize": 2.5}
    perplexity_scale.draw_changes(axes, table, "replaced", **look)
    style.layer_ticks(axes, table["replaced"], ticks=7)
