"""What every layer knows of the next token and of the one after it, without and with multi-token prediction."""

from perlayer.report.figures import style
from perlayer.report.figures.multi_token_sizes import COLOURS, MARKERS

TITLE = "What every layer knows of the next token and of the one after, with multi-token prediction"
CAPTION = (
    "Above: final training loss read by probes after each layer without (dotted) and with multi-token prediction, "
    "means over seeds; at the last layer the next token is read by the model's own head. Stars are the modules that "
    "predict the token after next. Below: the same with minus without, so that a layer below zero knows more; lines "
    "across the marks of the last layer are the intervals by which claims are judged, where there are some."
)
EMPTY = "No model with multi-token prediction stands beside a plain model yet."
TOKENS = {1: "The next token (t+1)", 2: "The token after next (t+2)"}
MARKING = {"markersize": 5.5, "markeredgewidth": 0}
PLAIN = {"color": "#222222", "marker": "o", "linestyle": ":", **MARKING}
STAR = {"marker": "*", "markersize": 11, "markeredgewidth": 0, "linestyle": "", "color": "#777777"}
ABSENT = """
    SELECT run FROM recipe_runs WHERE changes = 'multi_token_prediction' AND readouts IN ('none', 'probes')
        AND residual = 'sandwich' AND full_depth AND NOT present ORDER BY run
"""


def data(connection: style.Connection) -> style.Table:
    """One row a method of multi-token prediction, token and layer."""
    sql = """SELECT method, ahead, layer, readout, plain, loss, difference, low, high, multi.seeds, plain_seeds, module
        FROM multi_token_layers AS multi
        LEFT JOIN contrasts ON question = 'Q7' AND method = deepseek_v3() AND layer = layers
            AND claim = CASE ahead WHEN 1 THEN 'next_last' ELSE 'after_last' END
        WHERE residual = 'sandwich' AND full_depth AND rung IS NULL AND ahead <= 2
        ORDER BY method <> deepseek_v3(), method, ahead, layer"""
    return connection.execute(sql).df()


def draw(table: style.Table, connection: style.Connection) -> style.Figure:
    figure = style.new_figure(10, 6.4)
    grid = figure.subplots(2, 2, sharey="row", height_ratios=[1.25, 1])
    looks = style.in_turn(table["method"], COLOURS, MARKERS)
    for (above, below), (ahead, title) in zip(grid.T, TOKENS.items()):
        mine = table[table["ahead"] == ahead]
        if mine.empty:
            style.say(above, "No plain model has been read for this token yet.")
            below.set_axis_off()
            continue
        plain = mine.drop_duplicates("layer")
        above.plot(plain["layer"], plain["plain"], linewidth=1.3, **PLAIN)
        below.axhline(0, color="#222222", linewidth=0.8)
        for number, (method, look) in enumerate(looks.items()):
            shift = 0.24 * (number - (len(looks) - 1) / 2)  # so that methods stand side by side
            _draw_method(above, below, mine[mine["method"] == method], look, shift)
        style.signed_ticks(below)
        above.set(title=title)
        for axes in (above, below):
            style.layer_ticks(axes, table["layer"])
            axes.set_xlim(table["layer"].min() - 0.5, table["layer"].max() + 0.5)
        style.outer_labels(above, "", "Final training loss (nats)")
        style.outer_labels(below, "Layer", "With minus without (nats)")
    shown = {method: look | MARKING for method, look in looks.items()}
    star = {"the module itself": STAR} if table["module"].notna().any() else {}
    style.legend(figure, {"without multi-token prediction": PLAIN} | shown | star, columns=4)
    return style.noted(figure, style.absent(connection, ABSENT))


def _draw_method(above: style.Axes, below: style.Axes, table: style.Table, look: dict[str, str], shift: float) -> None:
    above.plot(table["layer"], table["loss"], linewidth=1.4, **look, **MARKING)
    module = table.dropna(subset="module")
    star = {"color": look["color"], "marker": "*", "s": 150, "edgecolors": "white", "linewidths": 0.7, "zorder": 4}
    above.scatter(module["layer"] + shift, module["module"], **star)
    places = table["layer"] + shift
    below.vlines(places, table["low"], table["high"], color=look["color"], linewidth=1.1, zorder=3)
    below.plot(places, table["difference"], zorder=4, linestyle="", **look, **MARKING)
