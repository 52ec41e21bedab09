"""How far the answer moves when one token is forgotten at one depth."""

from perlayer.report.figures import panels, style, token_maps

TITLE = "What the answer loses when one token is forgotten at one depth"
CAPTION = (
    "One map a setup, by its run of the lowest seed, all of one held-out text, whose tokens stand below. The residual "
    "of one token (column) after one layer (row, 0 being the embedding) becomes the mean residual: how far do the "
    "next-token distributions that predict the last four tokens move, at most? One logarithmic scale. Lines: "
    "until where forgetting the token moves them at least half as far as it does at most. Tokens that predict "
    "matter until the last layer whatever the model does."
)
EMPTY = token_maps.EMPTY
LEAST = 1e-3  # where the scale begins: what moves predictions less moves none
MOST = 2**0.5  # between two distributions that are each sure of another token


def data(connection: style.Connection) -> style.Table:
    """One row a setup, token and layer."""
    return token_maps.token_rows(connection, "erasure")


def draw(table: style.Table, connection: style.Connection) -> style.Figure:
    from matplotlib.colors import LogNorm

    figure, image = token_maps.draw_maps(table, "erasure", LogNorm(LEAST, MOST, clip=True), "viridis", height=1.45)
    figure.colorbar(image, ax=figure.axes, aspect=40, pad=0.01, label="Distance of predictions", extend="min")
    return style.noted(figure, panels.absent(connection))
