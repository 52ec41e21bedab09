"""The logger that remembers every loss of every layer, and what else is measured of layers on the way."""

from __future__ import annotations

import math
import sys
from array import array
from typing import Any

from composer.core import State
from composer.loggers import Logger, LoggerDestination

from perlayer.errors import UserError
from perlayer.layer_metrics import Series
from perlayer.losses.reading import LAYER_METRICS, LayerMetric, Reading
from perlayer.progress import report

PREFIX = "loss/train/"
LINES_IN_A_LOG = 10


class LayerLog(LoggerDestination):
    """Keeps `loss/train/READING` of each update, and layer metrics with the updates before which they were taken.

    It travels in checkpoints, so that a resumed run loses none.
    """

    def __init__(self, run: str, steps: int, quiet: bool):
        self.run, self.steps, self.quiet = run, steps, quiet
        self.losses: dict[str, array] = {}
        self.measured: dict[str, tuple[array, array]] = {}  # steps and values, by name

    def log_metrics(self, metrics: dict[str, Any], step: int | None = None) -> None:
        for name, value in metrics.items():
            if name.startswith(LAYER_METRICS):
                steps, values = self.measured.setdefault(name, (array("q"), array("d")))
                steps.append(step + 1)  # Composer's are the updates done
                values.append(value)
                continue
            key = name.removeprefix(PREFIX)
            if key == name or key == "total":
                continue
            if not math.isfinite(value):
                reading = Reading.from_key(key)
                done = len(self.losses.get(key, ()))
                # Before the first update no rate has been used.
                cause = (
                    "a lower learning rate usually helps" if done else "look at the design and how it is initialised"
                )
                raise UserError(
                    f"run {self.run}: the loss read after layer {reading.layer} ({reading.readout}) is {value} at step "
                    f"{done + 1}; training stops there, and a checkpoint made before is kept; {cause}"
                )
            self.losses.setdefault(key, array("d")).append(value)

    def batch_end(self, state: State, logger: Logger) -> None:
        step = state.timestamp.batch.value
        report(step, self.steps)
        if not self.quiet and (step % max(1, self.steps // LINES_IN_A_LOG) == 0 or step == self.steps):
            last = max(reading for reading in map(Reading.from_key, self.losses) if reading.ahead == 1)
            print(f"{self.run}: step {step} of {self.steps}, loss {self.losses[last.key][-1]:.4f}", file=sys.stderr)

    def state_dict(self) -> dict[str, Any]:
        return {
            "losses": {key: list(values) for key, values in self.losses.items()},
            "measured": {name: (list(steps), list(values)) for name, (steps, values) in self.measured.items()},
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.losses = {key: array("d", values) for key, values in state["losses"].items()}
        self.measured = {
            name: (array("q", steps), array("d", values)) for name, (steps, values) in state["measured"].items()
        }

    def by_reading(self) -> dict[Reading, array]:
        """The losses of each reading, one an update, in order of layer."""
        return dict(sorted((Reading.from_key(key), values) for key, values in self.losses.items()))

    def measured_series(self) -> list[Series]:
        """The layer metrics, in order of metric, layer and other layer, all layers together first."""

        def place(metric: LayerMetric) -> tuple:
            return metric.metric, metric.reading, -1 if metric.other_layer is None else metric.other_layer

        found = {LayerMetric.from_name(name): taken for name, taken in self.measured.items()}
        return [
            Series(metric.reading, "train", metric.metric, *found[metric], metric.other_layer)
            for metric in sorted(found, key=place)
        ]
