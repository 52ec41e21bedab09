"""Where the training of a model stands, as schedules see it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

Duration = int | float  # updates, or a share of the run below 1


@dataclass(frozen=True)
class TrainingState:
    """Where the training of a model stands."""

    layers: int
    step: int = 0  # 0 for the first update
    steps: int = 1  # updates of the whole run
    losses: Mapping[int, float] = field(default_factory=dict)  # what was just read after each layer below the last

    def updates(self, duration: Duration) -> int:
        """A duration in updates of this run, at least one."""
        return duration if isinstance(duration, int) else max(1, round(duration * self.steps))
