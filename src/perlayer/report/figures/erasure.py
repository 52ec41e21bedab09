"""How far the answer moves when one token is forgotten at one depth."""

from __future__ import annotations

from typing import TYPE_CHECKING

import duckdb

from perlayer.report.figures import style
from perlayer.report.figures.panels import absent
from perlayer.report.figures.token_maps import draw_maps, nothing_seen, token_rows

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

TITLE = "What the answer loses when one token is forgotten at one depth"
CAPTION = (
    "One map a setup, by its run of the lowest seed, all of one held-out text, whose tokens stand below. The residual "
    "of one token (column) after one layer (row, 0 being the embedding) becomes the mean residual: how far do the "
    "next-token distributions that predict the last four tokens move, at most? One logarithmic scale. Lines: "
    "until where forgetting the token moves them at least half as far as it does at most. Tokens that predict "
    "matter until the last layer whatever the model does."
)
LEAST = 1e-3  # where the scale begins: what moves predictions less moves none
MOST = 2**0.5  # between two distributions that are each sure of another token


def data(connection: duckdb.DuckDBPyConnection) -> pd.DataFrame:
    """One row a setup, token and layer."""
    return token_rows(connection, "erasure")


def draw(connection: duckdb.DuckDBPyConnection) -> Figure:
    """The figure of what is present."""
    from matplotlib.colors import LogNorm

    table = data(connection)
    if table.empty:
        return style.empty_figure(nothing_seen(connection))
    figure, image = draw_maps(table, "erasure", LogNorm(LEAST, MOST, clip=True), "viridis", height=1.45)
    figure.colorbar(image, ax=figure.axes, aspect=40, pad=0.01, label="Distance of predictions", extend="min")
    style.add_note(figure, absent(connection))
    return figure
