"""The job for SLURM, with stand-ins for what it starts: they note their words, and end when they are told to."""

import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "docs/slurm.sbatch"
NOTES = """#!/usr/bin/env bash
echo "$(basename "$0") $*" >> "$NOTES"
"""
STAND_INS = {
    "dask": NOTES + "exec sleep 60\n",
    "srun": NOTES + '"$@" & one=$!; "$@" & two=$!; trap "kill $one $two" TERM; wait\n',
    "make": NOTES + 'trap "echo saved >> $NOTES; exit 143" TERM; for _ in $(seq 100); do sleep 0.1; '
    '[ -s done ] && exit "$(cat done)"; done\n',
}


@pytest.fixture
def job(tmp_path):
    """A job that has started, and a function that tells what has been noted."""
    for name, text in STAND_INS.items():
        path = tmp_path / ".venv/bin" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)
    notes = tmp_path / "notes"
    environment = {**os.environ, "SLURM_SUBMIT_DIR": str(tmp_path), "SLURM_JOB_ID": "123456", "NOTES": str(notes)}
    process = subprocess.Popen(["bash", SCRIPT], env=environment, start_new_session=True)

    def noted(count):
        deadline = time.monotonic() + 20
        while not notes.exists() or len(notes.read_text().splitlines()) < count:
            assert time.monotonic() < deadline
            time.sleep(0.02)
        return sorted(notes.read_text().splitlines())

    yield process, noted
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def test_it_starts_a_scheduler_a_worker_a_task_and_the_pipeline(job, tmp_path):
    process, noted = job
    said = noted(5)
    address = f"tcp://{os.uname().nodename}:23456"  # 20000 and the last digits of the job
    worker = f"worker {address} --nthreads 1 --no-nanny --no-dashboard --resources GPU=1 --local-directory "
    folder = os.environ.get("TMPDIR", "/tmp")
    assert said == [
        "dask scheduler --port 23456 --no-dashboard",
        *[f"dask {worker}{folder}"] * 2,
        f"make repro CLUSTER={address}",
        f"srun dask {worker}{folder}",
    ]
    (tmp_path / "done").write_text("3")
    assert process.wait(20) == 3  # that of make


def test_the_signal_before_the_end_lets_trainings_save_what_they_have(job):
    process, noted = job
    noted(5)
    process.send_signal(signal.SIGTERM)
    assert process.wait(20) == 143
    assert "saved" in noted(6)


@pytest.mark.skipif(shutil.which("shellcheck") is None, reason="shellcheck is not installed")
def test_shellcheck_has_nothing_to_say():
    done = subprocess.run(["shellcheck", SCRIPT], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "")
