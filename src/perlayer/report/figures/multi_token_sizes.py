"""What multi-token prediction changes in the last layer's next-token loss, by size of the model."""

from perlayer.report.figures import style

TITLE = "Multi-token prediction and the next token, by size"
CAPTION = (
    "Final training loss of the last layer on the next token with multi-token prediction minus without, against the "
    "parameters of the layers: below zero it helps. Marks are differences of means over seeds, lines across them the "
    "intervals by which the claim is judged, where there are some."
)
EMPTY = "No model with multi-token prediction stands beside a plain model of its size yet."
COLOURS = ("#D55E00", "#0072B2", "#009E73", "#AA4499", "#E69F00", "#56B4E9")  # of methods, in turn
MARKERS = ("D", "^", "v", "s", "P", "X")
APART = 1.06  # methods stand apart by this factor
ABSENT = """
    SELECT run FROM runs WHERE changes = 'multi_token_prediction' AND readouts IN ('none', 'probes')
        AND residual = 'sandwich' AND full_depth AND NOT present ORDER BY run
"""


def data(connection: style.Connection) -> style.Table:
    """One row a method of multi-token prediction and size, from small to large."""
    sql = """SELECT method, multi.size, multi.layers, backbone_parameters, tokens, multi.plain, loss, difference, low,
            high, multi.seeds, plain_seeds
        FROM multi_token_layers AS multi JOIN runs ON run = "group"
        LEFT JOIN contrasts
            ON question = 'Q8' AND claim = 'no_gain' AND part = multi.size AND method = deepseek_v3()
        WHERE multi.residual = 'sandwich' AND multi.full_depth AND readout = 'head'
        ORDER BY method <> deepseek_v3(), method, backbone_parameters, multi.size"""
    return connection.execute(sql).df()


def draw(table: style.Table, connection: style.Connection) -> style.Figure:
    from matplotlib.ticker import EngFormatter

    figure = style.new_figure(8, 4.4)
    axes = figure.subplots()
    axes.set_xscale("log")
    axes.axhline(0, color="#222222", linewidth=0.8)
    looks = style.in_turn(table["method"], COLOURS, MARKERS)
    for number, (method, look) in enumerate(looks.items()):
        mine = table[table["method"] == method]
        places = mine["backbone_parameters"] * APART ** (number - (len(looks) - 1) / 2)
        axes.vlines(places, mine["low"], mine["high"], linewidth=1.2, zorder=3, color=look["color"])
        look = style.marked(look["color"], look["marker"], 7)
        axes.plot(places, mine["difference"], label=method, zorder=4, **look)
    style.signed_ticks(axes)
    sizes = table.drop_duplicates("size")
    parameters, engineering = sizes["backbone_parameters"], EngFormatter(places=0, sep="\u202f")
    axes.set_xticks([], minor=True)
    axes.set_xticks(parameters, [f"{engineering(n)}\n{size}" for n, size in zip(parameters, sizes["size"])])
    axes.set_xlim(parameters.min() / 1.6, parameters.max() * 1.6)
    axes.set(xlabel="Parameters of the layers", ylabel="With minus without (nats per token)")
    figure.legend(loc="outside upper left", ncols=3, frameon=False)
    return style.noted(figure, style.absent(connection, ABSENT))
