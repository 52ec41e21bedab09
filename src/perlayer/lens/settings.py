"""How much text the lenses read, which runs get a tuned lens, and how it is trained."""

from __future__ import annotations

from dataclasses import dataclass

from perlayer.errors import require
from perlayer.params import MOST_STEPS, names


@dataclass(frozen=True)
class TunedRuns:
    """The section `lens` of params.yaml."""

    tuned: list

    def __post_init__(self):
        names(self.tuned, "tuned")


@dataclass(frozen=True)
class LensSettings:
    """The section `lens` of a recipe."""

    sequences: int

    def __post_init__(self):
        require(self.sequences >= 2, "sequences", "at least 2, for a standard error", self.sequences)


@dataclass(frozen=True)
class TunedLensSettings:
    """The section `tuned_lens` of a recipe (Belrose et al. 2023, and their code)."""

    steps: int
    batch: int
    checkpoints: int
    sample: int
    learning_rate: float
    momentum: float
    weight_decay: float
    max_grad_norm: float

    def __post_init__(self):
        require(1 <= self.steps <= MOST_STEPS, "steps", f"from 1 to {MOST_STEPS} updates", self.steps)
        require(self.batch >= 1, "batch", "at least 1 sequence", self.batch)
        expected = f"from 1 to the {self.steps} updates"
        require(1 <= self.checkpoints <= self.steps, "checkpoints", expected, self.checkpoints)
        require(self.sample >= 1, "sample", "at least 1 sequence", self.sample)
        require(0 < self.learning_rate <= 10, "learning_rate", "a number above 0 and up to 10", self.learning_rate)
        require(0 <= self.momentum < 1, "momentum", "a number from 0 to below 1", self.momentum)
        require(0 <= self.weight_decay <= 1, "weight_decay", "a number from 0 to 1", self.weight_decay)
        require(self.max_grad_norm > 0, "max_grad_norm", "a positive number", self.max_grad_norm)
