"""Starts a training stage in several processes, one a GPU, with Composer's launcher."""

from __future__ import annotations

import os
import subprocess
import sys

from perlayer.environment import Machine
from perlayer.errors import UserError


def launch_processes(machine: Machine) -> bool:
    """Run this very command in `machine.processes` processes, if it asks for several and is not one of them.

    Machines that join in one run are started by hand, each with Composer's launcher and its rank.

    Returns:
        Whether the work was done in those processes.

    Raises:
        UserError: one of them failed; it has said why.
    """
    if machine.processes == 1 or "RANK" in os.environ:
        return False
    command = [sys.executable, "-m", "composer.cli.launcher", "-n", str(machine.processes), *sys.argv]
    if subprocess.run(command).returncode != 0:
        raise UserError(f"one of the {machine.processes} training processes failed; see above")
    return True
