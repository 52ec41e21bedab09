"""What all figures share: colours, labels at the lines, and files that are the same bytes every time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from perlayer.catalogue import PUBLISHED_DESIGNS
from perlayer.errors import UserError
from perlayer.store import replaced

if TYPE_CHECKING:
    import duckdb
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure
    from matplotlib.patheffects import withStroke

# Colours of Okabe and Ito, which colour-blind readers tell apart; markers for print without colour.
SETUPS = {
    "ordinary": ("ordinary models", "#222222", "s"),
    "baseline": ("baseline", "#222222", "s"),
    "probes": ("probes", "#0072B2", "o"),
    "separate": ("separate heads", "#D55E00", "D"),
    "shared": ("shared head", "#009E73", "^"),
    "shared_stop_gradient": ("shared, stop-gradient", "#AA4499", "v"),
}
# What reads a finished model: in the order in which it is drawn.
READINGS = {
    "logit_lens": ("logit lens", "#E69F00", "o", ":"),
    "tuned_lens": ("tuned lens", "#56B4E9", "s", "--"),
    "trained": ("readout of training", "#222222", "D", "-"),
    "retrained": ("the same retrained", "#CC79A7", "^", "-"),
}
# Ways of multi-token prediction, in the order in which they are drawn, and the single pairs of runs behind a mean.
WAY_COLOURS = ("#D55E00", "#0072B2", "#009E73", "#AA4499", "#E69F00", "#56B4E9")
WAY_MARKERS = ("D", "^", "v", "s", "P", "X")
PNG_DPI = 160
TRAINED = ("probes", "separate", "shared", "shared_stop_gradient")

# The runs that the figures show: the recipe's own design and depth, without algorithms.
SETUP_RUNS = "SELECT run, lead, seed, ema, layers, setup FROM setups WHERE residual = 'sandwich'"
# Ordinary models of the depth of every layer that the recipe has.
ORDINARY = """
    SELECT run, layers, loss FROM ordinary
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


# Every setup's lead run against the ordinary model of each layer's depth; the last layer as a mean over seeds.
EFFECTS = f"""
    SELECT setup, gap.layer, CASE WHEN gap.layer = layers THEN coalesce(cost, gap) ELSE gap END AS gap
    FROM gap JOIN ({SETUP_RUNS}) AS setups USING (run)
    LEFT JOIN costs ON costs.run = gap.run
    WHERE gap.run = lead AND setup <> 'baseline'
    ORDER BY ALL
"""
# Null without plain runs of several seeds.
FLOOR = "SELECT max(spread) FROM noise_floor WHERE residual = 'sandwich' AND readout = 'head'"


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


def label_lines(axes: Axes, labels: Iterable[tuple[float, float, str, str]], side: str = "right") -> None:
    """Name lines where they end, moving labels apart until none overlap.

    Args:
        labels: x, y (data), text and colour of each.
        side: on which side of the point the text stands, right or left.
    """
    import matplotlib

    figure = axes.get_figure()
    sign, anchor = (1, (0, 0.5)) if side == "right" else (-1, (1, 0.5))
    height = 1.25 * matplotlib.rcParams["font.size"] * figure.dpi / 72
    figure.draw_without_rendering()  # settles the scales
    places = sorted((axes.transData.transform((x, y))[1], x, y, text, colour) for x, y, text, colour in labels)
    heights = spread([place[0] for place in places], height)
    for wanted, (at, x, y, text, colour) in zip(heights, places):
        axes.annotate(
            text,
            (x, y),
            xytext=(sign * 14, (wanted - at) * 72 / figure.dpi),
            textcoords="offset points",
            ha="left" if side == "right" else "right",
            va="center",
            color=colour,
            annotation_clip=False,
            path_effects=halo(),
            arrowprops={
                "arrowstyle": "-",
                "color": colour,
                "linewidth": 0.5,
                "shrinkA": 0,
                "shrinkB": 3,
                "relpos": anchor,
            },
        )


