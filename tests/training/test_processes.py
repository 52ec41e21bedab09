"""Several processes, in which parts of the model are frozen, against one."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as parquet
import pytest
from grow import grow

MACHINE = {"PERLAYER_DEVICE": "cpu", "PERLAYER_COMPILE": "off"}


def losses(folder):
    """Every number that the training in `grow.py` leaves."""
    rows = parquet.read_table(folder / "metrics/growing/layers.parquet").to_pylist()
    return {(row["split"], row["metric"], row["readout"], row["layer"], row["step"]): row["value"] for row in rows}


def launch(folder, shards):
    """Train in two processes, to each of which its environment says what Composer's launcher would."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        world = {"WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2", "NODE_RANK": "0", "MASTER_ADDR": "127.0.0.1"}
        world["MASTER_PORT"] = str(free.getsockname()[1])
    command = [sys.executable, str(Path(__file__).with_name("grow.py")), str(shards)]
    environment = {**os.environ, **MACHINE, **world, "PERLAYER_MICROBATCH": "4"}
    processes = [
        subprocess.Popen(command, cwd=folder, env={**environment, "RANK": rank, "LOCAL_RANK": rank}) for rank in "01"
    ]
    assert [process.wait() for process in processes] == [0, 0]


def test_two_processes_go_through_stages_as_one_does(tmp_path, small_shards, monkeypatch):
    (tmp_path / "two").mkdir()
    launch(tmp_path / "two", small_shards)
    monkeypatch.chdir(tmp_path)
    for name, value in MACHINE.items():
        monkeypatch.setenv(name, value)
    grow(small_shards)
    one = losses(tmp_path)
    assert ("train", "loss", "head", 3, 8) in one and ("val", "loss", "separate", 1, 8) in one
    # the same sequences an update, added in another order: float32 rounding apart, all is equal
    assert losses(tmp_path / "two") == pytest.approx(one, rel=1e-5)
