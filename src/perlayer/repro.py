"""What `make repro` runs: every stage that is not up to date, side by side: `python -m perlayer.repro`.

Killed at any moment, it goes on when it is started again.
"""

from __future__ import annotations

import argparse
import functools
import shutil
import signal
import sys
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any

from perlayer import params
from perlayer.cluster import ADDRESS, GRACE, STOP, cluster_at
from perlayer.display import Display, duration
from perlayer.dvc_files import kept, mend
from perlayer.dvc_pipeline import Pipeline, StageFailed
from perlayer.environment import Machine
from perlayer.errors import UserError
from perlayer.lifetimes import alone, ask_to_end, end_with_starter
from perlayer.output import say
from perlayer.schedule import Schedule, expected_seconds, seconds_left
from perlayer.slots import PROGRESSES, SIGNALS, Ended, Slot, environments
from perlayer.stage import RUNNING, TIMINGS, describe
from perlayer.surroundings import settle

TICK = 0.5  # seconds between two looks at how far stages are
PAGE, PARAMS = Path("report/index.html"), Path("params.yaml")


@dataclass
class Interruption:
    """Whether this process was asked to end, and by which signal."""

    signal: int | None = None


@contextmanager
def interruptible() -> Iterator[Interruption]:
    """Note the first signal that asks this process to end; a second one ends it at once, and all that it started."""
    interruption = Interruption()

    def note(number: int, frame: object) -> None:
        if interruption.signal is not None:
            raise KeyboardInterrupt
        interruption.signal = number

    before = {number: signal.getsignal(number) for number in SIGNALS}
    for number, handler in before.items():
        if handler is not signal.SIG_IGN:  # as under nohup
            signal.signal(number, note)
    try:
        yield interruption
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def changed_stages(pipeline: Pipeline, needs: Mapping[str, list[str]]) -> list[str]:
    """The stages that are not up to date, and those that need them, which may then not be either.

    Raises:
        UserError: DVC cannot tell.
    """
    changed: dict[str, None] = {}
    for name, needed in needs.items():
        try:
            if any(other in changed for other in needed) or pipeline.is_changed(name):
                changed[name] = None
        except StageFailed as error:
            raise UserError(f"{name}: {error}") from None
    return list(changed)


class Crew:
    """Slots that are filled from a schedule, and what one sees of them.

    Args:
        places: the environment of each slot.
        expected: how long stages take, where that is known.
        first_answer: tells the stages with which the first question has all that it reads; asked when one has ended.
    """

    def __init__(
        self,
        schedule: Schedule,
        places: list[dict[str, str]],
        expected: Mapping[str, float],
        first_answer: Callable[[], Collection[str]],
        interruption: Interruption,
    ):
        self.schedule, self.places, self.expected, self.interruption = schedule, places, expected, interruption
        self.first_answer, self.stages = functools.cache(first_answer), set(schedule.left)
        self.ran: list[str] = []  # what was not up to date
        self.params = PARAMS.read_bytes()
        self.is_outdated = False  # whether params.yaml has changed since: what is left to do is another thing
        self.slots: list[Slot] = []
        self.display = Display(len(schedule.left))

    def work(self) -> None:
        """Run each stage once what it needs has ended well, until all have ended, or those that run at a signal."""
        try:
            with self.display:
                while self.schedule.left and self.interruption.signal is None:
                    self.is_outdated = self.is_outdated or PARAMS.read_bytes() != self.params
                    if self.is_outdated and not self.schedule.running:
                        break
                    if not self.is_outdated:
                        self._fill()
                    self._watch()
                if self.schedule.running:
                    self._interrupt()
        finally:
            for slot in self.slots:
                slot.end()

    def _fill(self) -> None:
        """Have each slot that is free start a stage, as long as there is one that can."""
        for number, place in enumerate(self.places):
            if number < len(self.slots) and self.slots[number].stage is not None:
                continue
            stage = self.schedule.start()
            if stage is None:
                return
            if number == len(self.slots):
                self.slots.append(Slot(place))
            elif not self.slots[number].is_alive:
                self.slots[number] = Slot(place)
            self.slots[number].start(stage)

    def _watch(self) -> None:
        """Take what slots have to say, for a moment, and show how far they are.

        What stages say when they end because they were asked to is not worth a line.
        """
        busy = {slot.connection: slot for slot in self.slots if slot.stage is not None}
        for connection in wait(list(busy), TICK):
            slot, stage = busy[connection], busy[connection].stage
            news, quiet = slot.read(), self.interruption.signal is not None
            if isinstance(news, Ended):
                self.schedule.end(stage, well=news.failure is None)
                if not quiet or news.failure is None:
                    self.display.ended(stage, news)
                self.ran += [stage] * news.had_work
                if stage in self.schedule.done and stage.startswith("train@") and self._is_answered_by(stage):
                    self.display.say(
                        "question Q1 has all its runs: `perlayer preview` writes the page of what is there"
                    )
            elif not quiet:
                self.display.say(f"{stage}: {news.line}")
        running_for = {slot.stage: time.monotonic() - slot.since for slot in self.slots if slot.stage is not None}
        seconds = seconds_left(self.schedule.left, running_for, self.expected, len(self.places))
        self.display.show(running_for, seconds)

    def _is_answered_by(self, stage: str) -> bool:
        """Whether the first question has all its runs, by a stage that has just ended."""
        awaited = self.stages.intersection(self.first_answer())
        return stage in awaited <= set(self.schedule.done) and bool(awaited & set(self.ran))

    def _interrupt(self) -> None:
        """Ask what runs to end, and give it time to write what it needs to go on."""
        if ADDRESS in self.places[0]:
            STOP.touch()
        names = " and ".join(self.schedule.running)
        self.display.say(f"interrupted: {names} may save what there is; a second interruption ends this at once")
        asked: set[str] = set()
        deadline = time.monotonic() + GRACE
        while self.schedule.running and time.monotonic() < deadline:
            self._watch()
            asked |= {stage for stage in set(self.schedule.running) - asked if ask_to_end(RUNNING / stage)}


