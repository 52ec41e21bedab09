"""Which runs are dissected, and on how much text."""

from __future__ import annotations

from dataclasses import dataclass

from perlayer.errors import require
from perlayer.params import names


@dataclass(frozen=True)
class RoutedRuns:
    """The section `routing` of params.yaml."""

    runs: list

    def __post_init__(self):
        names(self.runs, "runs")


@dataclass(frozen=True)
class DepthRuns:
    """The section `depth` of params.yaml."""

    runs: list

    def __post_init__(self):
        names(self.runs, "runs")


@dataclass(frozen=True)
class DepthSettings:
    """The section `depth` of a recipe."""

    sequences: int
    splits: int
    tokens_at_once: int
    texts: int  # of how many sequences each token is looked at alone
    gradient_steps: int  # of integrated gradients

    def __post_init__(self):
        require(self.sequences >= 1, "sequences", "at least 1", self.sequences)
        require(self.splits >= 1, "splits", "at least 1 a sequence", self.splits)
        require(self.tokens_at_once >= 1, "tokens_at_once", "at least 1", self.tokens_at_once)
        require(self.texts >= 1, "texts", "at least 1", self.texts)
        require(self.gradient_steps >= 1, "gradient_steps", "at least 1", self.gradient_steps)

    def sequences_at_once(self, length: int) -> int:
        """How many sequences of a length are run together before anything is replaced in them."""
        return max(1, self.tokens_at_once // length)
