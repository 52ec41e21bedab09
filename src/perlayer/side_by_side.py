"""Runs the stages that are not up to date side by side: `python -m perlayer.side_by_side JOBS`.

DVC runs one stage at a time, but lets go of its lock while a stage works, so that several `dvc repro` of different
stages can work at once. Around it they take turns; one that waits too long for its turn is started again.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

# Those of a round need what the rounds before have made, and nothing of each other; the longest stand first.
ROUNDS = (("train",), ("retrain_heads", "tuned_lens", "published", "lens"), ("published_lens",))
SHORT = ("lens",)  # stages that DVC takes as long to start as to run, so that one DVC runs many of them
LOCKED = "Unable to acquire lock"
PAUSE = 2.0  # seconds before another try


def changed_stages() -> list[str]:
    """The stages that DVC would run, in its order."""
    status = subprocess.run(["dvc", "status", "--json"], stdout=subprocess.PIPE, text=True, check=True).stdout
    return list(json.loads(status))


def tasks(kinds: tuple[str, ...], jobs: int) -> list[list[str]]:
    """What each `dvc repro` is to run: the changed stages of some kinds, alone or, the short ones, in `jobs` parts."""
    changed = changed_stages()
    found: list[list[str]] = []
    for kind in kinds:
        members = [stage for stage in changed if stage.startswith(f"{kind}@")]
        found += [members[part::jobs] for part in range(jobs)] if kind in SHORT else [[stage] for stage in members]
    return [stages for stages in found if stages]


def reproduce(stages: list[str]) -> bool:
    """Run stages whose dependencies are there, and say whether all ended well; what they say passes through."""
    while True:
        command = ["dvc", "repro", "--keep-going", "--single-item", *stages]
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
    """Run every stage of the rounds that is not up to date, `jobs` at a time; returns the exit status."""
    with ThreadPoolExecutor(jobs) as pool:
        for kinds in ROUNDS:
            if not all(list(pool.map(reproduce, tasks(kinds, jobs)))):
                return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1])))
