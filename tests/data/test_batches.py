import multiprocessing
import os
import signal
import subprocess

import numpy as np
import psutil
import pytest
import torch
from small_files import small_files

from perlayer.data.batches import read_split, train_loader
from perlayer.data.dataset import read_dataset, read_index
from perlayer.data.shards import write_shards
from perlayer.errors import UserError


def take(loader, count=None):
    batches = []
    for batch in loader:
        batches.append(batch["tokens"])
        if len(batches) == count:
            break
    return batches


@pytest.mark.parametrize("workers", [0, 2])
def test_the_loader_gives_the_rows_in_their_order_in_every_epoch(shards, workers):
    rows = torch.from_numpy(read_split(shards, "train")[:])
    full = len(rows) // 7
    assert len(rows) % 7  # the last batch is not full and is dropped
    loader = train_loader(shards, 7, workers)
    for _ in range(2):
        batches = take(loader)
        assert [batch.shape for batch in batches] == [(7, read_dataset(shards).sequence_length + 1)] * full
        assert torch.equal(torch.cat(batches), rows[: 7 * full]) and batches[0].dtype == torch.int64


@pytest.mark.parametrize("workers", [0, 2])
def test_the_loader_resumes_within_an_epoch(shards, workers):
    rows = torch.from_numpy(read_split(shards, "train")[:])
    loader = train_loader(shards, 4, workers)
    take(loader, 3)
    state = loader.state_dict()
    del loader
    resumed = train_loader(shards, 4, workers)
    resumed.load_state_dict(state)
    full = len(rows) // 4
    assert torch.equal(torch.cat(take(resumed)), rows[12 : 4 * full])
    assert torch.equal(torch.cat(take(resumed)), rows[: 4 * full])  # and the next epoch is whole


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_to_all_of_a_job_leaves_the_workers_to_their_parent(shards, number):
    rows = torch.from_numpy(read_split(shards, "train")[:])
    earlier = set(psutil.Process().children())
    batches = iter(train_loader(shards, 4, 1))
    found = [next(batches)["tokens"]]
    (worker,) = [each for each in psutil.Process().children() if each not in earlier]
    subprocess.run(["kill", f"-{number:d}", str(worker.pid)], check=True)  # by another process than its parent
    found += take(batches)
    assert torch.equal(torch.cat(found), rows[: 4 * (len(rows) // 4)])


def test_a_worker_ends_when_its_parent_asks_it_to(shards):
    earlier = set(psutil.Process().children())
    batches = iter(train_loader(shards, 4, 1))
    next(batches)
    (worker,) = set(psutil.Process().children()) - earlier
    worker.terminate()
    assert worker.wait(timeout=20) in (0, None)


@pytest.mark.parametrize("processes", [2, 4])
def test_processes_share_each_batch(processes):
    """The partition that the loader asks streaming for: an update takes the same rows with any number of processes."""
    from streaming.base.partition import get_partitions

    partition = get_partitions("relaxed", 67, 1, 1, processes, 1, 8 // processes)
    _, _, _, batches, _ = partition.shape
    for batch in range(67 // 8):
        assert sorted(partition[0, :, 0, batch].ravel()) == list(range(8 * batch, 8 * batch + 8))
    assert batches >= 67 // 8


def start_loaders(shards, together, failures):
    torch.set_num_threads(1)
    torch.distributed.is_initialized = lambda: False  # a fork of a process that has trained would wait for the others
    together.wait()
    try:
        for _ in range(8):
            train_loader(shards, 7, 0)
    except Exception as error:
        failures.put(repr(error))
    failures.close()
    failures.join_thread()
    os._exit(0)  # a forked copy of the test process has nothing to clean up


def test_runs_that_start_at_once_do_not_take_each_others_shared_memory(shards):
    """Without the lock about one start in four fails, since streaming looks for a free name before it takes it."""
    train_loader(shards, 7, 0)  # so that the processes below start with everything imported
    context = multiprocessing.get_context("fork")
    together, failures = context.Barrier(4), context.Queue()
    processes = [context.Process(target=start_loaders, args=(shards, together, failures)) for _ in range(4)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(timeout=120)
        process.kill()
    assert [process.exitcode for process in processes] == [0] * 4
    assert failures.empty(), failures.get()


@pytest.fixture
def many_files(tokens, tmp_path):
    """Shards small enough that a split has several files."""
    with small_files(1000):
        write_shards(tokens, tmp_path / "many", val_fraction=0.1, sequence_length=16, seed=42, batch=4)
    return tmp_path / "many"


@pytest.mark.parametrize("split", ["train", "val"])
def test_a_split_gives_what_the_reader_of_streaming_gives(many_files, shards, split):
    from streaming.base.format import reader_from_json

    expected = []
    index = read_index(many_files, split)
    assert len(index) > 1
    for shard in index:
        reader = reader_from_json(str(many_files), split, shard)
        expected += [sample["tokens"] for sample in reader]
    rows = read_split(many_files, split)
    assert len(rows) == len(expected) == getattr(read_dataset(many_files), f"{split}_sequences")
    assert rows[:].dtype == np.int64 and np.array_equal(rows[:], np.stack(expected))
    assert np.array_equal(rows[:], read_split(shards, split)[:])
    assert np.array_equal(rows[5], expected[5]) and np.array_equal(rows[-1], expected[-1])
    assert np.array_equal(rows[1::3], np.stack(expected[1::3]))
    assert np.array_equal(rows[np.array([4, 0])], np.stack([expected[4], expected[0]]))
    assert rows[3:3].shape == (0, 17)
    with pytest.raises(IndexError):
        rows[len(rows)]


def test_wide_tokens_are_read_as_they_were_written(tokens, corpus, tmp_path):
    from perlayer.data.tokens import tokenize

    tokenize(corpus, str(tokens.parent / "tokenizer"), 70_000, tmp_path / "tokenizer", tmp_path / "wide")
    settings = {"val_fraction": 0.1, "sequence_length": 16, "seed": 42, "batch": 4}
    write_shards(tmp_path / "wide", tmp_path / "wide_shards", **settings)
    write_shards(tokens, tmp_path / "shards", **settings)
    assert np.array_equal(read_split(tmp_path / "wide_shards", "val")[:], read_split(tmp_path / "shards", "val")[:])


@pytest.mark.parametrize("world_size", [1, 3])
def test_evaluation_takes_every_row_once(shards, world_size):
    rows = read_split(shards, "val")
    seen = np.concatenate([batch for rank in range(world_size) for batch in rows.batches(4, rank, world_size)])
    assert sorted(map(tuple, seen)) == sorted(map(tuple, rows[:]))
    if world_size == 1:
        assert np.array_equal(seen, rows[:])


def test_more_ranks_than_rows_leave_some_without(shards):
    rows = read_split(shards, "val")
    assert list(rows.batches(4, len(rows), len(rows) + 1)) == []


def test_a_damaged_shard_is_named(shards):
    path = shards / "val" / "shard.00000.mds"
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(UserError, match="shard.00000.mds: damaged: "):
        read_split(shards, "val")[0]
