"""The processes of a training stage: several, one a GPU, with Composer's launcher."""

from __future__ import annotations

import os
import subprocess
import sys

from perlayer.environment import Machine
from perlayer.errors import UserError
from perlayer.lifetimes import tied


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
    if _run(command) != 0:
        raise UserError(f"one of the {machine.processes} training processes failed; see above")
    return True


def _run(command: list[str]) -> int:
    """Run a command, which is asked to end when this process is, and waited for."""
    with subprocess.Popen(command) as process:
        try:
            return process.wait()
        except KeyboardInterrupt:
            process.terminate()
            raise
