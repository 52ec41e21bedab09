"""The whole default `dvc repro`, from what its last run wrote down: .perlayer/timings, a file a stage."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.measure import Row
from benchmarks.project import ROOT, SIZE
from perlayer.code_hash import code_hash
from perlayer.questions import QUESTIONS, connect
from perlayer.stage import TIMINGS

BOUND_QUESTION_1 = 15.0  # minutes
BOUND_ALL_QUESTIONS = 60.0
PAUSE = 30.0  # seconds between two stages that DVC may need for its own work

SLOWEST = 3


@dataclass(frozen=True)
class Timing:
    """When a stage ran, in unix seconds, and with what."""

    stage: str
    start: float
    end: float
    size: str
    code: dict[str, str]  # the hash of each file, by its path from the root of the project

    @property
    def seconds(self) -> float:
        return self.end - self.start


def rows() -> list[Row]:
    listing = [sys.executable, "-m", "dvc", "stage", "list", "--all", "--name-only"]
    stages = subprocess.run(listing, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True).stdout.split()
    with connect(ROOT / "metrics/warehouse") as connection:
        runs = {run for run, *_ in connection.execute(QUESTIONS[0].sql("runs")).fetchall()}
    needed = question_1(stages, runs)
    return [
        row_of("make repro: what question Q1 needs takes of it", BOUND_QUESTION_1, stages, ROOT, needed),
        row_of("make repro of the whole default pipeline", BOUND_ALL_QUESTIONS, stages, ROOT),
    ]


def question_1(stages: Iterable[str], runs: set[str]) -> list[str]:
    """The stages that question Q1 needs: those that are of no run, and the training of `runs`."""
    return [stage for stage in stages if "@" not in stage or stage in {f"train@{run}" for run in runs}]


def row_of(name: str, bound: float, stages: Iterable[str], root: Path, needed: Iterable[str] | None = None) -> Row:
    """How long these stages of the project at `root` took, in minutes, or what the `needed` ones took of that."""
    timings: list[Timing] = []
    counted: list[Timing] = []
    faults: dict[str, list[str]] = {}
    for stage in stages:
        timing = read_timing(root / TIMINGS / f"{stage}.json")
        fault = "not timed" if timing is None else stale(timing, root)
        if fault is None:
            timings.append(timing)
            if needed is None or stage in needed:
                counted.append(timing)
        else:
            faults.setdefault(fault, []).append(stage)
    if faults or not counted:
        found = "; ".join(f"{fault}: {', '.join(names)}" for fault, names in faults.items())
        measured, note = None, f"run the pipeline first; {found or 'no stages'}"
    else:
        every = [(timing.start, timing.end) for timing in timings]
        part = [(timing.start, timing.end) for timing in counted]
        measured = (busy_seconds(every) if needed is None else share_seconds(part, every)) / 60
        slowest = sorted(counted, key=lambda timing: -timing.seconds)[:SLOWEST]
        note = "slowest: " + ", ".join(f"{timing.stage} {timing.seconds:.0f} s" for timing in slowest)
    return Row(name, measured, None, None, bound, "min", note)


def read_timing(path: Path) -> Timing | None:
    """What a stage wrote down, or None where it has not, or not all of it."""
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
        return Timing(*(values[name] for name in ("stage", "start", "end", "size", "code")))
    except (OSError, ValueError, KeyError):
        return None


def stale(timing: Timing, root: Path) -> str | None:
    """Why a timing is not one of the default pipeline as it is, or None."""
    if timing.size != SIZE:
        return f"timed at size {timing.size}"
    for name, found in timing.code.items():
        path = root / name
        if not path.is_file() or code_hash(path) != found:
            return f"timed with another {name}"
    return None


def busy_seconds(intervals: Iterable[tuple[float, float]], pause: float = PAUSE) -> float:
    """The length of the union of intervals (start, end); a gap of up to `pause` seconds between them counts too."""
    total, reached = 0.0, None
    for start, end in sorted(intervals):
        if reached is None or start > reached + pause:
            total += end - start
            reached = end
        elif end > reached:
            total += end - reached
            reached = end
    return total


def share_seconds(part: Sequence[tuple[float, float]], every: Sequence[tuple[float, float]]) -> float:
    """What some of the intervals (start, end) take of the time, where those that overlap share it evenly."""
    marks = sorted({mark for interval in every for mark in interval})
    total = 0.0
    for start, end in zip(marks, marks[1:]):
        mine, all_of_them = (sum(low <= start and end <= high for low, high in group) for group in (part, every))
        if mine:
            total += (end - start) * mine / all_of_them
    return total
