"""The tables that `collect` writes: of what kind their rows are, and in which order they stand."""

from __future__ import annotations

from dataclasses import dataclass

from perlayer.anatomy.tables import TABLES as ANATOMY_TABLES
from perlayer.catalogue import CatalogueRow
from perlayer.comparison import Rule
from perlayer.depth.tables import TABLES as DEPTH_TABLES
from perlayer.layer_metrics import LayerNumber
from perlayer.tables import order_of


@dataclass(frozen=True)
class PairOfRuns:
    """A row of the table `pairs`."""

    pair: str
    source: str
    target: str


@dataclass(frozen=True)
class LeftOut:
    """A row of the table `left_out`."""

    stage: str
    name: str
    reason: str


TABLES: dict[str, type] = {
    "runs": CatalogueRow,
    "layer_metrics": LayerNumber,
    **DEPTH_TABLES,
    **ANATOMY_TABLES,
    "pairs": PairOfRuns,
    "left_out": LeftOut,
    "rule": Rule,
}


def order(table: str) -> str:
    """The order of the rows of a table everywhere: sums of the same numbers in another order differ in their digits."""
    if table == "layer_metrics":  # queries ask for few metrics of all steps
        return "run, metric, split, readout, ahead, layer, other_layer NULLS FIRST, step"
    return order_of(TABLES[table])
