"""Sets the learning rates before each update."""

from __future__ import annotations

from composer.core import Callback, State
from composer.loggers import Logger

from perlayer.optim.schedules import schedule_factor
from perlayer.optim.settings import OptimizerSettings


class LearningRateSchedule(Callback):
    """Each group's rate is its peak times the recipe's factor at this update.

    Composer steps its schedulers before it counts the batch, which would shift the schedule by one update.
    """

    def __init__(self, steps: int, schedule: str, warmup: int, decay: float):
        self.arguments = {"steps": steps, "schedule": schedule, "warmup": warmup, "decay": decay}

    @classmethod
    def from_settings(cls, steps: int, settings: OptimizerSettings) -> LearningRateSchedule:
        """The schedule of a recipe over `steps` updates."""
        return cls(steps, settings.schedule, settings.warmup, settings.decay)

    def batch_start(self, state: State, logger: Logger) -> None:
        factor = schedule_factor(state.timestamp.batch.value, **self.arguments)
        for optimizer in state.optimizers:
            for group in optimizer.param_groups:
                group["lr"] = group["peak_lr"] * factor