def halo() -> list[withStroke]:
    """A white edge around words that may cross a line."""
    from matplotlib.patheffects import withStroke

    return [withStroke(linewidth=2.5, foreground="white")]


def minus(text: str) -> str:
    """Numbers with the minus sign that the axes have."""
    return text.replace("-", "\N{MINUS SIGN}")


def label_point(axes: Axes, point: tuple[float, float], text: str, colour: object) -> None:
    """Name a point right beside it."""
    place = {"xytext": (4, 0), "textcoords": "offset points", "va": "center", "annotation_clip": False}
    axes.annotate(text, point, color=colour, path_effects=halo(), **place)


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
    step = -(-len(layers) // ticks)
    axes.set_xticks(layers[::step], [str(layer) for layer in layers[::step]])
    axes.set_xlabel("Layer")


def difference_scale(axes: Axes, least: float, greatest: float, floor: float | None) -> None:
    """A y axis that shows small differences and large ones of both signs: linear near 0, logarithmic beyond."""
    from matplotlib.ticker import FuncFormatter, SymmetricalLogLocator

    linear = max(floor or 0.0, 0.01)
    axes.set_yscale("symlog", linthresh=linear, linscale=0.6)
    axes.yaxis.set_major_locator(SymmetricalLogLocator(base=10, linthresh=linear, subs=[1, 2, 5]))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:+g}" if value else "0"))
    axes.set_ylim(min(1.5 * least, -1.5 * linear), max(1.5 * greatest, 1.5 * linear))


def signed_ticks(axes: Axes) -> None:
    """Differences on the y axis, with their signs."""
    from matplotlib.ticker import FuncFormatter

    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:+g}" if value else "0"))


def layer_colours(layers: Iterable[int]) -> dict[int, tuple[float, float, float]]:
    """A colour a layer, from dark to light with depth."""
    import seaborn

    layers = sorted(set(layers))
    return dict(zip(layers, seaborn.color_palette("viridis", len(layers) + 1)[:-1]))


def named_layer(layer: int, layers: Iterable[int]) -> bool:
    """Whether the end of this layer's line is named: all of few layers, some of many, whose ends crowd."""
    layers = list(layers)
    return len(layers) <= 8 or layer in (1, 2, 4, 8, 16, 32, max(layers))


def missing(connection: duckdb.DuckDBPyConnection) -> str:
    """A note of the runs that would be drawn but are not here; empty when all are."""
    absent = connection.execute(
        """SELECT run FROM recipe_runs WHERE NOT present AND residual = 'sandwich' AND standard
            AND (full_depth OR readouts IN ('none', 'probes'))
            AND layers <= (SELECT max(layers) FROM recipe_runs WHERE full_depth)
        ORDER BY run"""
    ).fetchall()
    return "Not drawn, no results yet: " + ", ".join(run for (run,) in absent) if absent else ""


def not_retrained(connection: duckdb.DuckDBPyConnection) -> str:
    """A note of the setups that are beside each other when retrained but are not yet; empty when both are."""
    found = connection.execute("SELECT DISTINCT setup FROM setups JOIN retraining USING (run)").fetchall()
    absent = [SETUPS[setup][0] for setup in ("probes", "separate") if (setup,) not in found]
    return "Not drawn, not retrained yet: " + ", ".join(absent) if absent else ""


