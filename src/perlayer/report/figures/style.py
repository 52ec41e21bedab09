"""What all figures share: colours, labels at the lines, and files that are the same bytes every time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING, Any

from perlayer.catalogue import PUBLISHED_DESIGNS
from perlayer.errors import UserError
from perlayer.store import replaced

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection as Connection
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure
    from matplotlib.image import AxesImage
    from matplotlib.lines import Line2D
    from pandas import DataFrame as Table

    Looks = Mapping[str, Mapping[str, Any]]  # how something is drawn, by what it is called
else:  # names for annotations, which import nothing
    Axes = AxesImage = Connection = Figure = Looks = SubFigure = Table = Any

# Colours of Okabe and Ito, which colour-blind readers tell apart; markers for print without colour.
SETUPS = {
    "depth_matched": ("depth-matched baselines", "#222222", "s"),
    "baseline": ("baseline", "#222222", "s"),
    "probes": ("probes", "#0072B2", "o"),
    "separate": ("separate heads", "#D55E00", "D"),
    "shared": ("shared head", "#009E73", "^"),
    "shared_stop_gradient": ("shared, stop-gradient", "#AA4499", "v"),
}
TRAINED = ("probes", "separate", "shared", "shared_stop_gradient")
# What reads a finished model: in the order in which it is drawn.
READINGS = {
    "logit_lens": ("logit lens", "#E69F00", "o", ":"),
    "tuned_lens": ("tuned lens", "#56B4E9", "s", "--"),
    "trained": ("readout of training", "#222222", "D", "-"),
    "retrained": ("the same retrained", "#CC79A7", "^", "-"),
}
PNG_DPI = 160

# The runs that the figures show: the recipe's own design and depth, without algorithms.
SETUP_RUNS = "SELECT run, representative, seed, ema, layers, setup FROM setups WHERE residual = 'sandwich'"
# Depth-matched baselines of every layer that the recipe has.
DEPTH_MATCHED = """
    SELECT run, layers, loss FROM depth_matched
    WHERE residual = 'sandwich' AND layers <= (SELECT max(layers) FROM recipe_runs WHERE full_depth)
