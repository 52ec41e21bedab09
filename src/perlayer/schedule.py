"""Which stage is next, and how long the others will take."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

EARLY = ("train", "lens")  # a run and its reading at once, so that there is something to look at


class Schedule:
    """Stages that are to run, each once those that it needs have ended well; what cannot run is left out.

    Args:
        needs: of each stage those that it needs, in the order of DVC; what is not itself a stage is there already.
    """

    def __init__(self, needs: Mapping[str, Iterable[str]]):
        self._needs = {name: set(needed) & needs.keys() for name, needed in needs.items()}
        self._left = in_turn(list(needs))
        self.running: list[str] = []
        self.done: list[str] = []
        self.failed: list[str] = []
        self.left_out: list[str] = []

    @property
    def left(self) -> list[str]:
        """What has not ended, in the order in which it starts."""
        return self.running + self._left

    def start(self) -> str | None:
        """The next stage that can start, which is running from here on; None while there is none."""
        done = set(self.done)
        for name in self._left:
            if self._needs[name] <= done:
                self._left.remove(name)
                self.running.append(name)
                return name
        return None

    def end(self, name: str, well: bool) -> None:
        """Note that a running stage has ended; where it failed, what needs it is left out."""
        self.running.remove(name)
        if well:
            self.done.append(name)
            return
        self.failed.append(name)
        gone = {name}
        while out := [other for other in self._left if self._needs[other] & gone]:
            gone.update(out)
            self.left_out += out
            self._left = [other for other in self._left if other not in gone]


def in_turn(stages: list[str]) -> list[str]:
    """Stages in the order in which they start where they can: that of DVC, but each run is read once it is trained."""
    place = {name: number for number, name in enumerate(stages)}

    def turn(name: str) -> tuple[int, int]:
        kind, _, run = name.partition("@")
        early = EARLY.index(kind) if kind in EARLY else 0
        return place.get(f"{EARLY[0]}@{run}", place[name]) if early else place[name], early

    return sorted(stages, key=turn)


def expected_seconds(stages: Iterable[str], timings: Path, size: str) -> dict[str, float]:
    """How long stages took when they last ran at a size: each, or else the mean of its kind, where that ever ran.

    Args:
        timings: the folder with a file a stage, see `stage.run`.
    """
    took, kinds = {}, {}
    for path in timings.glob("*.json"):
        try:
            timing = json.loads(path.read_bytes())
            if timing["size"] == size:
                took[timing["stage"]] = float(timing["seconds"])
        except (OSError, ValueError, KeyError, TypeError):
            continue  # half written by a stage that was killed
    for name, seconds in took.items():
        kinds.setdefault(name.partition("@")[0], []).append(seconds)
    means = {kind: sum(seconds) / len(seconds) for kind, seconds in kinds.items()}
    expected = {name: took.get(name, means.get(name.partition("@")[0])) for name in stages}
    return {name: seconds for name, seconds in expected.items() if seconds is not None}


def seconds_left(
    left: Collection[str], running_for: Mapping[str, float], expected: Mapping[str, float], slots: int
) -> float | None:
    """How long stages take that have not ended, so many at a time; None where nothing is known of some of them.

    Args:
        running_for: seconds since each running stage started.
    """
    if not expected.keys() >= set(left):
        return None
    each = [max(0.0, expected[name] - running_for.get(name, 0.0)) for name in left]
    return max([sum(each) / slots, *each])
