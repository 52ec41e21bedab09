"""What runs when, against small graphs whose right order is plain."""

import json

import pytest

from perlayer.schedule import Schedule, expected_seconds, in_turn, seconds_left

NEEDS = {
    "plan": [],
    "shard": ["plan"],
    "train@a": ["shard"],
    "train@b": ["shard"],
    "lens@a": ["train@a"],
    "lens@b": ["train@b"],
    "depth@a": ["train@a"],
    "collect": ["lens@a", "lens@b", "depth@a"],
}


def test_a_run_is_read_once_it_is_trained_and_the_rest_keeps_the_order_of_dvc():
    assert in_turn(list(NEEDS)) == [
        "plan",
        "shard",
        "train@a",
        "lens@a",
        "train@b",
        "lens@b",
        "depth@a",
        "collect",
    ]
    assert in_turn(["lens@only", "train@other", "collect"]) == ["lens@only", "train@other", "collect"]


def test_nothing_starts_before_what_it_needs_has_ended():
    schedule = Schedule(NEEDS)
    assert (schedule.start(), schedule.start()) == ("plan", None)
    schedule.end("plan", well=True)
    assert (schedule.start(), schedule.start()) == ("shard", None)
    schedule.end("shard", well=True)
    assert [schedule.start() for _ in range(3)] == ["train@a", "train@b", None]
    schedule.end("train@b", well=True)
    assert [schedule.start() for _ in range(2)] == ["lens@b", None]
    schedule.end("train@a", well=True)
    assert [schedule.start() for _ in range(3)] == ["lens@a", "depth@a", None]
    assert schedule.left == ["lens@b", "lens@a", "depth@a", "collect"]


def test_what_is_no_stage_of_the_schedule_is_there_already():
    schedule = Schedule({"lens@a": NEEDS["lens@a"], "collect": NEEDS["collect"]})
    assert (schedule.start(), schedule.start()) == ("lens@a", None)


def test_what_needs_what_failed_is_left_out_and_the_rest_runs():
    schedule = Schedule(NEEDS)
    for name in ("plan", "shard", "train@a", "train@b"):
        assert schedule.start() == name
        if name != "train@b":
            schedule.end(name, well=name != "train@a")
    assert schedule.left_out == ["lens@a", "depth@a", "collect"]
    assert schedule.start() is None
    schedule.end("train@b", well=True)
    assert schedule.start() == "lens@b"
    schedule.end("lens@b", well=True)
    assert (schedule.left, schedule.failed) == ([], ["train@a"])


def test_what_is_expected_is_what_a_stage_took_at_this_size_or_the_mean_of_its_kind(tmp_path):
    for stage, seconds, size in (("train@a", 10, "nano"), ("train@b", 20, "nano"), ("lens@a", 3, "smoke")):
        text = json.dumps({"stage": stage, "seconds": seconds, "size": size})
        (tmp_path / f"{stage}.json").write_text(text)
    (tmp_path / "plan.json").write_text("")  # half written
    expected = expected_seconds(["train@b", "train@c", "lens@a", "plan"], tmp_path, "nano")
    assert expected == {"train@b": 20, "train@c": 15}
    assert expected_seconds(["train@b"], tmp_path / "none", "nano") == {}


@pytest.mark.parametrize(
    "running_for, slots, seconds",
    [
        ({}, 1, 36.0),
        ({}, 3, 20.0),
        ({"a": 4.0}, 2, 20.0),
        ({"b": 8.0}, 2, 16.0),
        ({"b": 25.0}, 2, 10.0),
    ],  # the longest cannot be shared
)
def test_what_is_left_is_shared_by_the_slots(running_for, slots, seconds):
    expected = {"a": 10.0, "b": 20.0, "c": 6.0}
    if running_for.get("b"):
        expected["c"] = 10.0  # b takes longer than it did: it may end at any moment
    assert seconds_left("abc", running_for, expected, slots) == seconds


def test_nothing_is_said_of_what_is_left_where_part_of_it_never_ran():
    assert seconds_left(["a", "b"], {}, {"a": 10.0}, 1) is None
    assert seconds_left([], {}, {}, 1) == 0.0
