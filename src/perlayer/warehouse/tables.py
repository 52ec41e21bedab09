"""The tables that `collect` writes: of what kind their rows are, and in which order they stand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from perlayer.catalogue import CatalogueRow
from perlayer.comparison import Rule
from perlayer.depth.tables import DissectionNumber
from perlayer.layer_metrics import LayerNumber


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


class Table(NamedTuple):
    """A table of the warehouse."""

    rows: type
    order: str  # of rows everywhere: sums of the same numbers in another order differ in their last digits


TABLES = {
    "runs": Table(CatalogueRow, "run"),
    "layer_metrics": Table(LayerNumber, "run, metric, split, readout, ahead, layer, other_layer NULLS FIRST, step"),
    "dissections": Table(
        DissectionNumber,
        "run, analysis, metric, stat, layer, sublayer, other_layer NULLS FIRST, text NULLS FIRST, "
        "position NULLS FIRST, strength NULLS FIRST",
    ),
    "pairs": Table(PairOfRuns, "pair"),
    "left_out": Table(LeftOut, "stage, name"),
    "rule": Table(Rule, "confidence"),
}
