"""The page of what is there, beside the page that the pipeline writes."""

import json

import pytest

from perlayer import preview as module
from perlayer.errors import UserError
from perlayer.params import load
from perlayer.preview import first_answer, preview


def test_a_preview_of_all_is_the_page_and_changes_no_out(finished):
    before = finished.bytes_of("data", "metrics", "report")
    finished.command("python", "-m", "perlayer.cli", "preview")
    folder = finished.folder / module.PREVIEW
    assert (folder / "index.html").read_bytes() == (finished.folder / "report/index.html").read_bytes()
    for name, content in finished.bytes_of("metrics/warehouse").items():
        if not name.endswith("manifest.json"):  # which also says what a stage has made it from
            assert (folder / name.removeprefix("metrics/")).read_bytes() == content
    assert finished.bytes_of("data", "metrics", "report") == before
    assert json.loads(finished.dvc("status", "--json")) == {}


def test_the_first_answer_waits_for_the_runs_of_the_first_question(finished):
    assert first_answer(load(finished.folder / "params.yaml")) == ["train@baseline", "train@separate"]


def test_before_any_run_has_ended_it_says_so(finished, tmp_path):
    with pytest.raises(UserError, match="^no run has ended yet; `make repro` trains them"):
        preview(load(finished.folder / "params.yaml"), tmp_path)
