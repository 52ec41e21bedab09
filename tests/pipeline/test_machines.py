"""A run on two machines: name spaces of this one, each with a name, a shared memory and a project folder of its own."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

# Composer's launcher, or what it tells its only process.
ROOM = "hostname machine{node}; mount -t tmpfs none /dev/shm; mount --bind {copy} {folder}; cd {folder}; exec "
LAUNCH = "{python} -m composer.cli.launcher --world_size 2 --nproc 1 --node_rank {node} --master_addr 127.0.0.1 "
LAUNCH += "--master_port {port} stages/train.py separate"
LAUNCHED = "RANK={node} NODE_RANK={node} LOCAL_RANK=0 WORLD_SIZE=2 LOCAL_WORLD_SIZE=1 MASTER_ADDR=127.0.0.1 "
LAUNCHED += "MASTER_PORT={port} exec {python} stages/train.py separate"

rooms = shutil.which("unshare") and subprocess.run(["unshare", "-m", "-u", "true"], capture_output=True).returncode == 0


@pytest.fixture
def launched(finished, tmp_path):
    """A function that starts a training in two such places, and returns how each ended and what it said."""

    def launch(one_folder, port):
        processes = []
        for node in (0, 1):
            copy = shutil.copytree(finished.folder, tmp_path / f"machine{node}", symlinks=True)
            words = (LAUNCHED if one_folder else ROOM + LAUNCH).format(
                node=node, copy=copy, folder=finished.folder, python=sys.executable, port=port
            )
            processes.append(
                subprocess.Popen(
                    ["sh", "-c", words] if one_folder else ["unshare", "-m", "-u", "sh", "-c", words],
                    cwd=copy,
                    env=finished.environment(PERLAYER_MICROBATCH="4", PERLAYER_DEVICE="cpu"),
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    text=True,
                )
            )
        said = [process.communicate(timeout=300)[0] for process in processes]
        return [process.returncode for process in processes], said

    return launch


@pytest.mark.skipif(not rooms, reason="only root may make name spaces here")
def test_two_machines_train_to_the_numbers_of_one_process(finished, launched, tmp_path):
    summary = Path("metrics/runs/separate/summary.json")
    one = json.loads((finished.folder / summary).read_text())
    ended, said = launched(one_folder=False, port=29611)
    assert ended == [0, 0], said
    two = json.loads((tmp_path / "machine0" / summary).read_text())
    assert two == pytest.approx(one, rel=1e-5)  # the same sequences an update, added in another order


def test_two_launchers_on_one_machine_are_refused(launched):
    ended, said = launched(one_folder=True, port=29612)
    assert ended == [1, 1]
    assert all("error: expected one launcher on each machine, found several on " in text for text in said)
    assert not any("Traceback" in text for text in said)
