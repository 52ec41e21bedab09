"""Several processes, in which parts of the model are frozen, against one."""

import os
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as parquet
import pytest


def losses(folder, shards, **environment):
    """Every number that the training in `grow.py` leaves."""
    folder.mkdir()
    subprocess.run(
        [sys.executable, str(Path(__file__).with_name("grow.py")), str(shards)],
        cwd=folder,
        env={**os.environ, "PERLAYER_DEVICE": "cpu", "PERLAYER_COMPILE": "off", **environment},
        check=True,
    )
    rows = parquet.read_table(folder / "metrics/growing/layers.parquet").to_pylist()
    return {(row["split"], row["metric"], row["readout"], row["layer"], row["step"]): row["value"] for row in rows}


def test_two_processes_go_through_stages_as_one_does(tmp_path, small_shards):
    one = losses(tmp_path / "one", small_shards)
    two = losses(tmp_path / "two", small_shards, PERLAYER_PROCESSES="2", PERLAYER_MICROBATCH="4")
    assert ("train", "loss", "head", 3, 8) in one and ("val", "loss", "separate", 1, 8) in one
    # the same sequences an update, added in another order: float32 rounding apart, all is equal
    assert two == pytest.approx(one, rel=1e-5)
