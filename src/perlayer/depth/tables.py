"""What a dissection publishes: one row a number, in one table for all of them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from perlayer.errors import UserError
from perlayer.tables import Int16, Int32, Measured, table_of

SINGLE = "single"  # the stat of a number about one token or one text


@dataclass(frozen=True)
class Number:
    """One number of a dissection."""

    layer: int
    sublayer: str | None  # attention, mlp or head; None: the whole layer
    metric: str
    stat: str  # how the tokens were brought to one number
    value: float
    other_layer: int | None = None  # what else the number is about, where it is about two places
    text: str | None = None  # the text, or group of texts, that it is about; None: all held-out text
    position: int | None = None  # the token of that text, from 0, that it is about
    strength: float | None = None  # how strong the change was, where one change has several


@dataclass(frozen=True)
class DissectionNumber:
    """A row of the tables of dissections: a number, and the model and the analysis that it comes from."""

    run: str
    size: str
    analysis: str
    layer: Int16
    sublayer: str | None
    other_layer: Int16 | None
    stat: str
    metric: str
    text: str | None
    position: Int32 | None
    token: str | None
    strength: float | None
    value: Measured[float]


TABLES: dict[str, type] = {}


def dissections_table(
    run: str,
    size: str,
    found: Mapping[str, Sequence[Number]],
    words: Mapping[tuple[str, int], str] | None = None,
) -> pa.Table:
    """What analyses of one model have found, one row a number.

    Args:
        found: the numbers of each analysis.
        words: what tokens say, by text and position, for numbers about one token.

    Raises:
        UserError: a number is not finite; no table may hold such.
    """
    words = words or {}
    rows = []
    for analysis, numbers in found.items():
        for number in numbers:
            if not math.isfinite(number.value):
                raise UserError(
                    f"{run}: {number.metric} of layer {number.layer} ({analysis}, {number.sublayer}): expected finite "
                    f"numbers, found {number.value}; nothing was written"
                )
            token = words.get((number.text, number.position))
            rows.append(DissectionNumber(run, size, analysis, token=token, **vars(number)))
    return table_of(DissectionNumber, rows)
