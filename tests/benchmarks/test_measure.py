"""The arithmetic of a measurement, by numbers made by hand."""

import json

import pytest

from benchmarks import measure
from benchmarks.measure import Ratio, Row, alternate, seconds_of, significant


@pytest.fixture
def clock(monkeypatch):
    """A clock that only moves when a call moves it."""

    class Clock:
        now = 0.0

        def perf_counter(self):
            return self.now

    clock = Clock()
    monkeypatch.setattr(measure, "time", clock)
    return clock


def test_a_ratio_is_the_median_over_pairs_with_its_quartiles():
    ratio = Ratio.of([1, 4, 9, 8, 10], [1, 2, 3, 2, 2])  # 1 2 3 4 5
    assert (ratio.low, ratio.median, ratio.high) == (2, 3, 4)
    assert (ratio.first_seconds, ratio.second_seconds) == (8, 2)
    row = ratio.row("a ÷ b", 3.5, "of five")
    assert row == Row("a ÷ b", 3, 2, 4, 3.5, "×", "8.00 s against 2.00 s; of five")
    assert ratio.row("a ÷ b", 3.5).note == "8.00 s against 2.00 s"


def test_alternate_swaps_the_order_and_does_not_time_the_warm_up(clock):
    calls = []

    def call(name, *seconds):
        seconds = iter(seconds)

        def work():
            calls.append(name)
            clock.now += next(seconds)

        return work

    ratio = alternate(call("a", 100, 2, 4, 6), call("b", 1, 2, 2, 2), pairs=3)
    assert "".join(calls) == "ab" + "ab" + "ba" + "ab"
    assert (ratio.low, ratio.median, ratio.high) == (1.5, 2, 2.5)


def test_seconds_are_the_median_with_quartiles(clock):
    steps = iter([100, 1, 2, 3, 4, 5])

    def work():
        clock.now += next(steps)

    seconds = seconds_of(work, repeats=5, warmup=1)
    assert seconds.row("work", 3) == Row("work", 3, 2, 4, 3, "s")


@pytest.mark.parametrize(
    ("measured", "bound", "holds"),
    [(1.29, 1.3, True), (1.3, 1.3, True), (1.31, 1.3, False), (None, 1.3, False), (None, None, False)],
)
def test_a_row_holds_within_its_bound_and_survives_json(measured, bound, holds):
    row = Row("a ÷ b", measured, None, None, bound, "×", "why")
    assert row.holds is holds
    values = json.loads(json.dumps(row.to_json()))
    assert list(values) == ["name", "measured", "low", "high", "bound", "unit", "note", "holds"]
    assert values["holds"] is holds
    assert Row.from_json(values) == row


@pytest.mark.parametrize(
    ("value", "text"), [(0.012345, "0.0123"), (1.3, "1.30"), (12.345, "12.3"), (1234.5, "1234"), (0, "0")]
)
def test_figures_have_three_digits(value, text):
    assert significant(value) == text
