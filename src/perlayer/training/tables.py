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


def layers_table(run: str, size: str, tokens_per_step: int, series: Sequence[Series]) -> pa.Table:
    """One row a number, in the schema that every per-layer table has."""
    columns: dict[str, list] = {name: [] for name in SCHEMA.names}
    for one in series:
        count = len(one.values)
        steps = np.asarray(one.steps, dtype=np.int64)
        columns["step"].append(steps)
        columns["tokens"].append(steps * tokens_per_step)
        columns["layer"].append(np.full(count, one.reading.layer))
        columns["ahead"].append(np.full(count, one.reading.ahead))
        columns["value"].append(np.asarray(one.values, dtype=np.float64))
        for name, text in (("readout", one.reading.readout), ("split", one.split), ("metric", one.metric)):
            columns[name] += [text] * count
    rows = sum(len(one.values) for one in series)
    columns["run"], columns["size"] = [run] * rows, [size] * rows
    columns["other_layer"] = [None] * rows
    for name in ("step", "tokens", "layer", "ahead", "value"):
        columns[name] = np.concatenate(columns[name])
    return pa.table([pa.array(columns[name], type=SCHEMA.field(name).type) for name in SCHEMA.names], schema=SCHEMA)


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
