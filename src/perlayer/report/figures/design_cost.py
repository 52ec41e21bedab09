"""What separate heads cost the last layer in every residual design."""

from perlayer.questions.wording import signed
from perlayer.report.figures import style

TITLE = "What separate heads cost the last layer in every residual design"
CAPTION = (
    "Left: final training loss of the last layer with separate heads minus that of the plain model of the same design, "
    "means over seeds; the dotted line is half of what Sandwich-LN, the baseline, pays, as is claimed of "
    "Hyper-Connections. Right: that minus what Sandwich-LN pays, with the interval that claims are judged by."
)
EMPTY = "No design has been trained with separate heads and plain yet."
COLOURS = {"sandwich": "#7a7a7a", "hyper_connections": "#D55E00"}
OTHERS = "#7fa8c9"


def data(connection: style.Connection) -> style.Table:
    """One row a design, the cheapest first: cost, and how much more that is than the baseline's, with its interval."""
    sql = """SELECT residual, design_name(residual) AS design, run, supervision.seeds, cost, estimate AS minus_baseline,
            low, high
        FROM supervision LEFT JOIN contrasts ON question = 'Q3' AND claim = 'cost' AND part = design_name(residual)
        WHERE full_depth AND standard AND readouts = 'separate' AND cost IS NOT NULL
        ORDER BY cost, residual"""
    return connection.execute(sql).df()


def draw(table: style.Table, connection: style.Connection) -> style.Figure:
    from matplotlib.ticker import MaxNLocator

    figure = style.new_figure(10.5, 0.34 * len(table) + 1.5)
    left, right = figure.subplots(1, 2, width_ratios=[1.15, 1], sharey=True)
    _draw_bars(left, table, "cost")
    for cost in table["cost"][table["residual"] == "sandwich"]:
        left.axvline(cost / 2, color="#222222", linewidth=0.8, linestyle=":")
    left.set(title="Cost", xlabel="Last layer minus the plain model (nats per token)")
    names = [f"{row.design} ({row.seeds} seed{'' if row.seeds == 1 else 's'})" for row in table.itertuples()]
    left.set_yticks(range(len(table)), names)
    left.invert_yaxis()
    _draw_bars(right, table, "minus_baseline")
    right.hlines(table.index, table["low"], table["high"], color="#222222", linewidth=1, zorder=3)
    right.set(title="Minus what Sandwich-LN pays", xlabel="Difference (nats per token)")
    right.xaxis.set_major_locator(MaxNLocator(5))
    right.tick_params(labelleft=False)
    return style.noted(figure, style.absent(connection, style.ABSENT_OF_DESIGNS), style.absent_designs(connection))


def _draw_bars(axes: style.Axes, table: style.Table, column: str) -> None:
    known = table.dropna(subset=column)
    colours = [COLOURS.get(residual, OTHERS) for residual in known["residual"]]
    axes.barh(known.index, known[column], color=colours, height=0.62, zorder=2)
    axes.axvline(0, color="#222222", linewidth=0.8)
    for place, number in known[column].items():  # in a column beside the axes, clear of the bars
        words = {"va": "center", "fontsize": "small", "transform": axes.get_yaxis_transform()}
        axes.text(1.01, place, style.minus(signed(number)), **words)
    axes.grid(False, axis="y")
