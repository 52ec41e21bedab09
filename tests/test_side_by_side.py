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
[ "$1" = repro ] || echo "$1" >> calls
shift 2
echo "$@" >> calls
case "$1" in
train@b)
    if [ ! -e tried ]; then
        touch tried
        echo "ERROR: Unable to acquire lock. Most likely another DVC process is running." >&2
        exit 255
    fi ;;
lens@b)
    if [ ! -e ran ]; then
        touch ran
        echo "Running stage 'lens@b':"
        echo "ERROR: Unable to acquire lock. Most likely another DVC process is running." >&2
        exit 255
    fi ;;
train@c) [ ! -e broken ] || { echo "error: it is broken" >&2; exit 1; } ;;
esac
echo "done $1"
"""


@pytest.fixture(autouse=True)
def own_dvc(tmp_path, monkeypatch):
    path = tmp_path / "bin" / "dvc"
    path.parent.mkdir()
    path.write_text(DVC)
    path.chmod(path.stat().st_mode | stat.S_IEXEC)
    monkeypatch.setenv("PATH", f"{path.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(side_by_side, "PAUSE", 0.0)
    return tmp_path


def test_every_changed_run_is_trained_and_one_that_missed_its_turn_again(own_dvc, capfd):
    assert side_by_side.main(2) == 0
    calls = (own_dvc / "calls").read_text().splitlines()
    assert sorted(call for call in calls if call.startswith("train@")) == ["train@a", "train@b", "train@b", "train@c"]
    out = capfd.readouterr().out
    assert all(f"done train@{run}" in out for run in "abc") and "Unable" not in out


def test_a_run_gets_its_lens_at_once_and_long_readings_come_after_all_training(own_dvc):
    assert side_by_side.main(1) == 0
    calls = (own_dvc / "calls").read_text().splitlines()
    assert calls == [
        "train@a",
        "lens@a",
        "train@b",
        "train@b",
        "lens@b",
        "commit",
        "lens@b",
        "train@c",
        "lens@c",
        "retrain_heads@a",
    ]


def test_a_run_that_fails_is_said_once_stops_no_other_and_nothing_is_read(own_dvc, capfd):
    (own_dvc / "broken").touch()
    assert side_by_side.main(1) == 1
    calls = sorted(set((own_dvc / "calls").read_text().splitlines()))
    assert calls == ["commit", "lens@a", "lens@b", "train@a", "train@b", "train@c"]
    assert capfd.readouterr().out.count("it is broken") == 1
