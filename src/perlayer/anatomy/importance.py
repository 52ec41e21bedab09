"""How important the layers of a finished run are, by its ablation: what growth training goes by."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as parquet

from perlayer.anatomy.categories import category
from perlayer.errors import UserError
from perlayer.store import verified_files


@dataclass(frozen=True)
class Importance:
    """What a model loses without each of its layers."""

    importance: list[float]  # from layer 1, the degradation of perplexity in percent
    excluded: list[int]  # the anti-layers: without them it is better beyond doubt


def importance_of(table: pa.Table) -> Importance:
    """The importance of each layer: the degradation where it has its neighbours' average weights.

    An only layer has no neighbours; its importance is the degradation where it is skipped.

    Args:
        table: the numbers of one model, as `anatomy` leaves them.

    Raises:
        UserError: the table does not have that number, with its interval, once for each layer.
    """
    columns = ["analysis", "metric", "sublayer", "layer", "stat", "value"]
    ablation = [row for row in table.select(columns).to_pylist() if row["analysis"] == "ablation"]
    whole = [row for row in ablation if row["sublayer"] is None]
    way = "skip" if {row["layer"] for row in whole} == {1} else "neighbour_average"
    rows = [row for row in whole if row["metric"] == way]
    found: dict[str, dict[int, float]] = {"mean": {}, "low": {}, "high": {}}
    for row in rows:
        found[row["stat"]][row["layer"]] = row["value"]
    means = found["mean"]
    layers = sorted(means)
    if not layers or layers != list(range(1, len(layers) + 1)) or len(rows) != 3 * len(layers):
        raise UserError(f"expected the degradation by {way} of each layer from 1, found layers {layers}")
    anti = [layer for layer in layers if category(*(found[stat][layer] for stat in found)) == "anti"]
    return Importance([means[layer] for layer in layers], anti)


def read_importance(analysis: Path) -> Importance:
    """The importance of the layers of the one model whose numbers lie in the folder `analysis`.

    Raises:
        UserError: the numbers are missing or damaged.
    """
    (file,) = verified_files(analysis, "*.parquet")
    return importance_of(parquet.read_table(file))
