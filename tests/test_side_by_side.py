"""Against a dvc of our own that counts, waits and fails."""

import os
import stat

import pytest

from perlayer import side_by_side

DVC = """#!/bin/sh
if [ "$1" = status ]; then
    echo '{"plan": [], "lens@a": [], "train@a": [], "train@b": [], "train@c": [], "lens@b": [], "lens@c": [],
        "retrain_heads@a": [], "report": []}'
    exit 0
fi
if [ "$1" = stage ]; then
    echo "plan lens@a train@a train@b train@c lens@b lens@c retrain_heads@a report"
    exit 0
fi
if [ "$1" = commit ]; then
    echo "commit $3" >> calls
    if [ -e unwritable ]; then
        echo "ERROR: dvc.lock: cannot be written" >&2
        exit 1
    fi
    exit 0
fi
if [ "$2" != --single-item ]; then
    echo "$@" >> calls
    exit 0
fi
shift 2
echo "repro $@" >> calls
if [ ! -e tried ]; then
    touch tried
    echo "ERROR: Unable to acquire lock. Most likely another DVC process is running." >&2
    exit 255
fi
for stage in "$@"; do
    echo "Running stage '$stage':"
    echo "$stage" >> ran
    if [ "$stage" = train@c ] && [ -e broken ]; then
        echo "error: it is broken" >&2
        exit 1
    fi
    if [ "$stage" = lens@b ] && [ ! -e missed ]; then
        touch missed
        echo "ERROR: Unable to acquire lock. Most likely another DVC process is running." >&2
        exit 255
    fi
    echo "done $stage"
done
"""


PARAMS = """size: smoke
recipes: {smoke: {model: {layers: 2}}}
runs: {a: {residual: sandwich, readouts: none, seed: 0}}
"""


@pytest.fixture(autouse=True)
def own_dvc(tmp_path, monkeypatch):
    path = tmp_path / "bin" / "dvc"
    path.parent.mkdir()
    (tmp_path / "params.yaml").write_text(PARAMS)
    path.write_text(DVC)
    path.chmod(path.stat().st_mode | stat.S_IEXEC)
    monkeypatch.setenv("PATH", f"{path.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(side_by_side, "PAUSE", 0.0)
    monkeypatch.setattr(side_by_side, "SHARE", 1)  # so that one process is given all three runs
    return tmp_path


def lines(folder, name):
    return (folder / name).read_text().splitlines()


FIRST = "repro plan corpus tokenize shard prompts"
ALL = ["lens@a", "lens@b", "lens@c", "retrain_heads@a", "train@a", "train@b", "train@c"]


@pytest.mark.parametrize("jobs", [1, 2, 5])
def test_every_changed_stage_runs_once_and_what_missed_the_lock_is_written_down(own_dvc, capfd, jobs):
    (own_dvc / "tried").touch()
    assert side_by_side.main(jobs) == 0
    ran = lines(own_dvc, "ran")
    assert sorted(ran) == ALL
    assert all(ran.index(f"train@{run}") < ran.index(f"lens@{run}") for run in "abc") and ran[-1] == "retrain_heads@a"
    calls = lines(own_dvc, "calls")
    assert [call for call in calls if call.startswith("commit")] == ["commit lens@b"]
    assert (calls[0], calls[-1]) == (FIRST, "repro")
    assert "Unable" not in capfd.readouterr().out


def test_one_that_does_not_get_the_lock_tries_again(own_dvc):
    (own_dvc / "missed").touch()
    assert side_by_side.main(1) == 0
    assert sorted(lines(own_dvc, "ran")) == ALL
    assert lines(own_dvc, "calls") == [
        FIRST,
        "repro train@a lens@a train@b lens@b train@c lens@c",
        "repro train@a lens@a train@b lens@b train@c lens@c",
        "repro retrain_heads@a",
        "repro",
    ]


def test_a_run_that_fails_is_said_once_stops_no_other_and_nothing_is_read(own_dvc, capfd):
    for name in ("broken", "tried", "missed"):
        (own_dvc / name).touch()
    assert side_by_side.main(1) == 1
    assert sorted(lines(own_dvc, "ran")) == ["lens@a", "lens@b", "train@a", "train@b", "train@c"]
    assert capfd.readouterr().out.count("it is broken") == 1


def test_what_dvc_says_before_any_stage_ends_it(own_dvc, capfd):
    path = own_dvc / "bin" / "dvc"
    path.write_text(DVC.replace("shift 2\n", "shift 2\necho 'ERROR: dvc.yaml is no YAML'\nexit 1\n"))
    assert side_by_side.main(1) == 1
    assert not (own_dvc / "ran").exists() and "dvc.yaml is no YAML" in capfd.readouterr().out


def test_what_cannot_be_written_down_is_said_and_not_tried_for_ever(own_dvc, capfd):
    for name in ("tried", "unwritable"):
        (own_dvc / name).touch()
    assert side_by_side.main(1) == 1
    assert lines(own_dvc, "calls").count("commit lens@b") == 1
    assert "ERROR: dvc.lock: cannot be written" in capfd.readouterr().err


def test_nothing_to_do_takes_two_questions(own_dvc):
    path = own_dvc / "bin" / "dvc"
    path.write_text('#!/bin/sh\necho "$@" >> calls\necho {}\n')
    assert side_by_side.main(1) == 0
    assert lines(own_dvc, "calls") == ["status --json", "repro"]


def test_a_lock_that_dvc_cannot_read_is_one_line(own_dvc, capfd):
    (own_dvc / "dvc.lock").write_text("<<<<<<< HEAD\n")
    assert side_by_side.main(1) == 1
    said = capfd.readouterr().err
    assert said.startswith("error: dvc.lock: expected what DVC can read") and said.count("\n") == 1
    assert not (own_dvc / "calls").exists() and not (own_dvc / ".perlayer/repro.lock").exists()


def test_later_portions_are_smaller_and_the_last_are_single(monkeypatch):
    monkeypatch.setattr(side_by_side, "SHARE", 2)
    work = side_by_side.Work([(f"train@{number}",) for number in range(12)], jobs=2)
    portions = [len(taken) for taken in iter(work.take, [])]
    # a quarter of what is left each time, rounded down, and one at least: of 12, 9, 7, 6, ...
    assert portions == [3, 2, 1, 1, 1, 1, 1, 1, 1]
