"""Trains the runs that are not up to date side by side: `python -m perlayer.training.side_by_side JOBS`.

DVC runs one stage at a time, but lets go of its lock while a stage works, so that several `dvc repro` of different
runs can work at once. Around it they take turns; one that waits too long for its turn is started again.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

LOCKED = "Unable to acquire lock"
PAUSE = 2.0  # seconds before another try


def changed_runs() -> list[str]:
    """The training stages that DVC would run, in the order of params.yaml."""
    status = subprocess.run(["dvc", "status", "--json"], stdout=subprocess.PIPE, text=True, check=True).stdout
    return [stage for stage in json.loads(status) if stage.startswith("train@")]


def reproduce(stage: str) -> bool:
    """Run one stage whose dependencies are there, and say whether it ended well; what it says passes through."""
    while True:
        command = ["dvc", "repro", "--single-item", stage]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        locked = False
        for line in process.stdout:
            if LOCKED in line:
                locked = True
            else:
                print(line, end="", flush=True)
        if process.wait() == 0:
            return True
        if not locked:
            return False
        time.sleep(PAUSE)


def main(jobs: int) -> int:
    """Train every run that is not up to date, `jobs` at a time; returns the exit status."""
    with ThreadPoolExecutor(jobs) as pool:
        return 0 if all(list(pool.map(reproduce, changed_runs()))) else 1


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1])))
