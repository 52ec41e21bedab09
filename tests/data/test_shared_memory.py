"""The shared memory of streaming: what killed processes leave there, and how much a data set takes."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from perlayer.data import shared_memory
from perlayer.data.batches import train_loader
from perlayer.data.shared_memory import bytes_needed, remove_dead_blocks, starting_to_read
from perlayer.errors import UserError

pytestmark = pytest.mark.skipif(not shared_memory.MEMORY.is_dir(), reason="shared memory has no folder here")

# It reads on until it is killed, so that all of its blocks are there, and with it its resource tracker dies.
READS = """
import sys, time
from perlayer.data.batches import train_loader
loader = train_loader(sys.argv[1], 4, 0)
loader.load_state_dict(loader.state_dict() or {"epoch": 0, "sample_in_epoch": 0, "num_canonical_nodes": 1,
    "shuffle_seed": 9176, "initial_physical_nodes": 1, "num_samples": 0, "batch_size": 4})
next(iter(loader))
print(loader.dataset._shm_prefix_int, flush=True)
time.sleep(60)
"""


@pytest.fixture
def reading(shards):
    """A process that reads the shards, and how the names of its blocks begin."""
    command = [sys.executable, "-c", READS, str(shards)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True) as process:
        yield process, f"{int(process.stdout.readline()):06}_"
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)


def test_blocks_of_a_killed_process_are_removed_and_those_of_a_living_one_are_not(reading, monkeypatch):
    process, prefix = reading
    blocks = set(shared_memory.MEMORY.glob(f"{prefix}*"))
    assert {block.name[len(prefix) :] for block in blocks} >= {"locals", "barrier", "next_epoch", "shard_states"}
    remove_dead_blocks()
    assert set(shared_memory.MEMORY.glob(f"{prefix}*")) == blocks
    monkeypatch.setattr(shared_memory, "unused", list)  # as in a container that does not see the process
    remove_dead_blocks()
    assert set(shared_memory.MEMORY.glob(f"{prefix}*")) == blocks
    monkeypatch.undo()
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    other = shared_memory.MEMORY / f"{prefix}of_something_else"
    other.touch()
    try:
        with starting_to_read(0):
            assert set(shared_memory.MEMORY.glob(f"{prefix}*")) == {other}
    finally:
        other.unlink()


def test_what_is_needed_is_what_streaming_takes(shards, monkeypatch):
    """The sizes of the blocks as they are made, against the estimate beforehand."""
    from streaming.base.shared import memory

    made, needed = {}, []
    real, estimated = memory.BuiltinSharedMemory, shared_memory.bytes_needed

    def counted(name, create, size):
        block = real(name, create, size)
        if create:  # those of other trainings are only looked at
            made[block.name] = -(-block.size // 4096) * 4096
        return block

    monkeypatch.setattr(memory, "BuiltinSharedMemory", counted)
    monkeypatch.setattr(
        "perlayer.data.batches.bytes_needed", lambda *numbers: needed.append(estimated(*numbers)) or needed[-1]
    )
    loader = train_loader(shards, 7, 0)
    next(iter(loader))
    state = loader.state_dict()
    loader.load_state_dict(state)
    assert len(made) == 9 and needed == [sum(made.values())]


def test_the_order_of_many_sequences_needs_as_much_as_it_holds():
    """int64 numbers: ten million sequences need 80 MB, more than the 64 MB that a container has by default."""
    needed = bytes_needed(10_000_000, 20_000, 16, 8, 0, 8 * 1025)
    assert 80e6 < needed < 81e6
    assert (
        bytes_needed(10_000_000, 20_000, 16, 8, 2, 8 * 1025) - needed >= 8 * 2 * 2 * 16 * 8 * 1025
    )  # two batches ahead


def test_too_little_room_is_one_line_before_anything_is_taken(shards, monkeypatch):
    class Full:
        f_bavail, f_frsize = 2, 4096

    monkeypatch.setattr(shared_memory.os, "statvfs", lambda path: Full)
    before = set(shared_memory.MEMORY.iterdir())
    expected = "/dev/shm: expected 0.0 MB of shared memory that is free, .*, found 0.0 MB; a container has more by"
    with pytest.raises(UserError, match=expected):
        train_loader(shards, 7, 0)
    assert set(shared_memory.MEMORY.iterdir()) <= before


def test_a_start_that_takes_long_is_said_and_waited_for(monkeypatch, capsys):
    monkeypatch.setattr(shared_memory, "PATIENCE", 0.01)
    said, inside = [], threading.Event()

    def first():
        with starting_to_read(0):
            inside.set()
            deadline = time.monotonic() + 10
            while not said and time.monotonic() < deadline:
                said.extend(capsys.readouterr().err.splitlines())
                time.sleep(0.01)

    thread = threading.Thread(target=first)
    thread.start()
    assert inside.wait(10)
    with starting_to_read(0):
        thread.join()
    assert said == [f"starting to read shards: waiting for process {os.getpid()}, which is at it"]
    assert not Path(shared_memory.MEMORY, f"perlayer-{os.getuid()}.lock").exists()