"""
# Means over the 50 steps that end at each, from step 100; shorter in proportion on runs under 1000 steps.
SMOOTH = """
    SELECT run, layer, readout, step, tokens, backbone_flops, loss
    FROM (
        SELECT curves.run, layer, readout, step, curves.tokens, backbone_flops,
            least(50, ceil(steps / 20)) AS width, least(100, ceil(steps / 10)) AS first, steps,
            avg(loss) OVER (
                PARTITION BY curves.run, layer, readout ORDER BY step
                ROWS BETWEEN CAST(least(50, ceil(steps / 20)) - 1 AS BIGINT) PRECEDING AND CURRENT ROW
            ) AS loss
        FROM curves JOIN recipe_runs AS runs ON runs.run = curves.run
    )
    WHERE step >= greatest(width, first) AND (step = steps OR step % greatest(1, steps // 200) = 0)
"""
# Every setup's representative run against the depth-matched baseline; the last layer as a mean over seeds.
EFFECTS = f"""
    SELECT setup, gap.layer, CASE WHEN gap.layer = layers THEN coalesce(cost, gap) ELSE gap END AS gap
    FROM gap JOIN ({SETUP_RUNS}) AS setups USING (run)
    LEFT JOIN costs ON costs.run = gap.run
    WHERE gap.run = representative AND setup <> 'baseline'
    ORDER BY ALL
"""
# Those of these runs that are not here, and of each residual design the runs, plain or with separate heads.
ABSENT = """
    SELECT run FROM recipe_runs WHERE NOT present AND residual = 'sandwich' AND standard
        AND (full_depth OR readouts IN ('none', 'probes'))
        AND layers <= (SELECT max(layers) FROM recipe_runs WHERE full_depth)
    ORDER BY run
"""
ABSENT_OF_DESIGNS = """
    SELECT min_by(run, row(seed, run)) AS run FROM recipe_runs
    WHERE full_depth AND standard AND readouts IN ('none', 'probes', 'separate')
    GROUP BY residual, readouts = 'separate' HAVING NOT bool_or(present)
    ORDER BY design_place(residual), residual, readouts = 'separate'
"""


def new_figure(width: float, height: float) -> Figure:
    """An empty figure of `width` by `height` inches that belongs to no window and no global state."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


@contextmanager
def theme() -> Iterator[None]:
    """A context in which figures are drawn and saved; what the user's matplotlibrc says does not count.

    Raises:
        UserError: there is one in the working folder that matplotlib cannot read.
    """
    try:
        import matplotlib
    except UnicodeDecodeError:
        raise UserError("matplotlibrc: expected UTF-8, found something else; nothing here needs that file") from None
    import seaborn

    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(
            {
                **seaborn.axes_style("ticks"),
                **seaborn.plotting_context("paper", font_scale=1.1),
                "font.family": "sans-serif",
                "font.sans-serif": ["DejaVu Sans"],
                "axes.spines.top": False,
                "axes.spines.right": False,
                "axes.titlelocation": "left",
                "axes.titleweight": "bold",
                "axes.grid": True,
                "grid.color": "#e6e6e6",
                "grid.linewidth": 0.6,
                "svg.hashsalt": "perlayer",
                "svg.fonttype": "path",
            }
        )
        yield


def marked(colour: str, marker: str, size: float = 4, width: float = 1.3, dashes: str = "-") -> dict[str, Any]:
    """How a line with markers without edges is drawn."""
    line = {"color": colour, "linestyle": dashes, "linewidth": width}
    return {**line, "marker": marker, "markersize": size, "markeredgewidth": 0}


def in_turn(names: Iterable[str], colours: Iterable[str], markers: Iterable[str]) -> dict[str, dict[str, str]]:
    """A colour and a marker for each name."""
    looks = zip(cycle(colours), cycle(markers))
    return {name: {"color": colour, "marker": marker} for name, (colour, marker) in zip(dict.fromkeys(names), looks)}


def draw_line(axes: Axes, table: Table, x: str, y: str, **look: Any) -> None:
    """A line through the means of `y` at each `x`, by seaborn; `look` as it takes it."""
    import seaborn

    seaborn.lineplot(table, x=x, y=y, ax=axes, errorbar=None, legend=False, **look)


def draw_map(axes: Axes, wide: Table, origin: str = "lower", **colours: Any) -> AxesImage:
    """Values as colours over the whole numbers that name the rows and the columns."""
    left, right = wide.columns.min() - 0.5, wide.columns.max() + 0.5
    ends = (wide.index.min() - 0.5, wide.index.max() + 0.5)
    extent = (left, right, *(ends if origin == "lower" else ends[::-1]))
    axes.grid(False)
    return axes.imshow(wide, origin=origin, aspect="auto", extent=extent, **{"interpolation": "nearest", **colours})


def looks(rows: Iterable[tuple], **common: Any) -> dict[str, dict[str, Any]]:
    """How things are drawn of which each row has label, colour and marker first."""
    return {label: {"color": colour, "marker": marker, **common} for label, colour, marker, *_ in rows}


def handles(looks: Looks) -> list[Line2D]:
    """Entries of a legend: what stands there, and how it is drawn."""
    from matplotlib.lines import Line2D

    return [Line2D([], [], label=label, **look) for label, look in looks.items()]


def legend(figure: Figure | SubFigure, looks: Looks, columns: int = 6, side: str = "left") -> None:
    """A legend above all axes, in so many columns at most; none without looks."""
    if looks:
        place = {"loc": f"outside upper {side}", "ncols": min(len(looks), columns)}
        figure.legend(handles=handles(looks), frameon=False, **place)


def label_lines(axes: Axes, labels: Iterable[tuple[float, float, str, str]], side: str = "right") -> None:
    """Name lines where they end, moving labels apart until none overlap.

    Args:
        labels: x, y (data), text and colour of each.
        side: on which side of the point the text stands, right or left.
    """
    import matplotlib

    figure = axes.get_figure()
    sign, align, anchor = (1, "left", (0, 0.5)) if side == "right" else (-1, "right", (1, 0.5))
    height = 1.25 * matplotlib.rcParams["font.size"] * figure.dpi / 72
    figure.draw_without_rendering()  # settles the scales
    places = sorted((axes.transData.transform((x, y))[1], x, y, text, colour) for x, y, text, colour in labels)
    heights = spread([place[0] for place in places], height)
    for wanted, (at, x, y, text, colour) in zip(heights, places):
        arrow = {"arrowstyle": "-", "color": colour, "linewidth": 0.5, "shrinkA": 0, "shrinkB": 3, "relpos": anchor}
        look = {"ha": align, "va": "center", "color": colour, "arrowprops": arrow, "annotation_clip": False}
        write(axes, text, (x, y), (sign * 14, (wanted - at) * 72 / figure.dpi), path_effects=halo(), **look)


def write(axes: Axes, text: str, point: tuple[float, float], offset: tuple[float, float], **look: Any) -> None:
    """Words beside a point, `offset` points of a typographer away from it."""
    axes.annotate(text, point, xytext=offset, textcoords="offset points", **look)


def halo() -> list:
    """A white edge around words that may cross a line."""
    from matplotlib.patheffects import withStroke

    return [withStroke(linewidth=2.5, foreground="white")]


def minus(text: str) -> str:
    """Numbers with the minus sign that the axes have."""
    return text.replace("-", "\N{MINUS SIGN}")


def spread(places: list[float], least: float) -> list[float]:
    """Move sorted `places` as little as needed so that neighbours are `least` apart.

    Neighbours that are too close become a block around the middle of what they wanted, as in isotonic regression.
    """
    blocks: list[list[float]] = []  # [sum of wanted starts, members]
    for number, place in enumerate(places):
        blocks.append([place - number * least, 1])
        while len(blocks) > 1 and blocks[-2][0] / blocks[-2][1] > blocks[-1][0] / blocks[-1][1]:
            total, members = blocks.pop()
            blocks[-1][0] += total
            blocks[-1][1] += members
    starts = [total / members for total, members in blocks for _ in range(int(members))]
    return [start + number * least for number, start in enumerate(starts)]


def token_ticks(axes: Axes) -> None:
    """Training tokens on the x axis: 2 M for two million."""
    from matplotlib.ticker import EngFormatter

    axes.xaxis.set_major_formatter(EngFormatter())
    axes.set_xlabel("Training tokens")


def layer_ticks(axes: Axes, layers: Iterable[int], room: float = 0.0, ticks: int = 12) -> None:
    """Whole layers on the x axis, about `ticks` of them, with `room` before the first, as a share of the width."""
    layers = sorted({int(layer) for layer in layers})
    width = max(layers[-1] - layers[0], 1)
    left = layers[0] - 0.06 * width - room / (1 - room) * width
    axes.set_xlim(left, layers[-1] + 0.06 * width)
    shown = some(layers, ticks)
    axes.set_xticks(shown, [str(layer) for layer in shown])
    axes.set_xlabel("Layer")


def some(places: Iterable[float], most: int) -> list[int]:
    """Of whole numbers every so many, `most` at most."""
    places = sorted({int(place) for place in places})
    return places[:: -(-len(places) // most)]


def difference_scale(axes: Axes, least: float, greatest: float, linear: float = 0.01) -> None:
    """A y axis that shows small differences and large ones of both signs: up to `linear` it is, beyond logarithmic."""
    from matplotlib.ticker import SymmetricalLogLocator

    axes.set_yscale("symlog", linthresh=linear, linscale=0.6)
    axes.yaxis.set_major_locator(SymmetricalLogLocator(base=10, linthresh=linear, subs=[1, 2, 5]))
    signed_ticks(axes)
    axes.set_ylim(min(1.5 * least, -1.5 * linear), max(1.5 * greatest, 1.5 * linear))


def signed_ticks(axes: Axes) -> None:
    """Differences on the y axis, with their signs."""
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:+g}" if value else "0")


def log_scale(axes: Axes, subs: tuple[float, ...], minor: bool = True) -> None:
    """A logarithmic y axis with plain numbers at `subs` times powers of ten, and ticks between them if `minor`."""
    from matplotlib.ticker import LogLocator

    axes.set_yscale("log")
    axes.yaxis.set_major_locator(LogLocator(subs=subs))
    axes.yaxis.set_major_formatter("{x:g}")
    axes.yaxis.set_minor_formatter("")
    if not minor:
        axes.yaxis.get_minor_locator().set_params(subs=[])


def depth_ticks(axes: Axes, depths: Iterable[int]) -> None:
    """Numbers of layers on a logarithmic x axis."""
    axes.set_xscale("log", base=2)
    axes.set_xticks([], minor=True)
    axes.set_xticks(depths, [str(depth) for depth in depths])


def layer_colours(layers: Iterable[int]) -> dict[int, tuple[float, float, float]]:
    """A colour a layer, from dark to light with depth."""
    import seaborn

    layers = sorted(set(layers))
    return dict(zip(layers, seaborn.color_palette("viridis", len(layers) + 1)[:-1]))


def layer_names(layers: Iterable[int]) -> dict[int, str]:
    """What stands at the ends of the lines of layers: all of few layers, some of many, whose ends crowd."""
    layers = sorted(set(layers))
    named = [layer for layer in layers if len(layers) <= 8 or layer in (1, 2, 4, 8, 16, 32, layers[-1])]
    return {layer: f"layer {layer:.0f}" if layer == layers[0] else f"{layer:.0f}" for layer in named}


def lowest_seeds(table: str, prefer: str = "setup") -> str:
    """SQL: of each setup the run of the lowest seed of those in a table, and whose backbone it is.

    Probes leave that of the baseline as it is, and stand for it.

    Args:
        prefer: which of several runs of a seed comes first.
    """
    return f"""
        SELECT run, backbone FROM (
            FROM setups SELECT *, CASE WHEN setup = 'probes' THEN 'baseline' ELSE setup END AS backbone
        )
        WHERE residual = 'sandwich' AND run IN (SELECT run FROM {table})
        QUALIFY row_number() OVER (PARTITION BY backbone ORDER BY seed, ema, {prefer}, setup, run) = 1
    """


def by_setup_and_layer(curves: Table, setups: Iterable[str]) -> Table:
    """By step and tokens a column SETUP_K for the loss of layer K."""
    import pandas as pd

    index = ["step", "tokens"]
    parts = [
        curves[curves["setup"] == setup]
        .pivot_table(index=index, columns="layer", values="loss")
        .add_prefix(f"{setup}_")
        for setup in setups
    ]
    return pd.concat(parts, axis=1)


def absent(connection: Connection, sql: str, said: str = "Not drawn, no results yet") -> str:
    """A note of what the first column of a query names; empty without any."""
    return listed(said, [name for name, *_ in connection.execute(sql).fetchall()])


def absent_setups(said: str, wanted: Iterable[str], there: Iterable[str] = ()) -> str:
    """A note of the setups that are not there; empty when all are."""
    return listed(said, [SETUPS[setup][0] for setup in wanted if setup not in set(there)])


def listed(said: str, names: list[str]) -> str:
    """What is said of some names; nothing without any."""
    return f"{said}: {', '.join(names)}" if names else ""


def absent_designs(connection: Connection) -> str:
    """A note of the published residual designs that no run names; empty without any."""
    named = {design for (design,) in connection.execute("SELECT DISTINCT design FROM recipe_runs").fetchall()}
    return listed("Named by no run", [design for design in PUBLISHED_DESIGNS.values() if design not in named])


def noted(figure: Figure | SubFigure, *notes: str) -> Figure | SubFigure:
    """The figure with a small note under it, of those that say something."""
    if text := ". ".join(filter(None, notes)):
        figure.supxlabel(text, fontsize="small", color="#555555", ha="left", x=0.01, wrap=True)
    return figure


def small_multiples(
    figure: Figure | SubFigure, table: Table, column: str, columns: int
) -> list[tuple[str, Axes, Table]]:
    """Each name of a column above axes of a shared y axis, in their order, at most `columns` in a row, and its rows."""
    names = list(dict.fromkeys(table[column]))
    columns = min(columns, len(names))
    grid = figure.subplots(-(-len(names) // columns), columns, sharey=True, squeeze=False).flatten()
    for axes, name in zip(grid, names):
        axes.set_title(name, fontsize="medium")
    for axes in grid[len(names) :]:
        axes.set_axis_off()
    return [(name, axes, table[table[column] == name]) for name, axes in zip(names, grid)]


def outer_labels(axes: Axes, x: str, y: str) -> None:
    """Names of the axes at the left and lower edges of a grid alone."""
    place = axes.get_subplotspec()
    axes.set(xlabel=x if place.is_last_row() else "", ylabel=y if place.is_first_col() else "")


def say(axes: Axes, sentence: str) -> None:
    """Axes that say why there is nothing to see."""
    axes.set_axis_off()
    axes.text(0.5, 0.5, sentence, ha="center", va="center", color="#555555", transform=axes.transAxes)


def empty_figure(sentence: str) -> Figure:
    """A figure that says why there is nothing to see."""
    figure = new_figure(7, 1.6)
    figure.set_layout_engine("none")
    figure.text(0.5, 0.5, sentence, ha="center", va="center", color="#555555", wrap=True)
    return figure


def save(figure: Figure, data: Table, folder: Path, name: str) -> None:
    """Write NAME.png, NAME.svg and NAME.csv, without dates or versions in them."""
    _settle(figure)
    with replaced(folder / f"{name}.png") as path:
        figure.savefig(path, dpi=PNG_DPI, metadata={"Software": None})
    with replaced(folder / f"{name}.svg") as path:
        figure.savefig(path, metadata={"Date": None, "Creator": None})
    with replaced(folder / f"{name}.csv") as path:
        data.to_csv(path, index=False, float_format="%.7g", lineterminator="\n")


def _settle(figure: Figure) -> None:
    """Keep the axes, and figures within the figure, where the layout puts them, to a millionth of the figure.

    Else every file asks for the layout anew, and with many axes the last digits of its solver differ from time to time,
    and the names of clip paths with them.
    """
    from matplotlib.transforms import Bbox

    if engine := figure.get_layout_engine():
        figure.set_dpi(PNG_DPI)  # where letters are as wide as there
        engine.execute(figure)
    figure.set_layout_engine("none")
    for part in figure.subfigs:
        part.bbox_relative.set_points(part.bbox_relative.get_points().round(6))
    for axes in figure.axes:
        axes.set_position(Bbox(axes.get_position().get_points().round(6)))
