"""Ten million numbers from the parquet of the warehouse to an answer, as plot, report and `perlayer query` get it."""

from __future__ import annotations

import tempfile
from pathlib import Path

import duckdb

from benchmarks.measure import Row, seconds_of
from benchmarks.project import ROOT
from perlayer import params
from perlayer.catalogue import catalogue
from perlayer.questions import connect
from perlayer.store import fresh_folder
from perlayer.warehouse import database
from perlayer.warehouse.tables import TABLES

BOUND = 10.0  # seconds
SIZE = "qwen3_1_2b"
RUNS, LAYERS, STEPS = 25, 16, 25_000  # ten million rows, in the shape of that size
REPEATS = 3

QUESTION = "SELECT run, layer, readout, loss FROM final_loss ORDER BY ALL"
MADE_UP = f"""
INSERT INTO layer_metrics BY NAME
SELECT run, size, step, step * 1048576 AS tokens, layer, if(layer = layers, 'head', 'separate') AS readout,
    1 AS ahead, 'train' AS split, 'loss' AS metric, 2 + 8 / sqrt(step) + random() AS value
FROM runs, range(1, {LAYERS} + 1) AS layers (layer), range(1, {STEPS} + 1) AS steps (step)
"""


def rows() -> list[Row]:
    with tempfile.TemporaryDirectory() as folder:
        warehouse = Path(folder, "warehouse")
        write_warehouse(warehouse)
        seconds = seconds_of(lambda: answer(warehouse), REPEATS)
        note = f"{RUNS * LAYERS * STEPS:,} rows, {RUNS} runs, {LAYERS} layers"
        return [seconds.row("load 10 million rows and answer final_loss", BOUND, note)]


def write_warehouse(folder: Path) -> None:
    """Write the tables as `collect` does, of made-up losses."""
    runs = {f"run_{seed:02}": {"residual": "sandwich", "readouts": "separate", "seed": seed} for seed in range(RUNS)}
    choices = params.load(ROOT / "params.yaml") | {"size": SIZE, "runs": runs}
    with fresh_folder(folder) as fresh, duckdb.connect() as connection:
        database.create(connection)
        database.insert(connection, "runs", catalogue(choices, present=runs))
        connection.execute(MADE_UP)
        for table in TABLES:
            path = database.quoted(fresh / f"{table}.parquet")
            connection.execute(f"COPY (FROM {table} ORDER BY ALL) TO {path} (FORMAT parquet, COMPRESSION zstd)")


def answer(warehouse: Path) -> None:
    """Build the database, which is not there, and ask it."""
    for path in warehouse.parent.glob("perlayer.duckdb*"):
        path.unlink()
    with connect(warehouse) as connection:
        found = connection.execute(QUESTION).fetchall()
    if len(found) != RUNS * LAYERS:
        raise RuntimeError(f"final_loss: expected {RUNS * LAYERS} rows, found {len(found)}")
