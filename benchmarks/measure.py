"""Measuring side by side, and what a measurement says against its bound."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Row:
    """One claim of speed: what was measured, its spread and the bound it must stay within."""

    name: str  # what, side by side
    measured: float | None  # in `unit`; None where it could not be measured, and `note` says why
    low: float | None  # lower and upper quartile, in `unit`; None for a single measurement
    high: float | None
    bound: float | None  # in `unit`; None where the whole benchmark failed
    unit: str  # "×", "s" or "min"
    note: str = ""

    @property
    def holds(self) -> bool:
        """Whether it was measured and stays within its bound."""
        return self.measured is not None and self.measured <= self.bound

    def to_json(self) -> dict[str, Any]:
        """Every field and `holds`, as JSON values."""
        return asdict(self) | {"holds": self.holds}

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> Row:
        """The row that `to_json` gave."""
        return cls(**{key: value for key, value in values.items() if key != "holds"})


@dataclass(frozen=True)
class Ratio:
    """How long one thing takes relative to another: median and quartiles of first / second over the pairs."""

    median: float
    low: float
    high: float
    first_seconds: float  # medians
    second_seconds: float

    @classmethod
    def of(cls, first: Sequence[float], second: Sequence[float]) -> Ratio:
        """The ratio of seconds that were measured in pairs."""
        low, median, high = np.quantile(np.asarray(first) / np.asarray(second), (0.25, 0.5, 0.75))
        return cls(float(median), float(low), float(high), float(np.median(first)), float(np.median(second)))

    def row(self, name: str, bound: float, note: str = "") -> Row:
        """This ratio as a row; the note begins with the seconds of each side."""
        seconds = f"{significant(self.first_seconds)} s against {significant(self.second_seconds)} s"
        return Row(name, self.median, self.low, self.high, bound, "×", "; ".join(filter(None, (seconds, note))))


@dataclass(frozen=True)
class Seconds:
    """How long one thing takes: median and quartiles."""

    median: float
    low: float
    high: float

    def row(self, name: str, bound: float, note: str = "") -> Row:
        """These seconds as a row."""
        return Row(name, self.median, self.low, self.high, bound, "s", note)


def alternate(first: Callable[[], object], second: Callable[[], object], pairs: int, warmup: int = 1) -> Ratio:
    """Time two callables in turns, so that whatever else the machine does meets both alike.

    Args:
        pairs: how often each is timed; every other pair begins with the second.
        warmup: how often each is called before that, untimed.
    """
    for _ in range(warmup):
        first()
        second()
    seconds: tuple[list[float], list[float]] = ([], [])
    for pair in range(pairs):
        for which in (0, 1) if pair % 2 == 0 else (1, 0):
            start = time.perf_counter()
            (first, second)[which]()
            seconds[which].append(time.perf_counter() - start)
    return Ratio.of(*seconds)


def seconds_of(call: Callable[[], object], repeats: int, warmup: int = 0) -> Seconds:
    """Time one callable `repeats` times, after `warmup` calls that are not timed."""
    for _ in range(warmup):
        call()
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - start)
    low, median, high = np.quantile(seconds, (0.25, 0.5, 0.75))
    return Seconds(float(median), float(low), float(high))


def significant(value: float, digits: int = 3) -> str:
    """A figure for people, without an exponent: 0.01234 is 0.0123, 1234.5 is 1234."""
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    return f"{value:.{max(0, digits - 1 - math.floor(math.log10(abs(value))))}f}"
