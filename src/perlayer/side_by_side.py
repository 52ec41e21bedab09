"""Runs the stages that are not up to date side by side: `python -m perlayer.side_by_side JOBS`.

DVC runs one stage at a time, but lets go of its lock while a stage works, so that several `dvc repro` of different
stages can work at once. Around it they take turns; one that waits too long for its turn tries again.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

# Those of a round need what the rounds before have made, and nothing of each other; the longest stand first.
ROUNDS = (
    ("train", "ladder"),
    ("retrain_heads", "anatomy", "tuned_lens", "depth", "published"),
    ("published_lens", "published_depth", "published_anatomy", "importance"),
    ("growth",),
)
# What follows at once on a stage of the same name. It takes DVC as long to start as to run: side by side with its like
# it would but wait, while beside another training it costs nothing.
FOLLOWED = {"train": "lens"}
LOCKED = "Unable to acquire lock"
RAN = "Running stage"
PAUSE = 2.0  # seconds before another try


def changed_stages(kinds: tuple[str, ...]) -> list[str]:
    """The stages of some kinds that DVC would run, kind by kind."""
    status = subprocess.run(["dvc", "status", "--json"], stdout=subprocess.PIPE, text=True, check=True).stdout
    changed = list(json.loads(status))
    return [stage for kind in kinds for stage in changed if stage.partition("@")[0] == kind]


def reproduce(stage: str) -> bool:
    """Run one stage whose dependencies are there, and say whether it ended well; what it says passes through."""
    command = ["dvc", "repro", "--single-item", stage]
    while True:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        ran = locked = False
        for line in process.stdout:
            ran = ran or RAN in line
            if LOCKED in line:
                locked = True
            else:
                print(line, end="", flush=True)
        if process.wait() == 0:
            return True
        if not locked:
            return False
        if ran:  # the work is done, and only its record missed its turn
            command = ["dvc", "commit", "--force", stage]
        time.sleep(PAUSE)


def reproduce_and_follow(stage: str) -> bool:
    """`reproduce` one stage and, if it ended well, what follows on it."""
    kind, _, name = stage.partition("@")
    return reproduce(stage) and (kind not in FOLLOWED or reproduce(f"{FOLLOWED[kind]}@{name}"))


def main(jobs: int) -> int:
    """Run every stage of the rounds that is not up to date, `jobs` at a time; returns the exit status."""
    try:
        with ThreadPoolExecutor(jobs) as pool:
            for kinds in ROUNDS:
                if not all(list(pool.map(reproduce_and_follow, changed_stages(kinds)))):
                    return 1
    except subprocess.CalledProcessError as error:  # DVC has said why
        return error.returncode
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    if len(sys.argv) != 2 or not sys.argv[1].isdecimal() or int(sys.argv[1]) < 1:
        sys.exit("usage: python -m perlayer.side_by_side JOBS (how many runs at a time, at least 1)")
    sys.exit(main(int(sys.argv[1])))
