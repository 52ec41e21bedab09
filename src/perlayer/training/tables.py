"""What a run publishes: layers.parquet and summary.json."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet

from perlayer.errors import UserError
from perlayer.losses.reading import Reading

FINAL_STEPS = 50
SCHEMA = pa.schema(
    [
        ("run", pa.string()),
        ("size", pa.string()),
        ("step", pa.int32()),
        ("tokens", pa.int64()),
        ("layer", pa.int16()),
        ("other_layer", pa.int16()),
        ("readout", pa.string()),
        ("ahead", pa.int8()),
        ("split", pa.string()),
        ("metric", pa.string()),
        ("value", pa.float64()),
    ]
)


@dataclass(frozen=True)
class Series:
    """Values of one metric of one reading."""

    reading: Reading
    split: str
    metric: str
    steps: Sequence[int]
    values: Sequence[float]
    other_layer: int | None = None  # the second layer of a pair


def layers_table(run: str, size: str, tokens_per_step: int, series: Sequence[Series]) -> pa.Table:
    """One row a number, in the schema that every per-layer table has.

    Raises:
        UserError: a number is not finite; no table may hold such.
    """
    for one in series:
        _require_finite(run, one)
    tables = [_rows(run, size, tokens_per_step, one) for one in series]
    return pa.concat_tables(tables).combine_chunks() if tables else SCHEMA.empty_table()


def _require_finite(run: str, one: Series) -> None:
    wrong = np.flatnonzero(~np.isfinite(np.asarray(one.values, dtype=np.float64)))
    if len(wrong):
        raise UserError(
            f"{run}: {one.metric} of layer {one.reading.layer} ({one.reading.readout}, {one.split}): expected finite "
            f"numbers, found {one.values[wrong[0]]} at step {one.steps[wrong[0]]}; nothing was written"
        )


def _rows(run: str, size: str, tokens_per_step: int, one: Series) -> pa.Table:
    count = len(one.values)
    steps = np.asarray(one.steps, dtype=np.int64)
    columns = {
        "run": _repeated(run, count),
        "size": _repeated(size, count),
        "step": _numbers(steps.astype(np.int32)),
        "tokens": _numbers(steps * tokens_per_step),
        "layer": _numbers(np.full(count, one.reading.layer, np.int16)),
        "other_layer": (
            pa.nulls(count, pa.int16())
            if one.other_layer is None
            else _numbers(np.full(count, one.other_layer, np.int16))
        ),
        "readout": _repeated(one.reading.readout, count),
        "ahead": _numbers(np.full(count, one.reading.ahead, np.int8)),
        "split": _repeated(one.split, count),
        "metric": _repeated(one.metric, count),
        "value": _numbers(np.asarray(one.values, dtype=np.float64)),
    }
    return pa.table(columns, schema=SCHEMA)


# Arrow's own constructors of arrays import pandas, to see whether the values are of its kinds: 0.3 s a run.
def _numbers(values: np.ndarray) -> pa.Array:
    return pa.Array.from_buffers(pa.from_numpy_dtype(values.dtype), len(values), [None, pa.py_buffer(values)])


def _repeated(text: str, count: int) -> pa.Array:
    content = text.encode()
    ends = np.arange(count + 1, dtype=np.int32) * np.int32(len(content))
    return pa.StringArray.from_buffers(count, pa.py_buffer(ends), pa.py_buffer(content * count))


def write_layers(table: pa.Table, path: Path) -> None:
    """Write a per-layer table as parquet; the same table gives the same bytes."""
    parquet.write_table(table, path, compression="zstd")


def final_loss(losses: Sequence[float]) -> float:
    """The final training loss: the mean over the last 50 updates, or over all where there are fewer."""
    last = losses[-FINAL_STEPS:]
    return math.fsum(last) / len(last)


def write_summary(summary: dict[str, float], path: Path) -> None:
    """Write the handful of scalars that DVC compares."""
    path.write_text(json.dumps(summary, indent=1) + "\n")
