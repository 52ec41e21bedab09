"""`make repro`, killed and started again; `kill_campaign.py` does so with whole runs, hundreds of times."""

import random
import shutil

from kill_campaign import OUTS, Campaign, compare, locked, wait_for_the_dying
from small_project import Project

from perlayer.dvc_files import LockFile


def test_killed_again_and_again_it_ends_with_the_same_bytes_and_leaves_nothing(finished, tmp_path):
    """All of it amid a training; then the first process alone, at a write of dvc.lock: what it started must follow."""
    folder = tmp_path / "project"
    shutil.copytree(finished.folder, folder, symlinks=True)
    project, temporary = Project(folder), tmp_path / "temporary"
    temporary.mkdir()
    expected, lock = project.bytes_of(*OUTS), locked(project)
    shutil.rmtree(folder / "data/models/growing")
    shutil.rmtree(folder / ".dvc/cache/runs")  # or DVC answers from it, or from the entry
    text = (folder / "dvc.lock").read_text()
    (folder / "dvc.lock").write_text(text.replace(LockFile.parse(text).entries["train@growing"], ""))
    (folder / ".perlayer/dvc.lock").unlink(missing_ok=True)
    campaign = Campaign(project, temporary, random.Random(0))
    assert campaign.start_and_kill(0.0, leader=False, after=".perlayer/scratch/growing-*/*-ba2-*.pt")
    assert campaign.start_and_kill(0.0, leader=True, on_write=True)
    campaign.finish()
    compare(project, expected, lock)
    assert wait_for_the_dying(campaign) == []
