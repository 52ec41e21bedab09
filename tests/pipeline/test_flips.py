"""A flipped byte of what a stage hands on; `flip_campaign.py` flips a thousand, and starts stages on them, too."""

import random
import shutil

import pytest
from flip_campaign import KINDS, in_process


@pytest.fixture(scope="module")
def folder(finished, tmp_path_factory):
    """A copy of what the stages of a small project have left."""
    folder = tmp_path_factory.mktemp("flips")
    for name in ("data", "metrics"):
        shutil.copytree(finished.folder / name, folder / name)
    for name in ("params.yaml", "dvc.yaml"):
        shutil.copy(finished.folder / name, folder)
    return folder


@pytest.mark.parametrize("name", KINDS)
def test_whoever_reads_a_flipped_byte_says_so_in_one_line(folder, monkeypatch, name):
    monkeypatch.chdir(folder)
    ended = in_process(KINDS[name], 8, random.Random(f"0-{name}"))
    assert ended["one line"] > 4  # no stage reads the weights of multi-token modules
