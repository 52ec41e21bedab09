"""What manipulations of the weights of unimportant layers do to perplexity, by their strength."""

from perlayer.report.figures import panels, perplexity_scale, style

TITLE = "Which manipulations of weights a model survives"
CAPTION = (
    "One column a setup, by its run of the lowest seed, and in it a line a kind of manipulation: by how many percent "
    "perplexity on held-out text rises when the weights of one of the least important layers go part of the way to "
    "others, mean of log-perplexity over those layers, which stand above; bars are the mean of their 95 % intervals "
    "over documents. A tenth of the way to zero is the source's scaling by 0.9 (ring)."
)
EMPTY = perplexity_scale.UNMEASURED
KINDS = {
    "scale": ("to zero", "#D55E00", "o"),
    "noise": ("to noise", "#009E73", "^"),
    "neighbour_interpolation": ("to the neighbours' mean", "#0072B2", "s"),
    "neighbour_copy": ("to a neighbour", "#56B4E9", "D"),
    "predicted": ("to what neighbours predict", "#AA4499", "v"),
    "random": ("to random weights", "#222222", "P"),
}


def data(connection: style.Connection) -> style.Table:
    """One row a model, kind and strength: changes of perplexity, means over the manipulated layers in its logarithm."""
    sql = f"""SELECT label, run, kind, strength, list(DISTINCT layer ORDER BY layer)::VARCHAR AS layers,
            100 * (exp(avg(in_nats(degradation))) - 1) AS degradation, 100 * (exp(avg(in_nats(low))) - 1) AS low,
            100 * (exp(avg(in_nats(high))) - 1) AS high
        FROM manipulations JOIN ({perplexity_scale.MODELS}) USING (run)
        GROUP BY label, place, run, kind, strength
        ORDER BY place, list_position(manipulation_kinds(), kind), kind, strength"""
    return connection.execute(sql).df()


def draw(table: style.Table, connection: style.Connection) -> style.Figure:
    figure, stacks = panels.stacked(table, table["label"], (1,), height=4.2, rest=0.9)
    for mine, (axes,) in stacks:
        axes.axhline(0, color="#222222", linewidth=0.8)
        for kind, (_, colour, marker) in KINDS.items():
            look = {"color": colour, "marker": marker, "markersize": 4.5, "linewidth": 1.3}
            rows = mine[mine["kind"] == kind]
            perplexity_scale.draw_changes(axes, rows, "strength", elinewidth=0.8, capsize=2, **look)
        tenth = mine[(mine["kind"] == "scale") & ((mine["strength"] - 0.1).abs() < 1e-9)]
        ring = {"s": 110, "facecolors": "none", "edgecolors": "#222222", "zorder": 4}
        axes.scatter(tenth["strength"], tenth["degradation"], **ring)
        strengths = sorted(mine["strength"].unique())
        axes.set_xscale("log")
        axes.minorticks_off()
        axes.set_xticks(strengths, [f"{strength:g}" for strength in strengths], rotation=45)
        perplexity_scale.percent_scale(axes, table["low"].min(), table["high"].max())
        panels.label_stack([axes], "Rise of perplexity")
        axes.set_xlabel("Share of the way")
        shown = mine["layers"].iloc[0].strip("[]")
        axes.set_title(f"{axes.get_title(loc='left')}\n(layer{'s' if ',' in shown else ''} {shown})", fontsize="medium")
    shown = [KINDS[kind] for kind in KINDS if (table["kind"] == kind).any()]
    return perplexity_scale.finished(figure, connection, style.looks(shown, markersize=5, linewidth=1.3), columns=3)
