"""How weights change from layer to layer, beside what independent layers give."""

from perlayer.report.figures import panels, perplexity_scale, style

TITLE = "Do weights change from layer to layer in a pattern?"
CAPTION = (
    "One column a setup, by its run of the lowest seed. Above: correlation of consecutive changes of the weights of "
    "each kind of matrix, a dot a layer; grey ticks are what independent layers with the same variances give, -0.50 "
    "(line) where those are equal, and black dots the model before training. Below: share of the variance over layers "
    "that the first principal components explain, mean over kinds of matrix, minus that of independent normal draws of "
    "the same norms: above 0 layers have something in common."
)
EMPTY = perplexity_scale.UNMEASURED
MARKS = {"marker": "o", "markersize": 4, "linestyle": ""}
LOOKS = {
    "as trained": {"color": "#D55E00", **MARKS},
    "before training": {"color": "#222222", **MARKS},
    "independent layers": {"color": "#777777", "marker": "_", "markersize": 9, "linestyle": ""},
}


def data(connection: style.Connection) -> style.Table:
    """One row a model, layer and kind of matrix; and one a model, kind of matrix and number of components."""
    sql = f"""SELECT * EXCLUDE (place) FROM (
            SELECT place, label, run, layer, matrix, correlation, initial, independent, excess
            FROM delta_correlations JOIN ({perplexity_scale.MODELS}) USING (run)
            UNION ALL BY NAME
            SELECT place, label, run, matrix, components, explained, initial, independent, excess
            FROM weight_components JOIN ({perplexity_scale.MODELS}) USING (run)
        ) ORDER BY place, components NULLS FIRST, list_position(matrices(), matrix), layer"""
    return connection.execute(sql).df()


def draw(table: style.Table, connection: style.Connection) -> style.Figure:
    figure, stacks = panels.stacked(table, table["label"], (1.3, 1), height=5.2)
    correlations = table.loc[table["components"].isna(), ["correlation", "initial", "independent"]].stack()
    shares = table.groupby(["label", "components"])[["explained", "initial", "independent"]].mean()
    reach = max(0.02, 1.2 * shares[["explained", "initial"]].sub(shares["independent"], axis=0).abs().max().max())
    for mine, (above, below) in stacks:
        _draw_correlations(above, mine[mine["components"].isna()])
        _draw_components(below, mine.dropna(subset="components"))
        panels.label_stack([above, below], "Correlation", "Share beyond\nindependent layers")
        above.tick_params(labelbottom=True)
        if not correlations.empty:
            above.set_ylim(min(-0.75, correlations.min() - 0.05), max(0.05, correlations.max() + 0.05))
        if len(shares):
            below.set_ylim(-reach, reach)
            style.signed_ticks(below)
    return perplexity_scale.finished(figure, connection, LOOKS)


def _draw_correlations(axes: style.Axes, table: style.Table) -> None:
    if table.empty:
        style.say(axes, "It takes three layers.")
        return
    axes.axhline(-0.5, color="#222222", linewidth=1)
    words = {"ha": "right", "va": "top", "fontsize": "small", "transform": axes.transAxes}
    axes.text(0.99, 0.97, "line: \N{MINUS SIGN}0.50, which independent layers give", **words)
    at = table["matrix"].map(perplexity_scale.matrix_axis(axes))
    axes.scatter(at + 0.2, table["independent"], color="#777777", marker="_", s=60, linewidth=1.2)
    axes.scatter(at - 0.2, table["initial"], color="#222222", s=12, alpha=0.7, linewidth=0)
    axes.scatter(at, table["correlation"], color="#D55E00", s=12, alpha=0.8, linewidth=0, zorder=3)


def _draw_components(axes: style.Axes, table: style.Table) -> None:
    if table.empty:
        style.say(axes, "It takes two layers.")
        return
    table = table.assign(before=table["initial"] - table["independent"])
    means = table.groupby("components")[["excess", "before"]].mean()
    axes.axhline(0, color="#777777", linewidth=1)
    for column, colour in (("before", "#222222"), ("excess", "#D55E00")):
        axes.plot(means.index, means[column], **style.marked(colour, "o"))
    style.layer_ticks(axes, means.index, ticks=7)
    axes.set_xlabel("Principal components")
