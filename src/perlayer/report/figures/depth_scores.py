"""How deep models compute, as single numbers."""

from perlayer.report.figures import panels, style

TITLE = "How deep models compute"
CAPTION = (
    "Left: depth scores on held-out text, the mean layer weighted by what skipping it changes at future tokens: in the "
    "contributions of later layers, and in predictions. Marks are means over seeds, small ones single seeds. Right, by "
    "the run of the lowest seed: the first layer whose input the logit lens reads less than half as far from the "
    "output as at its farthest, the first whose input shares more than a fifth of the five likeliest tokens with the "
    "output (one beyond the last layer where there is none), the last at which the cosine of what is added turns from "
    "below 0, and the layer at which relative contributions fall most. Where depths differ, all are shares of it."
)
EMPTY = panels.UNDISSECTED
SCORES = {
    "depth_score": ("by later contributions", "#0072B2", "o", -0.14),
    "output_depth_score": ("by predictions", "#D55E00", "D", 0.14),
}
LAYERS = {
    "kl_layer": ("KL", "#0072B2", "s", -0.24),
    "overlap_layer": ("top-5 overlap", "#009E73", "D", -0.08),
    "cosine_layer": ("cosine", "#AA4499", "^", 0.08),
    "drop_layer": ("contributions fall", "#777777", "v", 0.24),
}
SEEDS = """
    SELECT label, statistic, value FROM depth_statistics JOIN dissected_runs USING (run)
    WHERE statistic IN ('depth_score', 'output_depth_score')
    QUALIFY count(*) OVER (PARTITION BY label, statistic) > 1 ORDER BY ALL
"""


def data(connection: style.Connection) -> style.Table:
    """One row a setup, design or depth: means of the depth scores, and the layers of its run of the lowest seed."""
    sql = """SELECT label, representative AS run, layers,
            avg(value) FILTER (statistic = 'depth_score') AS depth_score,
            avg(value) FILTER (statistic = 'output_depth_score') AS output_depth_score,
            max(value) FILTER (statistic = 'kl_layer' AND run = representative) AS kl_layer,
            max(value) FILTER (statistic = 'overlap_layer' AND run = representative) AS overlap_layer,
            any_value(cosine) FILTER (run = representative) AS cosine_layer,
            max(value) FILTER (statistic = 'drop_layer' AND run = representative) AS drop_layer
        FROM depth_statistics JOIN dissected_runs USING (run)
        LEFT JOIN (SELECT run, cosine FROM effective_depths) USING (run)
        GROUP BY label, representative, layers, place ORDER BY place"""
    return connection.execute(sql).df()


def draw(table: style.Table, connection: style.Connection) -> style.Figure:
    shares = table["layers"].nunique() > 1
    whole = table["layers"] if shares else table["layers"] ** 0  # of which layers are shares
    places = dict(zip(table["label"], zip(table.index, whole)))
    figure = style.new_figure(10.5, 0.42 * len(table) + 1.7)
    left, right = figure.subplots(1, 2, sharey=True)
    seeds = connection.execute(SEEDS).df()
    for axes, marks in ((left, SCORES), (right, LAYERS)):
        for column, (name, colour, marker, shift) in marks.items():
            look = {"color": colour, "marker": marker, "label": name, "linestyle": "", "markersize": 6}
            axes.plot(table[column] / whole, table.index + shift, **look)
            for seed in seeds[seeds["statistic"] == column].itertuples():
                place, layers = places[seed.label]
                axes.scatter(seed.value / layers, place + shift, color=colour, s=9, alpha=0.6, linewidth=0)
    left.set(title="Depth scores")
    right.set(title="Where the output takes shape")
    left.set_yticks(range(len(table)), table["label"])
    left.set_ylim(len(table) - 0.5, -0.5)
    for axes, side in ((left, "left"), (right, "right")):
        handles, names = axes.get_legend_handles_labels()
        figure.legend(handles, names, loc=f"outside upper {side}", ncols=len(names), frameon=False)
        axes.grid(True, axis="x")
        if shares:  # up to one layer beyond the last
            axes.xaxis.set_major_formatter("{x:.0%}")
            axes.set(xlim=(0, 1.08 + 1 / table["layers"].min()), xlabel="Share of the depth")
        else:
            style.layer_ticks(axes, range(1, int(table["layers"].max()) + 2))
    return style.noted(figure, panels.absent(connection))
