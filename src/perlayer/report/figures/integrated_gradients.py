"""What share of the answer's probability integrated gradients give each token at each depth."""

import math

from perlayer.report.figures import panels, style, token_maps

TITLE = "What the answer owes to each token at each depth"
CAPTION = (
    "One map a setup, by its run of the lowest seed, all of one held-out text, whose tokens stand below: what "
    "integrated gradients attribute to the residual of one token (column) after one layer (row) of the summed "
    "probability of the last four tokens. Red adds to it, blue takes from it. One symmetric scale, logarithmic but "
    "linear near 0, set without the first token. Lines: until where the absolute share is at least half of "
    "what it is at most. Tokens that predict matter until the last layer whatever the model does."
)
EMPTY = token_maps.EMPTY
DECADES = 2  # that the scale is logarithmic over, below the power of ten under the greatest attribution


def data(connection: style.Connection) -> style.Table:
    """One row a setup, token and layer."""
    return token_maps.token_rows(connection, "attribution")


def draw(table: style.Table, connection: style.Connection) -> style.Figure:
    from matplotlib.colors import SymLogNorm

    reach = table.loc[table["position"] > 0, "attribution"].abs().max()
    greatest = math.floor(math.log10(reach))
    norm = SymLogNorm(10.0 ** (greatest - DECADES), vmin=-reach, vmax=reach)
    figure, image = token_maps.draw_maps(table, "attribution", norm, "RdBu_r", height=1.35)
    ticks = [sign * 10.0 ** (greatest - decade) for sign in (-1, 1) for decade in range(DECADES + 1)]
    bar = figure.colorbar(image, ax=figure.axes, aspect=40, pad=0.01, label="Attribution", extend="both")
    bar.set_ticks([*ticks, 0], labels=[*(style.minus(f"{tick:+g}") for tick in ticks), "0"], minor=False)
    bar.minorticks_off()
    return style.noted(figure, panels.absent(connection))
