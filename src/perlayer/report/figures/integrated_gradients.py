"""What share of the answer's probability integrated gradients give each token at each depth."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import duckdb

from perlayer.report.figures import style
from perlayer.report.figures.panels import absent
from perlayer.report.figures.token_maps import draw_maps, nothing_seen, token_rows

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

TITLE = "What the answer owes to each token at each depth"
CAPTION = (
    "One map a setup, by its run of the lowest seed, all of one held-out text, whose tokens stand below: what "
    "integrated gradients attribute to the residual of one token (column) after one layer (row) of the summed "
    "probability of the last four tokens. Red adds to it, blue takes from it. One symmetric scale, logarithmic but "
    "linear near 0, set without the first token. Lines: until where the absolute share is at least half of "
    "what it is at most. Tokens that predict matter until the last layer whatever the model does."
)
DECADES = 2  # that the scale is logarithmic over, below the power of ten under the greatest attribution


def data(connection: duckdb.DuckDBPyConnection) -> pd.DataFrame:
    """One row a setup, token and layer."""
    return token_rows(connection, "attribution")


def draw(connection: duckdb.DuckDBPyConnection) -> Figure:
    """The figure of what is present."""
    from matplotlib.colors import SymLogNorm

    table = data(connection)
    if table.empty:
        return style.empty_figure(nothing_seen(connection))
    reach = table.loc[table["position"] > 0, "attribution"].abs().max()
    greatest = math.floor(math.log10(reach))
    norm = SymLogNorm(10.0 ** (greatest - DECADES), vmin=-reach, vmax=reach)
    figure, image = draw_maps(table, "attribution", norm, "RdBu_r", height=1.35)
    ticks = [sign * 10.0 ** (greatest - decade) for sign in (-1, 1) for decade in range(DECADES + 1)]
    bar = figure.colorbar(image, ax=figure.axes, aspect=40, pad=0.01, label="Attribution", extend="both")
    bar.set_ticks([*ticks, 0], labels=[*(style.minus(f"{tick:+g}") for tick in ticks), "0"], minor=False)
    bar.minorticks_off()
    style.add_note(figure, absent(connection))
    return figure
