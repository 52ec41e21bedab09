"""How important the layers of a finished run are, by its ablation."""

from __future__ import annotations

import pyarrow as pa

from perlayer.errors import UserError


def importance(table: pa.Table) -> list[float]:
    """The degradation of perplexity in percent by which each layer is judged, from layer 1.

    It is that of the layer with its neighbours' average weights.

    Args:
        table: the numbers of one model, as `anatomy` leaves them.

    Raises:
        UserError: the table does not have that number once for each layer.
    """
    chosen = {"analysis": "ablation", "metric": "neighbour_average", "stat": "mean", "sublayer": None}
    found = sorted(
        (row["layer"], row["value"])
        for row in table.select([*chosen, "layer", "value"]).to_pylist()
        if all(row[key] == value for key, value in chosen.items())
    )
    layers = [layer for layer, _ in found]
    if not layers or layers != list(range(1, len(layers) + 1)):
        raise UserError(f"expected the degradation by neighbour_average of each layer from 1, found layers {layers}")
    return [value for _, value in found]
