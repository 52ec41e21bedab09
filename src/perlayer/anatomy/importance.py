"""How important the layers of a finished run are, by its ablation: what growth training goes by."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as parquet

from perlayer.anatomy.categories import category
from perlayer.errors import UserError

ABLATION = {"analysis": "ablation", "metric": "neighbour_average", "sublayer": None}


@dataclass(frozen=True)
class Importance:
    """What a model loses without each of its layers."""

    importance: list[float]  # from layer 1, the degradation of perplexity in percent
    excluded: list[int]  # the anti-layers: without them it is better beyond doubt


def importance_of(table: pa.Table) -> Importance:
    """The importance of each layer: the degradation where it has its neighbours' average weights.

    Args:
        table: the numbers of one model, as `anatomy` leaves them.

    Raises:
        UserError: the table does not have that number, with its interval, once for each layer.
    """
    found: dict[str, dict[int, float]] = {"mean": {}, "low": {}, "high": {}}
    count = 0
    for row in table.select([*ABLATION, "layer", "stat", "value"]).to_pylist():
        if all(row[key] == value for key, value in ABLATION.items()):
            found[row["stat"]][row["layer"]] = row["value"]
            count += 1
    means = found["mean"]
    layers = sorted(means)
    if not layers or layers != list(range(1, len(layers) + 1)) or count != 3 * len(layers):
        raise UserError(f"expected the degradation by neighbour_average of each layer from 1, found layers {layers}")
    anti = [layer for layer in layers if category(*(found[stat][layer] for stat in found)) == "anti"]
    return Importance([means[layer] for layer in layers], anti)


def write_importance(analysis: Path, destination: Path) -> None:
    """Write the importance of the layers of the one model whose numbers lie in the folder `analysis`, as JSON."""
    (file,) = sorted(analysis.glob("*.parquet"))
    destination.write_text(json.dumps(asdict(importance_of(parquet.read_table(file))), indent=1) + "\n")