def log_scale(axes: Axes, subs: tuple[float, ...], minor: bool = True) -> None:
    """A logarithmic y axis with plain numbers at `subs` times powers of ten, and ticks between them if `minor`."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axes.set_yscale("log")
    axes.yaxis.set_major_locator(LogLocator(subs=subs))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.yaxis.set_minor_formatter(NullFormatter())
    if not minor:
        axes.yaxis.get_minor_locator().set_params(subs=[])


def add_note(figure: Figure, text: str) -> None:
    """A small note under the figure."""
    if text:
        figure.supxlabel(text, fontsize="small", color="#555555", ha="left", x=0.01, wrap=True)


def draw_floor(axes: Axes, connection: duckdb.DuckDBPyConnection, upright: bool = False) -> float | None:
    """A line at zero and a grey band of the noise floor of the last layer around it; returns that floor, if any.

    Upright where differences go from left to right.
    """
    floor = connection.execute(FLOOR).fetchone()[0]
    span, line = (axes.axvspan, axes.axvline) if upright else (axes.axhspan, axes.axhline)
    if floor:
        span(-floor, floor, color="#bbbbbb", alpha=0.4, linewidth=0)
    line(0, color="#222222", linewidth=0.8)
    return floor


def small_multiples(figure: Figure | SubFigure, names: Iterable[str], columns: int) -> dict[str, Axes]:
    """Titled axes of a shared y axis by name, in their order, at most `columns` in a row."""
    names = list(dict.fromkeys(names))
    columns = min(columns, len(names))
    grid = figure.subplots(-(-len(names) // columns), columns, sharey=True, squeeze=False).flatten()
    for axes, name in zip(grid, names):
        axes.set_title(name, fontsize="medium")
    for axes in grid[len(names) :]:
        axes.set_axis_off()
    return dict(zip(names, grid))


def outer_labels(axes: Axes, x: str, y: str) -> None:
    """Names of the axes at the left and lower edges of a grid alone."""
    place = axes.get_subplotspec()
    axes.set(xlabel=x if place.is_last_row() else "", ylabel=y if place.is_first_col() else "")


def absent_designs(connection: duckdb.DuckDBPyConnection) -> str:
    """A note of the runs of residual designs, plain or with separate heads, that are not here; empty when all are."""
    rows = connection.execute(
        """SELECT min_by(run, row(seed, run)) AS run FROM recipe_runs
        WHERE full_depth AND standard AND readouts IN ('none', 'probes', 'separate')
        GROUP BY residual, readouts = 'separate' HAVING NOT bool_or(present)
        ORDER BY design_place(residual), residual, readouts = 'separate'"""
    ).fetchall()
    note = "Not drawn, no results yet: " + ", ".join(run for (run,) in rows) if rows else ""
    return ". ".join(part for part in (note, designs_without_run(connection)) if part)


def designs_without_run(connection: duckdb.DuckDBPyConnection) -> str:
    """A note of the published residual designs that no run names; empty without any."""
    named = {design for (design,) in connection.execute("SELECT DISTINCT design FROM recipe_runs").fetchall()}
    absent = [design for design in PUBLISHED_DESIGNS.values() if design not in named]
    return "Named by no run: " + ", ".join(absent) if absent else ""


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


def save(figure: Figure, data: pd.DataFrame, folder: Path, name: str) -> None:
    """Write NAME.png, NAME.svg and NAME.csv, without dates or versions in them."""
    _settle(figure)
    with replaced(folder / f"{name}.png") as path:
        figure.savefig(path, dpi=PNG_DPI, metadata={"Software": None})
    with replaced(folder / f"{name}.svg") as path:
        figure.savefig(path, metadata={"Date": None, "Creator": None})
    with replaced(folder / f"{name}.csv") as path:
        data.to_csv(path, index=False, float_format="%.7g", lineterminator="\n")


def _settle(figure: Figure) -> None:
    """Keep the axes where the layout puts them, to a millionth of the figure.

    Else every file asks for the layout anew, and with many axes the last digits of its solver differ from time to time,
    and the names of clip paths with them.
    """
    from matplotlib.transforms import Bbox

    if engine := figure.get_layout_engine():
        figure.set_dpi(PNG_DPI)  # where letters are as wide as there
        engine.execute(figure)
    figure.set_layout_engine("none")
    for axes in figure.axes:
        axes.set_position(Bbox(axes.get_position().get_points().round(6)))
