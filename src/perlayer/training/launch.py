"""The processes of a training stage: several, one a GPU, with Composer's launcher; their temporary files."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator

from perlayer.environment import Machine
from perlayer.errors import UserError
from perlayer.lifetimes import temporary_folder, tied


@contextlib.contextmanager
def own_temporary_folder() -> Iterator[None]:
    """A TMPDIR for this run alone, since streaming never removes its lock files and finds those of other runs.

    Processes that a launcher started share the one they were given.
    """
    if "RANK" in os.environ:
        yield
        return
    with temporary_folder("perlayer-") as folder:
        os.environ["TMPDIR"] = tempfile.tempdir = str(folder)
        try:
            yield
        except BaseException:
            # Threads that still read ahead lose this folder now; what they would say of it hides what went wrong.
            threading.excepthook = lambda arguments: None
            raise


def share_of_batch(batch: int, processes: int) -> int:
    """Sequences of an update that each process takes.

    Raises:
        UserError: the processes cannot share the batch evenly.
    """
    if batch % processes:
        raise UserError(f"batch: expected a multiple of the {processes} training processes, found {batch}")
    return batch // processes


def launch_processes(machine: Machine, batch: int) -> bool:
    """Run this very command in `machine.processes` processes, if it asks for several and is not one of them.

    Machines that join in one run are started by hand, each with Composer's launcher and its rank.

    Returns:
        Whether the work was done in those processes.

    Raises:
        UserError: they cannot share the batch, or one of them failed, which has said why.
    """
    if machine.processes == 1 or "RANK" in os.environ:
        return False
    share_of_batch(batch, machine.processes)
    command = tied(sys.executable, "-m", "composer.cli.launcher", "-n", str(machine.processes), *sys.argv)
    if subprocess.run(command).returncode != 0:
        raise UserError(f"one of the {machine.processes} training processes failed; see above")
    return True
