"""What a dissection publishes: one row a number, in one schema for all of them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
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
        ("text", pa.string()),
        ("position", pa.int32()),
        ("token", pa.string()),
        ("strength", pa.float64()),
        ("value", pa.float64()),
    ]
)
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


def dissections_table(
    run: str,
    size: str,
    analysis: str,
    numbers: Sequence[Number],
    words: Mapping[tuple[str, int], str] | None = None,
) -> pa.Table:
    """One row a number, in the schema that every dissection has.

    Args:
        words: what tokens say, by text and position, for numbers about one token.

    Raises:
        UserError: a number is not finite; no table may hold such.
    """
    for number in numbers:
        if not math.isfinite(number.value):
            raise UserError(
                f"{run}: {number.metric} of layer {number.layer} ({analysis}, {number.sublayer}): expected finite "
                f"numbers, found {number.value}; nothing was written"
            )
    shared, words = {"run": run, "size": size, "analysis": analysis}, words or {}
    rows = [{**shared, **asdict(one), "token": words.get((one.text, one.position))} for one in numbers]
    return pa.Table.from_pylist(rows, SCHEMA)
