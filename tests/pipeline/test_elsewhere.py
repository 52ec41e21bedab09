"""The pipeline on a cluster of two workers, one of which is killed."""

import os
import shutil
import signal
import subprocess
import sys
import time

from kill_campaign import OUTS, compare, locked
from local_cluster import local_cluster
from small_project import EAGER, Project

from perlayer.dvc_files import LockFile

PATIENCE = 300


def test_a_training_whose_worker_is_killed_goes_on_elsewhere_to_the_same_bytes(finished, tmp_path):
    project = Project(shutil.copytree(finished.folder, tmp_path / "project", symlinks=True))
    expected, lock = project.bytes_of(*OUTS), locked(project)
    shutil.rmtree(project.folder / "data/models/growing")
    shutil.rmtree(project.folder / ".dvc/cache/runs")  # or DVC answers from it, or from the entry
    text = (project.folder / "dvc.lock").read_text()
    (project.folder / "dvc.lock").write_text(text.replace(LockFile.parse(text).entries["train@growing"], ""))
    (project.folder / ".perlayer/dvc.lock").unlink(missing_ok=True)
    with local_cluster(tmp_path / "workers", **EAGER, PERLAYER_CHECKPOINT_STEPS="1") as address:
        command = [sys.executable, "-m", "perlayer.repro", "--cluster", address]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
        process = subprocess.Popen(command, cwd=project.folder, env=project.environment(), **pipes)
        deadline = time.monotonic() + PATIENCE
        while not any((project.folder / ".perlayer/scratch").glob("growing-*/*-ba2-*.pt")):
            assert time.monotonic() < deadline and process.poll() is None
            time.sleep(0.01)
        worker = int((project.folder / ".perlayer/elsewhere/train@growing").read_text())
        os.kill(worker, signal.SIGKILL)
        said, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, said
    assert "train@growing: its worker is lost; another goes on\n" in said
    assert "training starts from the first update" not in said
    compare(project, expected, lock)
