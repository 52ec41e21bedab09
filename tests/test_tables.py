from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pytest

from perlayer.errors import UserError
from perlayer.tables import Int8, Int32, Measured, read_table, schema_of, table_of, table_of_columns, write_table


@dataclass(frozen=True)
class Effect:
    run: str
    layer: Int8
    strength: float | None
    steps: Int32
    effect: Measured[float]
    error: Measured[float] | None


ROWS = [Effect("a", 1, None, 10, 0.5, None), Effect("a", 1, 0.1, 10, 0.25, 0.0), Effect("b", 1, None, 10, -1.0, 2.0)]


def test_a_kind_of_row_says_its_schema():
    types = {"run": pa.string(), "layer": pa.int8(), "strength": pa.float64(), "steps": pa.int32()}
    assert schema_of(Effect) == pa.schema({**types, "effect": pa.float64(), "error": pa.float64()})


def test_rows_come_back_as_they_were(tmp_path):
    write_table(Effect, table_of(Effect, ROWS), tmp_path / "effects.parquet")
    assert [Effect(**row) for row in read_table(Effect, tmp_path / "effects.parquet").to_pylist()] == ROWS


def test_a_table_by_columns_is_the_same():
    columns = {
        "run": "a",
        "layer": 1,
        "strength": np.array([0.5, 1]),
        "steps": [3, 4],
        "effect": [1.5, 2],
        "error": None,
    }
    rows = [Effect("a", 1, 0.5, 3, 1.5, None), Effect("a", 1, 1.0, 4, 2.0, None)]
    assert table_of_columns(Effect, 2, {**columns, "error": None}).equals(table_of(Effect, rows))


@pytest.mark.parametrize(
    "row, said",
    [
        (Effect("a", 1, None, 10, 0.75, None), "run a, layer 1, steps 10: expected one row, found 2"),
        (
            Effect("a", 2, 0.5, 10, float("nan"), None),
            "run a, layer 2, strength 0.5, steps 10: expected finite numbers",
        ),
        (
            Effect("a", 2, None, 10, 0.0, float("inf")),
            "run a, layer 2, steps 10: expected finite numbers, found error inf; nothing was written",
        ),
        (Effect("a", None, None, 10, 0.0, 0.0), "layer: expected a value in each row, found 1 without"),
    ],
)
def test_rows_that_do_not_fit_are_not_written(tmp_path, row, said):
    with pytest.raises(UserError, match=f"effects.parquet: {said}"):
        write_table(Effect, table_of(Effect, [*ROWS, row]), tmp_path / "effects.parquet")
    assert not (tmp_path / "effects.parquet").exists()
