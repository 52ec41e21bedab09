"""How long the pipeline was busy, and when what its stages wrote down says nothing of the pipeline as it is."""

import hashlib
import json

import pytest

from benchmarks.default_pipeline import busy_seconds, question_1, row_of, share_seconds
from benchmarks.project import ROOT, SIZE
from perlayer.params import load
from perlayer.stage import TIMINGS


@pytest.mark.parametrize(
    ("intervals", "seconds"),
    [
        ([], 0),
        ([(10, 20)], 10),
        ([(15, 30), (10, 20)], 20),  # side by side
        ([(0, 100), (10, 20), (50, 60)], 100),
        ([(0, 10), (40, 50)], 50),  # a pause of 30 s counts
        ([(0, 10), (40.5, 50)], 19.5),  # a longer one does not
        ([(0, 100), (10, 20), (125, 130), (1000, 1001)], 131),
    ],
)
def test_busy_is_the_union_of_the_intervals_with_short_pauses(intervals, seconds):
    assert busy_seconds(intervals) == pytest.approx(seconds)


@pytest.mark.parametrize(
    ("part", "others", "seconds"),
    [
        ([], [(0, 10)], 0),
        ([(0, 10)], [], 10),
        ([(0, 10)], [(20, 30)], 10),
        ([(0, 10)], [(0, 10)], 5),
        ([(0, 10), (2, 6)], [(4, 12)], 4 + 2 * 2 / 3 + 4 / 2),  # alone to 4, then two of three, then one of two
    ],
)
def test_stages_side_by_side_share_the_time(part, others, seconds):
    assert share_seconds(part, [*part, *others]) == pytest.approx(seconds)


@pytest.fixture
def project(tmp_path):
    """Two stages, of the same code, that were timed."""
    (tmp_path / "code.py").write_text("one  # a comment is none of it\n")
    (tmp_path / TIMINGS).mkdir(parents=True)
    write(tmp_path, "shard", start=1000.0, end=1060.0)
    write(tmp_path, "train@a", start=1070.0, end=1600.0)
    return tmp_path


def write(project, stage, **values):
    code = {"code.py": hashlib.sha256(b"one\n").hexdigest()}
    timing = {"stage": stage, "seconds": 1.0, "peak_memory_bytes": 1, "size": SIZE, "code": code} | values
    (project / TIMINGS / f"{stage}.json").write_text(json.dumps(timing))


STAGES = ["shard", "train@a"]


def test_minutes_against_a_bound(project):
    row = row_of("all", 15.0, STAGES, project)
    assert (row.name, row.measured, row.bound, row.unit, row.holds) == ("all", 10.0, 15.0, "min", True)
    assert row.note == "slowest: train@a 530 s, shard 60 s"
    write(project, "train@a", start=1070.0, end=1000.0 + 20 * 60)
    assert [row_of("all", bound, STAGES, project).holds for bound in (15.0, 60.0)] == [False, True]


def test_the_share_of_the_stages_that_are_needed(project):
    write(project, "train@b", start=1070.0, end=1670.0)
    row = row_of("part", 15.0, [*STAGES, "train@b"], project, needed=STAGES)
    assert row.measured == pytest.approx((60 + 530 / 2) / 60) and "train@b" not in row.note


def test_question_1_needs_the_training_of_its_runs_and_what_all_share():
    stages = ["plan", "train@a", "train@b", "lens@a", "retrain_heads@a", "report"]
    assert question_1(stages, {"a"}) == ["plan", "train@a", "report"]


@pytest.mark.parametrize(
    ("damage", "note"),
    [
        (lambda project: (project / TIMINGS / "shard.json").unlink(), "not timed: shard"),
        (lambda project: (project / TIMINGS / "shard.json").write_text('{"stage": "shard", "se'), "not timed: shard"),
        (
            lambda project: (project / TIMINGS / "shard.json").write_text('{"stage": "shard", "seconds": 4.1}'),
            "not timed: shard",
        ),
        (
            lambda project: write(project, "train@a", start=1.0, end=2.0, size="smoke"),
            "timed at size smoke: train@a",
        ),
        (lambda project: (project / "code.py").write_text("two\n"), "timed with another code.py: shard, train@a"),
        (lambda project: (project / "code.py").unlink(), "timed with another code.py: shard, train@a"),
    ],
    ids=["missing", "cut short", "of an older form", "another size", "other code", "gone code"],
)
def test_a_timing_that_is_not_of_this_pipeline_names_its_stage(project, damage, note):
    damage(project)
    row = row_of("all", 15.0, STAGES, project)
    assert row.measured is None and not row.holds
    assert row.note == f"run the pipeline first; {note}"


def test_the_default_size_is_that_of_params():
    assert load(ROOT / "params.yaml")["size"] == SIZE
