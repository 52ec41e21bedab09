"""What a dissection publishes: one row a number, in one schema for all of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass

import pyarrow as pa

from perlayer.errors import UserError

SCHEMA = pa.schema(
    [
        ("run", pa.string()),
        ("size", pa.string()),
        ("analysis", pa.string()),
        ("layer", pa.int16()),
        ("sublayer", pa.string()),
        ("other_layer", pa.int16()),
        ("stat", pa.string()),
        ("metric", pa.string()),
        ("value", pa.float64()),
    ]
)


@dataclass(frozen=True)
class Number:
    """One number of a dissection."""

    layer: int
    sublayer: str | None  # attention, mlp or head; None: the whole layer
    metric: str
    stat: str  # how the tokens were brought to one number
    value: float
    other_layer: int | None = None  # what else the number is about, where it is about two places


def dissections_table(run: str, size: str, analysis: str, numbers: Sequence[Number]) -> pa.Table:
    """One row a number, in the schema that every dissection has.

    Raises:
        UserError: a number is not finite; no table may hold such.
    """
    for number in numbers:
        if not math.isfinite(number.value):
            raise UserError(
                f"{run}: {number.metric} of layer {number.layer} ({analysis}, {number.sublayer}): expected finite "
                f"numbers, found {number.value}; nothing was written"
            )
    shared = {"run": run, "size": size, "analysis": analysis}
    return pa.Table.from_pylist([{**shared, **asdict(number)} for number in numbers], SCHEMA)