@contextmanager
def _places(jobs: int | None, cluster: str | None) -> Iterator[list[dict[str, str]]]:
    """What each slot adds to the environment."""
    if cluster is None:
        yield environments(jobs, Machine.from_environment())
        return
    with cluster_at(cluster, jobs) as (address, count):
        yield [{ADDRESS: address}] * count


# Each slot imports this module, too, and needs nothing of what these two import, which takes longer than all else.


def _set_aside(choices: Mapping[str, Any]) -> None:
    from perlayer.warehouse.collect import set_aside

    set_aside(choices, "metrics")


def _first_answer(choices: Mapping[str, Any]) -> list[str]:
    from perlayer.preview import first_answer

    return first_answer(choices)


def main(jobs: int | None = None, cluster: str | None = None) -> int:
    """Run every stage that is not up to date; returns the exit status.

    Only one process at a time does so in a project; what a kill has left of DVC's files is mended first.

    Args:
        jobs: how many stages at a time; None for one a core, or a GPU, or as many as a cluster's workers have threads.
        cluster: where the stages of single runs go, see `cluster_at`; None for this machine.
    """
    begin = time.monotonic()
    try:
        with alone(Path(".perlayer/repro.lock"), "make repro"), _places(jobs, cluster) as places:
            choices = params.load()
            shutil.rmtree(PROGRESSES, ignore_errors=True)  # what killed stages have left
            before = Pipeline()
            with before.alone():
                mend(before.needs)
            _set_aside(choices)
            pipeline = Pipeline()
            needs = pipeline.needs()
            schedule = Schedule({name: needs[name] for name in changed_stages(pipeline, needs)})
            count = len(schedule.left)
            expected = expected_seconds(needs, TIMINGS, choices["size"])
            with kept(), interruptible() as interruption:
                crew = Crew(schedule, places, expected, lambda: _first_answer(choices), interruption)
                crew.work()
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"error: {describe(error)}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("interrupted; `make repro` goes on from here", file=sys.stderr)
        return 130
    took = duration(time.monotonic() - begin)
    if interruption.signal is not None:
        done = f"{len(schedule.done)} of {count} stages"
        print(f"interrupted after {done}; `make repro` goes on from here", file=sys.stderr)
        return 128 + interruption.signal
    if crew.is_outdated:
        print(f"{PARAMS} has changed since the start; `make repro` again for what is left", file=sys.stderr)
        return 1
    if schedule.failed:
        out = f", and {len(schedule.left_out)} that need them did not run" if schedule.left_out else ""
        print(f"failed after {took}: {', '.join(schedule.failed)}{out}", file=sys.stderr)
        return 1
    what = f"{len(crew.ran)} of {len(needs)} stages ran" if crew.ran else "everything is up to date"
    say(f"{what}; {took}; the page: {PAGE}")
    return 0


def _at_least_one(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and int(text)):
        raise argparse.ArgumentTypeError(f"expected a whole number from 1, found {text!r}")
    return int(text)


if __name__ == "__main__":
    settle()
    end_with_starter()
    parser = argparse.ArgumentParser(prog="make repro", usage="make repro [JOBS=N] [CLUSTER=ADDRESS|slurm]")
    parser.add_argument("--jobs", type=_at_least_one, metavar="N")
    parser.add_argument("--cluster", metavar="ADDRESS")
    options = parser.parse_args()
    sys.exit(main(options.jobs, options.cluster))
