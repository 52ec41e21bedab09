"""What every layer and sublayer adds to the residual stream, and in which direction."""

from perlayer.report.figures import panels, style

TITLE = "What every layer adds to the residual stream"
CAPTION = (
    "One column a setup or residual design, by its run of the lowest seed, or a published model; means over the tokens "
    "of held-out text. Above: the length of what a layer, its attention or its MLP adds over that of the residual it "
    "is added to; bars are cut at 1.5, as in the source, and those of whole layers say where they end. Below: the "
    "cosine between the two; above 0 the residual is amplified, below 0 something is erased."
)
EMPTY = panels.UNDISSECTED
MOST = 1.5
WIDTHS = {"layer": (0.86, 0.0), "attention": (0.36, -0.2), "mlp": (0.36, 0.2)}  # of the bars, and where they stand


def data(connection: style.Connection) -> style.Table:
    """One row a model, layer and part of it."""
    sql = f"""SELECT label, run, layer, coalesce(sublayer, 'layer') AS part, relative_contribution,
            relative_contribution_p95, cosine, relative_contribution_without_first, cosine_without_first
        FROM contributions JOIN ({panels.MODELS}) USING (run) WHERE layer > 0
        ORDER BY place, layer, list_position(['layer', 'attention', 'mlp'], part)"""
    return connection.execute(sql).df()


def draw(table: style.Table, connection: style.Connection) -> style.Figure:
    figure, stacks = panels.stacked(table, table["label"], (1.25, 1), height=3.7)
    reach = 1.1 * table["cosine"].abs().max()
    for mine, (bars, lines) in stacks:
        lines.axhline(0, color="#222222", linewidth=0.8)
        for part, (_, colour, marker) in panels.PARTS.items():
            rows = mine[mine["part"] == part]
            _draw_bars(bars, rows, part, colour)
            look = style.marked(colour, marker, width=3 if part == "layer" else 1.2)
            lines.plot(rows["layer"], rows["cosine"], **look)
        bars.set_ylim(0, 1.2 * MOST)
        bars.grid(False, axis="x")
        lines.set_ylim(-reach, reach)
        for axes in (bars, lines):
            panels.depth_axis(axes, mine["layer"])
        panels.label_stack([bars, lines], "Relative contribution", "Cosine")
    looks = {
        name: {"color": colour, "marker": marker, "linewidth": 4 if part == "layer" else 1.5}
        for part, (name, colour, marker) in panels.PARTS.items()
    }
    return panels.finished(figure, connection, looks)


def _draw_bars(axes: style.Axes, table: style.Table, part: str, colour: str) -> None:
    width, shift = WIDTHS[part]
    heights = table["relative_contribution"].clip(upper=MOST)
    axes.bar(table["layer"] + shift, heights, width, color=colour, linewidth=0)
    if part == "layer":  # sublayers that cancel each other out reach above it
        axes.hlines(
            heights, table["layer"] - width / 2, table["layer"] + width / 2, color="#555555", linewidth=1.6, zorder=3
        )
        for row in table[table["relative_contribution"] > MOST].itertuples():
            words = f"{row.relative_contribution:.3g}"
            style.write(axes, words, (row.layer, MOST), (0, 3), ha="center", fontsize="small")
