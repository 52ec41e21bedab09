"""The shared memory that streaming takes: one start at a time, what killed processes have left, and whether it fits."""

from __future__ import annotations

import contextlib
import fcntl
import mmap
import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path

from perlayer.errors import UserError
from perlayer.lifetimes import alone, is_held, unused

MEMORY = Path("/dev/shm")
PATIENCE = 30.0  # seconds that the starts of other runs may take before it is said
FIXED_BLOCKS = 6  # of a few bytes each: locals, barrier, next_epoch, cache_usage, resume, epoch_shape
BATCHES_ON_THE_WAY = 3  # of a loader's worker: two that it has read ahead, and the one that is handed over


@contextlib.contextmanager
def starting_to_read(needed: int) -> Iterator[None]:
    """Let one run at a time start streaming on this machine, with all its processes.

    Streaming looks for the first free name in shared memory and then takes it; two runs that look at once would take
    the same. What no living process has in use there is removed first. A run on several machines takes its turn on one
    after the other, by name, as every other does: else two could wait for each other for ever.

    Args:
        needed: bytes of shared memory that the run takes.

    Raises:
        UserError: so much is not free, or a run was launched twice on a machine.
    """
    import torch.distributed as distributed

    place = MEMORY if MEMORY.is_dir() else Path("/tmp")  # where every run finds it, whatever its TMPDIR
    several = distributed.is_available() and distributed.is_initialized() and distributed.get_world_size() > 1
    with contextlib.ExitStack() as held:
        for is_turn in _turns() if several else [True]:
            if is_turn:
                held.enter_context(alone(place / f"perlayer-{os.getuid()}.lock", "starting to read shards", PATIENCE))
                remove_dead_blocks()
                require_room(needed)
            if several:
                distributed.barrier()
        yield


def _turns() -> list[bool]:
    """For each machine of the run, in order of name, whether this is the process that speaks for it."""
    import torch.distributed as distributed

    processes: list[tuple[str, str] | None] = [None] * distributed.get_world_size()
    distributed.all_gather_object(processes, (os.uname().nodename, os.environ["LOCAL_RANK"]))
    machines = [machine for machine, _ in processes]
    if len(set(processes)) < len(processes):
        twice = next(machine for machine, rank in processes if processes.count((machine, rank)) > 1)
        raise UserError(
            f"expected one launcher on each machine, found several on {twice}; --nproc starts several processes"
        )
    return [machines.index(machine) == distributed.get_rank() for machine in sorted(set(machines))]


def bytes_needed(sequences: int, shards: int, batch: int, processes: int, workers: int, sequence_bytes: int) -> int:
    """Shared memory that one data set takes on this machine, at most.

    Args:
        batch: sequences a batch of one process.
        processes: that train on this machine.
        workers: loader processes of each.
    """
    together = batch * processes * max(1, workers)
    order = -(-sequences // together) * together  # as int64, padded to whole batches of every worker
    pages = FIXED_BLOCKS + sum(-(-size // mmap.PAGESIZE) for size in (shards, 8 * shards, 8 * order))
    return pages * mmap.PAGESIZE + processes * workers * BATCHES_ON_THE_WAY * batch * sequence_bytes


def require_room(needed: int) -> None:
    """Raise `UserError` unless `needed` bytes of shared memory are free: to write into what is full kills a process."""
    if not MEMORY.is_dir():
        return
    found = os.statvfs(MEMORY)
    free = found.f_bavail * found.f_frsize
    if free < needed:
        raise UserError(
            f"{MEMORY}: expected {needed / 1e6:,.1f} MB of shared memory that is free, for the order of the training "
            f"sequences, found {free / 1e6:,.1f} MB; a container has more by --shm-size"
        )


def remove_dead_blocks() -> None:
    """Remove streaming's blocks that were this user's and that no process has in use."""
    from streaming.base.constant import LOCALS, SHM_TO_CLEAN

    names = re.compile(rf"\d{{6}}_({'|'.join(SHM_TO_CLEAN)})")
    for block in unused(path for path in MEMORY.glob("[0-9]*_*") if names.fullmatch(path.name) and _is_ours(path)):
        prefix = block.name.partition("_")[0]
        if not is_held(block.with_name(f"{prefix}_{LOCALS}")):
            block.unlink(missing_ok=True)


def hold(locals_descriptor: int) -> None:
    """Mark the blocks that belong to the block of an open file as in use: containers may share memory, and no /proc."""
    fcntl.flock(locals_descriptor, fcntl.LOCK_SH)


def _is_ours(path: Path) -> bool:
    try:
        found = path.lstat()
    except FileNotFoundError:
        return False
    return stat.S_ISREG(found.st_mode) and found.st_uid == os.getuid()
