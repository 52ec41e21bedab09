"""`make repro`, killed and started again; `kill_campaign.py` does so with whole runs, hundreds of times."""

import random
import shutil

from kill_campaign import OUTS, Campaign, compare, locked, wait_for_the_dying
from small_project import Project


def test_killed_again_and_again_it_ends_with_the_same_bytes_and_leaves_nothing(finished, tmp_path):
    """In a training, at a write of dvc.lock, and the first process alone, so that those it has started must follow."""
    folder = tmp_path / "project"
    shutil.copytree(finished.folder, folder, symlinks=True)
    project, temporary = Project(folder), tmp_path / "temporary"
    temporary.mkdir()
    expected, lock = project.bytes_of(*OUTS), locked(project)
    shutil.rmtree(folder / "data/models/separate")
    shutil.rmtree(folder / ".dvc/cache/runs")  # or DVC answers from it
    campaign = Campaign(project, temporary, random.Random(0))
    assert campaign.start_and_kill(3.0, leader=False, stage="train@separate")
    assert campaign.start_and_kill(2.0, leader=True, stage="train@separate")
    assert campaign.start_and_kill(0.0, leader=False, on_write=True)
    campaign.finish()
    compare(project, expected, lock)
    assert wait_for_the_dying(campaign) == []
