"""Which runs have their readouts retrained, and for how long."""

from __future__ import annotations

from dataclasses import dataclass

from perlayer.errors import require
from perlayer.params import MOST_STEPS, names


@dataclass(frozen=True)
class RetrainedRuns:
    """The section `retrain_heads` of params.yaml."""

    runs: list

    def __post_init__(self):
        names(self.runs, "runs")


@dataclass(frozen=True)
class RetrainSettings:
    """The section `retrain_heads` of a recipe."""

    steps: int
    warmup: int
    evaluations: int

    def __post_init__(self):
        require(1 <= self.steps <= MOST_STEPS, "steps", f"from 1 to {MOST_STEPS} updates", self.steps)
        require(0 <= self.warmup < self.steps, "warmup", f"from 0 to fewer than {self.steps} steps", self.warmup)
        expected = f"from 1 to the {self.steps} updates"
        require(1 <= self.evaluations <= self.steps, "evaluations", expected, self.evaluations)
