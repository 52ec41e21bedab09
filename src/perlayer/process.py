"""How a process computes: its device, its threads, and the same numbers every time."""

from __future__ import annotations

import os

import torch

from perlayer.allocator import keep_freed_memory
from perlayer.environment import Machine
from perlayer.errors import UserError


def prepare_process(machine: Machine) -> torch.device:
    """Set up this process as `machine` says, and return the device it computes on.

    Raises:
        UserError: a GPU is asked for, and torch can use none.
    """
    device = choose_device(machine)
    torch.set_num_threads(machine.threads)
    keep_freed_memory()
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # what cuBLAS needs to be deterministic
    torch.use_deterministic_algorithms(True, warn_only=True)
    torch.utils.deterministic.fill_uninitialized_memory = False  # nothing is read before it is written
    return device


def choose_device(machine: Machine) -> torch.device:
    """The GPU of this process where there is one and `machine` does not decline it, else the CPU.

    Raises:
        UserError: a GPU is asked for, and torch can use none.
    """
    available = torch.cuda.is_available()
    if machine.device == "gpu" and not available:
        raise UserError("PERLAYER_DEVICE: expected a GPU that torch can use, found none")
    if not available or machine.device == "cpu":
        return torch.device("cpu")
    return torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0")))
