"""What is measured layer by layer, in training and of finished models: one row a number, in one table for all of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from perlayer.errors import UserError
from perlayer.losses.reading import Reading
from perlayer.tables import Int8, Int16, Int32, Int64, Measured, empty_table, table_of_columns


@dataclass(frozen=True)
class LayerNumber:
    """A row of layers.parquet and of the table `layer_metrics`."""

    run: str
    size: str
    step: Int32
    tokens: Int64
    layer: Int16
    other_layer: Int16 | None
    readout: str
    ahead: Int8
    split: str
    metric: str
    value: Measured[float]


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
    """One row a number, a `LayerNumber`.

    Raises:
        UserError: a number is not finite; no table may hold such.
    """
    for each in series:
        _require_finite(run, each)
    tables = [_rows(run, size, tokens_per_step, each) for each in series]
    return pa.concat_tables(tables).combine_chunks() if tables else empty_table(LayerNumber)


def _require_finite(run: str, series: Series) -> None:
    wrong = np.flatnonzero(~np.isfinite(np.asarray(series.values, dtype=np.float64)))
    if len(wrong):
        raise UserError(
            f"{run}: {series.metric} of layer {series.reading.layer} ({series.reading.readout}, {series.split}): "
            f"expected finite numbers, found {series.values[wrong[0]]} at step {series.steps[wrong[0]]}; "
            "nothing was written"
        )


def _rows(run: str, size: str, tokens_per_step: int, series: Series) -> pa.Table:
    steps = np.asarray(series.steps, dtype=np.int64)
    columns = {
        "run": run,
        "size": size,
        "step": steps,
        "tokens": steps * tokens_per_step,
        "layer": series.reading.layer,
        "other_layer": series.other_layer,
        "readout": series.reading.readout,
        "ahead": series.reading.ahead,
        "split": series.split,
        "metric": series.metric,
        "value": np.asarray(series.values, dtype=np.float64),
    }
    return table_of_columns(LayerNumber, len(series.values), columns)
