"""What `make repro` runs: all that is not up to date, many stages side by side: `python -m perlayer.side_by_side JOBS`.

DVC runs one stage at a time, but lets go of its lock while a stage works, so that several `dvc repro` of different
stages can work at once. It takes DVC as long to start as many a stage to run, so each of them is given many stages, and
fewer towards the end, so that none is left with much to do when the others are done. Where one waits too long for its
turn with the lock, it goes on from there. Killed at any moment, it goes on when it is started again.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from perlayer import params
from perlayer.dvc_files import kept
from perlayer.errors import UserError
from perlayer.lifetimes import alone, end_with_starter, tied
from perlayer.surroundings import settle
from perlayer.warehouse.collect import set_aside

FIRST = ("plan", "corpus", "tokenize", "shard", "prompts")  # what the rounds read
# Those of a round need what the rounds before have made, and nothing of each other; the longest stand first.
ROUNDS = (
    ("train", "ladder"),
    ("retrain_heads", "anatomy", "tuned_lens", "depth", "routing", "depth_maps", "published"),
    ("published_lens", "published_depth", "published_anatomy", "importance"),
    ("growth",),
)
FOLLOWED = {"train": "lens"}  # what follows at once on a stage of the same name
SHARE = 4  # each process is given this part of what would be its share of all that is left
LOCKED = "Unable to acquire lock"
RUNNING = re.compile(r"Running stage '(.+)':")
PAUSE = 2.0  # seconds before another try

Unit = tuple[str, ...]  # stages of which each needs those before it


def all_stages() -> list[str]:
    """The stages of dvc.yaml."""
    return _answer("stage", "list", "--all", "--name-only").split()


def changed_stages() -> list[str]:
    """The stages that DVC would run as things stand; those that read what they make may follow."""
    return list(json.loads(_answer("status", "--json")))


def _dvc(*words: str) -> list[str]:
    """A command that ends with this process."""
    return tied("dvc", *words)


def _answer(*words: str) -> str:
    return subprocess.run(_dvc(*words), stdout=subprocess.PIPE, text=True, check=True).stdout


def of_kinds(stages: Iterable[str], kinds: tuple[str, ...]) -> list[str]:
    """The stages of some kinds, kind by kind."""
    stages = list(stages)
    return [stage for kind in kinds for stage in stages if stage.partition("@")[0] == kind]


def unit_of(stage: str) -> Unit:
    """A stage with what follows on it."""
    kind, _, name = stage.partition("@")
    return (stage, f"{FOLLOWED[kind]}@{name}") if kind in FOLLOWED else (stage,)


class Work:
    """Units that are dealt out, a part of what is left at a time."""

    def __init__(self, units: Iterable[Unit], jobs: int):
        self.left, self.jobs = list(units), jobs
        self.turn = threading.Lock()

    def take(self) -> list[Unit]:
        """The next units for one process; none when all are dealt out."""
        with self.turn:
            count = max(1, len(self.left) // (SHARE * self.jobs))
            taken, self.left = self.left[:count], self.left[count:]
        return taken


def reproduce(units: list[Unit]) -> bool:
    """Run units one after the other in one DVC process, and say whether all ended well; what DVC says passes through.

    Where a stage fails, what follows on it is left out, and the other units run all the same.
    """
    ended_well = True
    left = units
    while left:
        failed, locked, last = _repro([stage for unit in left for stage in unit])
        if not failed:
            break
        if locked and last is not None:  # the work is done, and only its record missed its turn
            ended_well = _record(last) and ended_well
            left = _after(left, last, with_unit=True)
        elif locked:
            time.sleep(PAUSE)
        else:
            ended_well = False
            left = [] if last is None else _after(left, last, with_unit=False)
    return ended_well


def _repro(stages: list[str]) -> tuple[bool, bool, str | None]:
    """Whether DVC failed, whether for want of the lock, and which stage it ran last."""
    locked, last = False, None
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "errors": "backslashreplace"}
    process = subprocess.Popen(_dvc("repro", "--single-item", *stages), text=True, **streams)
    for line in process.stdout:
        found = RUNNING.match(line)
        last = found[1] if found else last
        if LOCKED in line:
            locked = True
        else:
            print(line, end="", flush=True)
    return process.wait() != 0, locked, last


def _record(stage: str) -> bool:
    """Have DVC write down what a stage has made; says whether it could."""
    while True:
        done = subprocess.run(_dvc("commit", "--force", stage), capture_output=True, text=True)
        if done.returncode == 0:
            return True
        if LOCKED not in done.stderr + done.stdout:
            print(done.stderr, end="", file=sys.stderr)
            return False
        time.sleep(PAUSE)


def _after(units: list[Unit], stage: str, with_unit: bool) -> list[Unit]:
    """What comes after a stage, with or without the rest of its own unit."""
    place = next(number for number, unit in enumerate(units) if stage in unit)
    rest = units[place][units[place].index(stage) + 1 :]
    return [rest, *units[place + 1 :]] if with_unit and rest else units[place + 1 :]


def run_rounds(stages: list[str], jobs: int) -> bool:
    """Run those of `stages` that stand in the rounds, `jobs` at a time, and say whether all ended well.

    Once a round has had work, those after it are told all of their stages, and DVC leaves out what is up to date: to
    ask it beforehand takes it as long.
    """
    told_all = False
    with ThreadPoolExecutor(jobs) as pool:
        for kinds in ROUNDS:
            mine = of_kinds(stages, kinds)
            if mine and not told_all:
                stages, told_all = all_stages(), True
            work = Work(map(unit_of, mine), jobs)
            ended = pool.map(lambda _, work=work: [reproduce(units) for units in iter(work.take, [])], range(jobs))
            if not all(one for worker in list(ended) for one in worker):
                return False
    return True


def main(jobs: int) -> int:
    """Run every stage that is not up to date, those of the rounds `jobs` at a time; returns the exit status.

    Only one process at a time does so in a project; what a kill has left of DVC's files is mended first.
    """
    try:
        with alone(Path(".perlayer/repro.lock"), "make repro"), kept(all_stages):
            set_aside(params.load(), "metrics")
            stages = changed_stages()
            if any(stage in FIRST for stage in stages):
                subprocess.run(_dvc("repro", *FIRST), check=True)
                stages = changed_stages()
            if not run_rounds(stages, jobs):
                return 1
            return subprocess.run(_dvc("repro")).returncode
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except subprocess.CalledProcessError as error:  # DVC has said why
        return error.returncode
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130


if __name__ == "__main__":
    settle()
    end_with_starter()
    if len(sys.argv) != 2 or not sys.argv[1].isdecimal() or int(sys.argv[1]) < 1:
        sys.exit("usage: python -m perlayer.side_by_side JOBS (how many runs at a time, at least 1)")
    sys.exit(main(int(sys.argv[1])))
