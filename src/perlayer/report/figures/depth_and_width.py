"""Where plain models end by depth and width."""

from perlayer.report.figures import style

TITLE = "What depth and width buy"
CAPTION = (
    "Final training loss of plain models of Sandwich-LN by depth, a mark a run, at the size in use and at its rungs "
    "of sizes, whose models grow in depth, width and tokens together. Lines: least squares on the binary logarithm of "
    "depth over the size in use, and, where other rungs have been run, on those of depth and width over all, "
    "at each width."
)
EMPTY = "No plain model is here yet."
COLOURS = ("#222222", "#0072B2", "#D55E00", "#009E73", "#AA4499", "#E69F00")
MARKERS = ("s", "o", "D", "^", "v", "P")
LINES = {"fitted": ("-", "least squares, size in use"), "fitted_over_all": ("--", "least squares, all sizes")}
ABSENT = """
    SELECT min_by(run, row(readouts, ema, run)) AS run FROM runs
    WHERE residual = 'sandwich' AND plain
    GROUP BY size, layers, seed HAVING NOT bool_or(present) ORDER BY run
"""


def data(connection: style.Connection) -> style.Table:
    """One row a run: where it ends, and what the regression over the size in use (and over all) says of it."""
    sql = """WITH plain AS (
            SELECT run, size, rung, seed, layers, round(log2(backbone_parameters / layers) / 2, 6) AS width,
                final_loss AS loss
            FROM runs
            WHERE present AND final_loss IS NOT NULL AND residual = 'sandwich' AND plain
            QUALIFY row_number() OVER (PARTITION BY size, layers, seed ORDER BY readouts, ema, run) = 1
        )
        SELECT run, size, seed, layers, pow(2, width) AS width_scale, loss,
            CASE WHEN rung IS NULL
                THEN mine.intercept + mine.by_depth * log2(layers) + coalesce(mine.by_width, 0) * width END AS fitted,
            every.intercept + every.by_depth * log2(layers) + every.by_width * width AS fitted_over_all
        FROM plain
        LEFT JOIN depth_regression AS mine ON mine.scope = 'size in use'
        LEFT JOIN depth_regression AS every ON every.scope = 'with rungs'
        ORDER BY rung IS NOT NULL, size, layers, seed, run"""
    return connection.execute(sql).df()


def draw(table: style.Table, connection: style.Connection) -> style.Figure:
    figure = style.new_figure(7.5, 4.4)
    axes = figure.subplots()
    for size, look in style.in_turn(table["size"], COLOURS, MARKERS).items():
        mine = table[table["size"] == size]
        axes.scatter(mine["layers"], mine["loss"], s=36, linewidth=0, label=size, zorder=3, **look)
        line = mine.drop_duplicates("layers")
        for column, (dashes, _) in LINES.items():
            if line[column].notna().any():
                axes.plot(line["layers"], line[column], color=look["color"], linestyle=dashes, linewidth=1.1)
    style.depth_ticks(axes, sorted(set(table["layers"])))
    axes.set_xlim(table["layers"].min() / 1.2, table["layers"].max() * 1.2)
    axes.set(xlabel="Layers", ylabel="Final training loss (nats per token)")
    lines = {
        name: {"color": "#777777", "linestyle": dashes}
        for column, (dashes, name) in LINES.items()
        if table[column].notna().any()
    }
    axes.legend(handles=[*axes.get_legend_handles_labels()[0], *style.handles(lines)], frameon=False)
    return style.noted(figure, style.absent(connection, ABSENT))
