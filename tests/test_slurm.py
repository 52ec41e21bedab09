"""Jobs of SLURM as workers, with a stand-in for SLURM that starts each job at once on this machine."""

import os
import signal
import subprocess
import time

import pytest
from toy_pipeline import PATIENCE, Toy

SBATCH = """#!/bin/sh
cp "$1" "$JOBS/script.$$"
setsid sh "$JOBS/script.$$" > "$JOBS/log.$$" 2>&1 < /dev/null &
echo $! > "$JOBS/job.$!"
echo "Submitted batch job $!"
"""
SCANCEL = """#!/bin/sh
for job in "$@"; do kill -KILL "-$job" && rm "$JOBS/job.$job"; done
"""


@pytest.fixture
def jobs(tmp_path):
    """The folder where the stand-in notes its jobs."""
    folder = tmp_path / "jobs"
    folder.mkdir()
    for name, text in (("sbatch", SBATCH), ("scancel", SCANCEL)):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    return folder


def test_jobs_become_workers_and_one_that_is_taken_away_is_replaced(tmp_path, jobs):
    (tmp_path / "project").mkdir()
    toy = Toy(tmp_path / "project", new=True)
    toy.keep_run_a()
    for command in (["git", "add", "-A"], ["git", "commit", "-q", "-m", "toy"]):
        subprocess.run(command, cwd=toy.folder, check=True)
    toy.touch("held_train")
    settings = {"CORES": "1", "MEMORY": "1GB", "INTERFACE": "lo", "LOCAL_DIRECTORY": str(tmp_path / "workers")}
    environment = {f"DASK_JOBQUEUE__SLURM__{name}": value for name, value in settings.items()}
    environment["PATH"] = f"{tmp_path}{os.pathsep}{toy.environment()['PATH']}"
    environment |= {"DASK_DISTRIBUTED__DEPLOY__LOST_WORKER_TIMEOUT": "1s", "JOBS": str(jobs), "TOY": str(toy.folder)}
    process = toy.start("--cluster", "slurm", "--jobs", "1", **environment)
    try:
        deadline = time.monotonic() + PATIENCE
        while not (toy.folder / ".perlayer/elsewhere/train@a").exists():
            assert time.monotonic() < deadline and process.poll() is None
            time.sleep(0.05)
        (job,) = jobs.glob("job.*")
        os.killpg(int(job.suffix[1:]), signal.SIGKILL)
        toy.remove("held_train")
        said, _ = process.communicate(timeout=PATIENCE)
    finally:
        toy.end()
    assert process.returncode == 0, said
    assert "train@a: its worker is lost; another goes on\n" in said and "4 of 4 stages ran; " in said
    assert len(list(jobs.glob("log.*"))) == 2 and not list(jobs.glob("job.*"))  # that of the second is cancelled, too
