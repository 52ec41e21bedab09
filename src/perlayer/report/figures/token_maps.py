"""What the figures of single tokens share: one text, its tokens on the axis, a map a model."""

from typing import Any

from perlayer.report.figures import panels, style

UNSEEN = (
    "No token has been looked at alone yet in a model of the recipe's own design and depth; "
    "recipes.SIZE.depth.texts says in how many texts that is done."
)
EMPTY = {"dissected_runs": UNSEEN, "": panels.UNDISSECTED}
LONGEST = 9  # characters of a token on the axis
SIGNS = {" ": "\N{OPEN BOX}", "\n": "\N{DOWNWARDS ARROW WITH CORNER LEFTWARDS}", "\t": "\N{RIGHTWARDS ARROW}"}


def token_rows(connection: style.Connection, column: str) -> style.Table:
    """One row a setup, token and depth that has a number in `column` of view token_effects, of one text.

    Setups are those of the recipe's design and depth, by their run of the lowest seed; the text is the first of those
    with the most tokens that the answer sees. `until` is as in view token_depths, null where that has none.

    Args:
        column: erasure or attribution.
    """
    sql = f"""WITH models AS (
            SELECT run, label, place FROM dissected_runs
            WHERE run = representative AND full_depth AND residual = 'sandwich'
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
    return connection.execute(sql).df()


def draw_maps(
    table: style.Table, column: str, norm: Any, colours: str, height: float
) -> tuple[style.Figure, style.AxesImage]:
    """A figure of the maps of all models, one above the other, and one of its images, for the scale.

    Args:
        height: of one map, inches.
    """
    labels = list(dict.fromkeys(table["label"]))
    figure = style.new_figure(10.5, height * len(labels) + 1.1)
    maps = figure.subplots(len(labels), 1, sharex=True, squeeze=False)[:, 0]
    for axes, label in zip(maps, labels):
        mine = table[table["label"] == label]
        wide = mine.pivot_table(index="layer", columns="position", values=column, dropna=False)
        image = style.draw_map(axes, wide, cmap=colours, norm=norm)
        marks = mine.dropna(subset="until").drop_duplicates("position")  # until which depth a token matters
        left, right = marks["position"] - 0.5, marks["position"] + 0.5
        axes.hlines(marks["until"] + 0.5, left, right, color="#222222", linewidth=1.3, path_effects=style.halo())
        axes.set(ylabel="Layer", yticks=style.some(wide.index, 7))
        axes.set_title(label, fontsize="medium")
    tokens = table.drop_duplicates("position").sort_values("position")
    names = [_shown(token) for token in tokens["token"].fillna("")]
    axes.set_xticks(tokens["position"], names, rotation=90, fontsize=7, parse_math=False)
    axes.tick_params(axis="x", length=2, pad=2)
    return figure, image


def _shown(token: str) -> str:
    for sign, shown in SIGNS.items():
        token = token.replace(sign, shown)
    return token if len(token) <= LONGEST else token[: LONGEST - 1] + "\N{HORIZONTAL ELLIPSIS}"
