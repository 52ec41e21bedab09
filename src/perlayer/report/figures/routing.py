"""By which weights the sublayers of finished models read and write, where the residual design routes."""

from perlayer.report.figures import style

TITLE = "How residual designs route"
CAPTION = (
    "Means over the tokens of held-out text. Designs with several streams, a row each: by which weight each sublayer "
    "reads and writes each stream, and the product of the mixing matrices from the first sublayer on: its forward gain "
    "(greatest |row sum|), backward gain (greatest |column sum|) and least column sum; dotted: both gains at the token "
    "where they are greatest. A doubly stochastic product has 1 everywhere. Designs that attend over depth: the weight "
    "that each sublayer (row, the first at the top, the head at the bottom) gives each source (column); source 0 is "
    "the embedding, the others are the outputs of sublayers or of blocks, the running block last. Colours there follow "
    "the square root of the weight, since the first reader has one source alone."
)
EMPTY = "No finished model has shown yet how it routes."
GAINS = {
    "forward_gain": ("forward gain", "#0072B2", "o", "greatest_forward_gain"),
    "backward_gain": ("backward gain", "#D55E00", "D", "greatest_backward_gain"),
    "least_column_sum": ("least column sum", "#009E73", "^", None),
}
MAPS = 3  # of attention over depth, side by side
ABSENT = "SELECT run FROM recipe_runs WHERE routing AND run NOT IN (SELECT run FROM routing) ORDER BY run"


def data(connection: style.Connection) -> style.Table:
    """One row a run, sublayer and stream or source (`other_layer`), and one without for what belongs to none.

    `name` is the design's, above the run's where several of one design are here.
    """
    sql = """WITH named AS (
            SELECT run, residual, readouts, seed, design_name(residual) || CASE
                WHEN count(*) OVER (PARTITION BY residual) > 1 THEN chr(10) || run ELSE '' END AS name
            FROM recipe_runs WHERE run IN (SELECT run FROM routing)
        )
        SELECT residual, name, routing.* FROM routing JOIN named USING (run)
        ORDER BY design_place(residual), residual, readouts, seed, run, place, other_layer NULLS FIRST"""
    return connection.execute(sql).df()


def draw(table: style.Table, connection: style.Connection) -> style.Figure:
    streams = _runs(table, ["read", "write", "forward_gain"])
    sources = _runs(table, ["source_weight"])
    parts = [(2.6 * len(streams), _draw_streams, streams), (3.4 * -(-len(sources) // MAPS), _draw_sources, sources)]
    heights, draws, runs = zip(*(part for part in parts if part[2]))
    figure = style.new_figure(10.5, sum(heights) + 0.7)
    subfigures = figure.subfigures(len(heights), 1, height_ratios=heights, squeeze=False)[:, 0]
    for subfigure, draw_part, some in zip(subfigures, draws, runs):
        draw_part(subfigure, [table[table["run"] == run] for run in some])
    return style.noted(figure, style.absent(connection, ABSENT, "Not drawn, not dissected yet"))


def _runs(table: style.Table, columns: list[str]) -> list[str]:
    """The runs that have something in some of the columns."""
    return list(dict.fromkeys(table[table[columns].notna().any(axis=1)]["run"]))


def _draw_streams(figure: style.SubFigure, tables: list[style.Table]) -> None:
    grid = figure.subplots(len(tables), 3, squeeze=False, width_ratios=[1, 1, 1.15])
    for (*maps, gains), mine in zip(grid, tables):
        weights = mine.dropna(subset="other_layer")
        for axes, column in zip(maps, ("read", "write")):
            axes.set_title(f"{mine['name'].iloc[0]}\nread" if column == "read" else column)
            if not weights[column].notna().any():
                style.say(axes, "No such weights.")
                continue
            image = _draw_weights(axes, weights.dropna(subset=column), "other_layer", "place", column)
            figure.colorbar(image, ax=axes, shrink=0.9)
            _name_sublayers(axes, mine)
            axes.set_yticks(style.some(weights["other_layer"], 8))
            axes.set_ylabel("Stream")
        _draw_gains(gains, mine[mine["other_layer"].isna()])
    handles = max((axes.get_legend_handles_labels()[0] for axes in grid[:, 2]), key=len)  # none without a product
    if handles:
        handles += style.handles({"at the greatest token": {"color": "#555555", "linestyle": ":", "linewidth": 1}})
        figure.legend(handles=handles, loc="outside upper right", ncols=len(handles), frameon=False)


def _draw_gains(axes: style.Axes, mine: style.Table) -> None:
    axes.set_title("product of mixing matrices")
    if not mine["forward_gain"].notna().any():
        style.say(axes, "No mixing matrices.")
        return
    axes.axhline(1, color="#222222", linewidth=0.8)
    for column, (label, colour, marker, greatest) in GAINS.items():
        axes.plot(mine["place"], mine[column], label=label, **style.marked(colour, marker, 3.5))
        if greatest:
            axes.plot(mine["place"], mine[greatest], linestyle=":", color=colour, linewidth=1)
    values = mine[[*GAINS, *(greatest for *_, greatest in GAINS.values() if greatest)]].stack()
    if values.min() > 0 and values.max() > 10 * values.min():
        style.log_scale(axes, (1, 2, 5))
    _name_sublayers(axes, mine)


def _draw_sources(figure: style.SubFigure, tables: list[style.Table]) -> None:
    rows = -(-len(tables) // MAPS)
    grid = figure.subplots(rows, MAPS if rows > 1 else len(tables), squeeze=False).flatten()
    for axes, table in zip(grid, tables):
        mine = table.dropna(subset="source_weight")
        image = _draw_weights(axes, mine, "place", "other_layer", "source_weight", power=0.5)
        axes.invert_yaxis()
        axes.set_title(f"{mine['name'].iloc[0]}\nattention over depth")
        figure.colorbar(image, ax=axes, shrink=0.9)
        axes.set_xticks(style.some(mine["other_layer"], 8))
        axes.set_xlabel("Source")
        readers = mine[mine["sublayer"] != "mlp"].drop_duplicates("place")
        named = [(row.place, "head" if row.sublayer == "head" else str(row.layer)) for row in readers.itertuples()]
        step = -(-len(named) // 13)
        axes.set_yticks(*zip(*named[:-1:step], named[-1]))  # the head always
        axes.set_ylabel("Reader (layer)" if axes.get_subplotspec().is_first_col() else "")
    for axes in grid[len(tables) :]:
        axes.set_axis_off()


def _draw_weights(
    axes: style.Axes, mine: style.Table, row: str, column: str, value: str, power: float = 1.0
) -> style.AxesImage:
    """Weights, or a power of them, as colours."""
    from matplotlib.colors import PowerNorm

    low, high = mine[value].min(), mine[value].max()
    colours = {"cmap": "viridis", "norm": PowerNorm(power, 0, high)}
    if low < 0:
        colours = {"cmap": "RdBu", "vmin": -max(-low, high), "vmax": max(-low, high)}
    return style.draw_map(axes, mine.pivot_table(index=row, columns=column, values=value), **colours)


def _name_sublayers(axes: style.Axes, mine: style.Table) -> None:
    """Sublayers on the x axis, each layer named at its attention."""
    firsts = mine[mine["sublayer"] == "attention"].drop_duplicates("place")
    firsts = firsts[:: -(-len(firsts) // 12)]
    axes.set_xticks(firsts["place"], [str(layer) for layer in firsts["layer"]])
    axes.set_xlabel("Sublayer (layer at its attention)")
