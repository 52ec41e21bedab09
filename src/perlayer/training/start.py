"""How a stage starts to train: in as many processes as the machine is to use, and with what it has to import."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from perlayer.environment import Machine
from perlayer.lean_imports import import_lean
from perlayer.runs import Recipe, Run
from perlayer.training.launch import launch_processes


def in_processes(batch: int, train: Callable[[Machine], None]) -> None:
    """Call `train`, which shares out `batch` sequences an update, in each process that this machine is to use.

    Raises:
        UserError: they cannot share the batch, or one of them failed, which has said why.
    """
    machine = Machine.from_environment()
    if not launch_processes(machine, batch):
        import_lean("composer.algorithms", "streaming")
        train(machine)


def start_training(run: Run, recipe: Recipe, shards: Path, models: Path, metrics: Path) -> None:
    """Train `run` and publish `models/RUN/` and `metrics/RUN/`; see `perlayer.training.run.train`."""

    def start(machine: Machine) -> None:
        from perlayer.training.run import train

        train(run, recipe, shards, models, metrics, machine)

    in_processes(recipe.train.batch, start)
