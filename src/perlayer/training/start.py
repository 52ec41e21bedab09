"""How a stage starts to train: in as many processes as the machine is to use, and with what it has to import."""

from __future__ import annotations

import gc
from pathlib import Path

from perlayer.environment import Machine
from perlayer.training.launch import launch_processes, own_temporary_folder
from perlayer.training.recipe import Recipe
from perlayer.training.settings import Run


def start_training(run: Run, recipe: Recipe, shards: Path, models: Path, metrics: Path) -> None:
    """Train `run` and publish `models/RUN/` and `metrics/RUN/`; see `perlayer.training.run.train`."""
    machine = Machine.from_environment()
    with own_temporary_folder():
        if launch_processes(machine, recipe.train.batch):
            return

        # What the libraries bring stays until the end; to look for garbage in it took a quarter of the import.
        gc.disable()
        from perlayer.training.run import train

        gc.freeze()
        gc.enable()
        train(run, recipe, shards, models, metrics, machine)
