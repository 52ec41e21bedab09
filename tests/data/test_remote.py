"""Shards that lie elsewhere, here in another folder: the rows of shards that lie here, or an error."""

import gc
import os
import shutil
import threading
import time
from pathlib import Path

import numpy as np
import pytest
import torch
from small_files import small_files

from perlayer.data import remote
from perlayer.data.batches import read_split, train_loader
from perlayer.data.dataset import read_bytes_per_token, read_dataset, verify_shards
from perlayer.data.remote import NotBrought, bring, cache
from perlayer.data.shards import write_shards
from perlayer.errors import UserError
from perlayer.store import describe

SHARD = 1000  # bytes of a file, at most


@pytest.fixture(autouse=True, scope="module")
def impatient():
    """Loaders that are gone wait for each of their workers as long as here, not for five seconds."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("torch.utils.data._utils.MP_STATUS_CHECK_INTERVAL", 0.5)
        yield
        gc.collect()


@pytest.fixture
def here(tokens, tmp_path, monkeypatch):
    """Shards of many small files, below the working folder."""
    with small_files(SHARD):
        write_shards(tokens, tmp_path / "here", val_fraction=0.1, sequence_length=16, seed=42, batch=4)
    monkeypatch.chdir(tmp_path)
    return Path("here")


@pytest.fixture
def elsewhere(here, monkeypatch):
    """The folder of the same shards, of which here is only the manifest."""
    store = here.with_name("store").absolute()
    shutil.copytree(here, store)
    for path in here.iterdir():
        if path.name != "manifest.json":
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    monkeypatch.setenv("PERLAYER_SHARDS", f"{store}/")
    monkeypatch.setattr(remote, "PATIENCE", 0.0)
    return store


def batches(loader, count=None):
    found = []
    for batch in loader:
        found.append(batch["tokens"])
        if len(found) == count:
            break
    return found


@pytest.mark.parametrize("workers", [0, 2])
def test_rows_are_those_of_the_shards_that_lie_there(elsewhere, here, workers, monkeypatch):
    """In every epoch, also where room for few shards makes most of them come again."""
    monkeypatch.setattr(remote, "KEPT_BYTES", 6 * SHARD)
    rows = torch.from_numpy(read_split(elsewhere, "train")[:])
    loader = train_loader(here, 4, workers)
    for _ in range(2):
        assert torch.equal(torch.cat(batches(loader)), rows[: len(rows) // 4 * 4])
    left = list((cache(here) / "train").glob("*.mds"))
    assert len(left) >= 6 and sum(path.stat().st_size for path in left) <= 6 * SHARD
    assert len(list((elsewhere / "train").glob("*.mds"))) > 2 * len(left)


@pytest.mark.parametrize("workers", [0, 2])
def test_the_loader_resumes_within_an_epoch(elsewhere, here, workers):
    rows = torch.from_numpy(read_split(elsewhere, "train")[:])
    loader = train_loader(here, 4, workers)
    batches(loader, 3)
    state = loader.state_dict()
    del loader
    resumed = train_loader(here, 4, workers)
    resumed.load_state_dict(state)
    assert torch.equal(torch.cat(batches(resumed)), rows[12 : len(rows) // 4 * 4])


def test_all_else_is_read_as_if_it_lay_here(elsewhere, here):
    verify_shards(here)
    assert not list((cache(here) / "train").glob("*.mds")), "they are for the loader to bring"
    assert read_dataset(here) == read_dataset(elsewhere)
    assert np.array_equal(read_bytes_per_token(here), read_bytes_per_token(elsewhere))
    for split in ("train", "val"):
        assert np.array_equal(read_split(here, split)[-3:], read_split(elsewhere, split)[-3:])
    assert len(list((cache(here) / "train").glob("*.mds"))) < 4, "only those that were read"


def test_what_lies_here_is_not_brought(elsewhere, here):
    shutil.copytree(elsewhere, here, dirs_exist_ok=True)
    shutil.rmtree(elsewhere)
    verify_shards(here)
    assert len(batches(train_loader(here, 4, 0), 2)) == 2
    assert not Path(".perlayer").exists()


@pytest.mark.parametrize("workers", [0, 2])
def test_a_shard_that_cannot_be_brought_ends_the_iteration_with_its_name(elsewhere, here, workers):
    """Streaming itself ends an epoch early then, or waits for ever."""
    rows, found = torch.from_numpy(read_split(elsewhere, "train")[:]), []
    (elsewhere / "train/shard.00005.mds").unlink()
    with pytest.raises(NotBrought, match=rf"{elsewhere}/train/shard\.00005\.mds: cannot be read: .*No such file"):
        for batch in train_loader(here, 4, workers):
            found.append(batch["tokens"])
    assert len(found) and torch.equal(torch.cat(found), rows[: 4 * len(found)])


def test_what_differs_from_the_manifest_is_not_kept(elsewhere, here):
    rows = torch.from_numpy(read_split(elsewhere, "train")[:])
    path = elsewhere / "train/shard.00002.mds"
    content = path.read_bytes()
    path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    for _ in range(2):
        with pytest.raises(NotBrought, match=r"shard\.00002\.mds: expected what manifest\.json says, found other"):
            bring(here, "train/shard.00002.mds")
        assert os.listdir(cache(here) / "train") == []
    path.write_bytes(content)
    brought = bring(here, "train/shard.00002.mds")
    assert brought.read_bytes() == content
    brought.write_bytes(content[:-1])  # damaged here
    assert torch.equal(torch.cat(batches(train_loader(here, 4, 0))), rows[: len(rows) // 4 * 4])
    assert brought.read_bytes() == content


def test_a_store_that_is_away_for_a_moment_is_waited_for(elsewhere, here, monkeypatch):
    away = elsewhere.with_name("away")
    elsewhere.rename(away)
    with pytest.raises(NotBrought):
        bring(here, "dataset.json", patient=True)
    monkeypatch.setattr(remote, "PATIENCE", 60.0)
    monkeypatch.setattr(remote, "PAUSE", 0.05)
    threading.Timer(0.5, away.rename, [elsewhere]).start()
    begin = time.monotonic()
    assert bring(here, "dataset.json", patient=True).read_bytes() == (elsewhere / "dataset.json").read_bytes()
    assert 0.4 < time.monotonic() - begin < 30


def test_what_was_brought_of_other_shards_goes(elsewhere, here):
    brought = bring(here, "dataset.json")
    shutil.copytree(elsewhere, here, dirs_exist_ok=True)
    (here / "more").write_text("more")
    (here / "manifest.json").write_text(describe(here).to_json())
    (here / "dataset.json").unlink()
    assert bring(here, "dataset.json").exists() and not brought.exists()


def test_without_a_manifest_it_says_which_command_brings_it(elsewhere, here):
    (here / "manifest.json").unlink()
    with pytest.raises(UserError, match=r"^here/manifest\.json: no such file, .*`dvc pull here/manifest\.json`"):
        verify_shards(here)


def test_an_address_that_nothing_reads_is_named(here, elsewhere, monkeypatch):
    monkeypatch.setenv("PERLAYER_SHARDS", "gopher://bucket")
    with pytest.raises(NotBrought, match=r"^gopher://bucket/dataset\.json: cannot be read: Unsupported remote path"):
        read_dataset(here)
