import io

import pytest
from rich.console import Console

from perlayer.display import Display, duration
from perlayer.slots import PROGRESSES, Ended


def test_a_log_has_a_line_for_each_stage_that_had_work_and_no_bars():
    log = io.StringIO()
    with Display(3, Console(file=log, soft_wrap=True)) as display:
        display.show(["train@a"], 100.0)
        display.ended("plan", Ended(False, 0.1, None))
        display.ended("train@a", Ended(True, 72.3, None))
        display.ended("train@b", Ended(True, 3.0, "exited with 1"))
        display.say("train@b: " + 200 * "x")
    assert log.getvalue().splitlines() == [
        "2/3 train@a 1:12",
        "3/3 train@b failed after 0:03: exited with 1",
        "train@b: " + 200 * "x",
    ]


def test_a_terminal_has_a_bar_of_all_and_one_of_each_stage_that_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    PROGRESSES.mkdir(parents=True)
    (PROGRESSES / "train@a").write_text("444 1110")
    (PROGRESSES / "train@b").write_text("")  # being written
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, width=100, color_system=None)
    with Display(143, console) as display:
        display.ended("plan", Ended(True, 1.0, None))
        display.show(["train@a", "train@b"], 3000.0)
        display._bars.refresh()
        shown = screen.getvalue().split("all stages")[-1]
        assert "1 of 143, 50 min left" in shown and "444 of 1110" in shown and "train@b" in shown
        display.show(["train@b"], None)
        display._bars.refresh()
        shown = screen.getvalue().split("all stages")[-1]
        assert "1 of 143" in shown and "left" not in shown and "train@a" not in shown
        display.show(["train@b"], 20.0)
        display._bars.refresh()
        assert "less than a minute left" in screen.getvalue().split("all stages")[-1]


@pytest.mark.parametrize(
    "seconds, text", [(0.4, "0:00"), (59.6, "1:00"), (72, "1:12"), (3599.4, "59:59"), (3607, "1:00:07")]
)
def test_durations_are_written_as_people_write_them(seconds, text):
    assert duration(seconds) == text
