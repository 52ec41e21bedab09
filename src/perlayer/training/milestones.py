"""Measuring what is trained before the first update, at even steps between, and after the last."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from composer.core import Callback, State
from composer.loggers import Logger


class Milestones(Callback):
    """Calls `measure(step)` at step 0, `count` times at even distances, and at the last; what it returned is kept.

    It travels in checkpoints, so that a resumed training measures nothing twice.
    """

    def __init__(self, measure: Callable[[int], Any], steps: int, count: int):
        self.measure, self.steps = measure, steps
        self.due = {0, *(round(steps * number / count) for number in range(1, count + 1))}
        self.found: dict[int, Any] = {}

    def _look(self, step: int) -> None:
        if step in self.due and step not in self.found:
            self.found[step] = self.measure(step)

    def fit_start(self, state: State, logger: Logger) -> None:
        self._look(state.timestamp.batch.value)

    def batch_end(self, state: State, logger: Logger) -> None:
        self._look(state.timestamp.batch.value)

    def state_dict(self) -> dict[str, Any]:
        return {"found": self.found}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.found = state["found"]
