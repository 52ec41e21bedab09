"""How important the layers of a finished model are, by its ablation: what growth training goes by, too."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from perlayer.anatomy.tables import Ablation
from perlayer.errors import UserError
from perlayer.store import MANIFEST, verified
from perlayer.tables import read_table

NEIGHBOUR_AVERAGE = "neighbour_average"


@dataclass(frozen=True)
class Importance:
    """What a model loses without each of its layers."""

    importance: list[float]  # from layer 1, the degradation of perplexity in percent
    excluded: list[int]  # the anti-layers: without them it is better beyond doubt


def of_layers(ablations: Iterable[Ablation]) -> list[Ablation]:
    """What says how important each layer of a model is, in their order: it has its neighbours' average weights.

    An only layer has no neighbours; it is skipped.
    """
    whole = [row for row in ablations if row.sublayer is None]
    way = "skip" if {row.layer for row in whole} == {1} else NEIGHBOUR_AVERAGE
    return sorted((row for row in whole if row.way == way), key=lambda row: row.layer)


def read_importance(analysis: Path) -> Importance:
    """The importance of the layers of the one run whose anatomy lies in the folder `analysis`, ANATOMY/RUN.

    Raises:
        UserError: it is missing or damaged.
    """
    if not (analysis / MANIFEST).exists():
        stage = f"{analysis.parent.name}@{analysis.name}"
        raise UserError(
            f"{analysis}: {analysis.name} has no anatomy yet; once anatomy.runs of params.yaml names it, "
            f"`dvc repro {stage}` makes it"
        )
    table = read_table(Ablation, verified(analysis / "ablations.parquet"))
    rows = of_layers(Ablation(**row) for row in table.to_pylist())
    return Importance([row.degradation for row in rows], [row.layer for row in rows if row.category == "anti"])
