"""What the figures of single tokens share: one text, its tokens on the axis, a map a model."""

from __future__ import annotations

from typing import TYPE_CHECKING

import duckdb

from perlayer.report.figures import style
from perlayer.report.figures.panels import UNDISSECTED, is_any

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.colors import Normalize
    from matplotlib.figure import Figure
    from matplotlib.image import AxesImage

LONGEST = 9  # characters of a token on the axis
SIGNS = {" ": "\N{OPEN BOX}", "\n": "\N{DOWNWARDS ARROW WITH CORNER LEFTWARDS}", "\t": "\N{RIGHTWARDS ARROW}"}


def token_rows(connection: duckdb.DuckDBPyConnection, column: str) -> pd.DataFrame:
    """One row a setup, token and depth that has a number in `column` of view token_effects, of one text.

    Setups are those of the recipe's design and depth, by their run of the lowest seed; the text is the first of those
    with the most tokens that the answer sees. `until` is as in view token_depths, null where that has none.

    Args:
        column: erasure or attribution.
    """
    return connection.execute(
        f"""WITH models AS (
            SELECT run, label, place FROM dissected_runs WHERE run = lead AND full_depth AND residual = 'sandwich'
        ),
        chosen AS (
            SELECT text FROM token_effects JOIN models USING (run) WHERE {column} <> 0
            GROUP BY text ORDER BY count(DISTINCT position) DESC, text LIMIT 1
        )
        SELECT label, effects.run, effects.text, position, effects.token, layer, {column}, until
        FROM token_effects AS effects JOIN models USING (run) JOIN chosen USING (text)
        LEFT JOIN (SELECT run, text, position, until FROM token_depths WHERE measure = '{column}')
            USING (run, text, position)
        WHERE {column} IS NOT NULL
        ORDER BY models.place, position, layer"""
    ).df()


def nothing_seen(connection: duckdb.DuckDBPyConnection) -> str:
    """Why there are no tokens to draw."""
    if not is_any(connection, "dissected_runs"):
        return UNDISSECTED
    return (
        "No token has been looked at alone yet in a model of the recipe's own design and depth; "
        "recipes.SIZE.depth.texts says in how many texts that is done."
    )


def draw_maps(
    table: pd.DataFrame, column: str, norm: Normalize, colours: str, height: float
) -> tuple[Figure, AxesImage]:
    """A figure of the maps of all models, one above the other, and one of its images, for the scale.

    Args:
        height: of one map, inches.
    """
    labels = list(dict.fromkeys(table["label"]))
    figure = style.new_figure(10.5, height * len(labels) + 1.1)
    maps = figure.subplots(len(labels), 1, sharex=True, squeeze=False)[:, 0]
    for axes, label in zip(maps, labels):
        image = _draw_map(axes, table[table["label"] == label], column, norm, colours)
    _token_ticks(maps[-1], table)
    return figure, image


def _draw_map(axes: Axes, table: pd.DataFrame, column: str, norm: Normalize, colours: str) -> AxesImage:
    """The map of one model, depth upwards; a mark at each token says until which depth it matters."""
    wide = table.pivot_table(index="layer", columns="position", values=column, dropna=False)
    layers, positions = wide.index, wide.columns
    edges = (positions[0] - 0.5, positions[-1] + 0.5, layers[0] - 0.5, layers[-1] + 0.5)
    axes.grid(False)
    look = {"cmap": colours, "norm": norm, "aspect": "auto", "interpolation": "nearest", "origin": "lower"}
    image = axes.imshow(wide, extent=edges, **look)
    marks = table.dropna(subset="until").drop_duplicates("position")
    left, right = marks["position"] - 0.5, marks["position"] + 0.5
    axes.hlines(marks["until"] + 0.5, left, right, color="#222222", linewidth=1.3, path_effects=style.halo())
    axes.set(ylabel="Layer", yticks=layers[:: -(-len(layers) // 7)])
    axes.set_title(table["label"].iloc[0], fontsize="medium")
    return image


def _token_ticks(axes: Axes, table: pd.DataFrame) -> None:
    """What the tokens say, on the x axis."""
    tokens = table.drop_duplicates("position").sort_values("position")
    names = [_shown(token) for token in tokens["token"].fillna("")]
    axes.set_xticks(tokens["position"], names, rotation=90, fontsize=7, parse_math=False)
    axes.tick_params(axis="x", length=2, pad=2)


def _shown(token: str) -> str:
    for sign, shown in SIGNS.items():
        token = token.replace(sign, shown)
    return token if len(token) <= LONGEST else token[: LONGEST - 1] + "\N{HORIZONTAL ELLIPSIS}"
