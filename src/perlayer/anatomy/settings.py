"""Which models are dissected to see what their layers are made of, and how thoroughly."""

from __future__ import annotations

from dataclasses import dataclass

from perlayer.errors import require
from perlayer.params import MOST_STEPS, is_number, names

MOST_RESAMPLES = 10_000  # each holds a number a document
NAMED_STRENGTHS = (0.1, 1.0)  # scaling by 0.9, and the whole way


@dataclass(frozen=True)
class AnatomyRuns:
    """The section `anatomy` of params.yaml."""

    runs: list
    published_recovery: list  # published models whose layers are also trained back after noise

    def __post_init__(self):
        names(self.runs, "runs")
        names(self.published_recovery, "published_recovery")


@dataclass(frozen=True)
class AnatomySettings:
    """The section `anatomy` of a recipe."""

    sequences: int
    tokens_at_once: int
    resamples: int  # of the documents, for intervals
    entries: int  # of each matrix, from which it is predicted and on which that is measured
    manipulated_layers: int  # at most
    strengths: list  # from above 0 to 1, of manipulations
    noise: float  # of a perturbed layer, in standard deviations of each matrix
    recovery_steps: int  # updates at most; 0: no layer is trained back
    recovery_batch: int
    recovery_learning_rate: float
    recovery_within: float  # how far perplexity may lie above the untouched model's, as a share of it
    recovery_every: int  # updates between looks at perplexity
    recovery_sequences: int  # held-out sequences of each look

    def __post_init__(self):
        for key in ("sequences", "recovery_sequences"):
            require(getattr(self, key) >= 2, key, "at least 2", getattr(self, key))
        expected = f"at least 40, for an interval of 95 %, and at most {MOST_RESAMPLES}"
        require(40 <= self.resamples <= MOST_RESAMPLES, "resamples", expected, self.resamples)
        require(self.entries >= 4, "entries", "at least 4, two to fit to and two to measure on", self.entries)
        for key in ("tokens_at_once", "manipulated_layers", "recovery_batch", "recovery_every"):
            require(getattr(self, key) >= 1, key, "at least 1", getattr(self, key))
        fits = all(is_number(strength) and 0 < strength <= 1 for strength in self.strengths)
        rises = bool(self.strengths) and fits and self.strengths == sorted(set(self.strengths))
        require(rises, "strengths", "rising numbers above 0 and up to 1", self.strengths)
        named = all(strength in self.strengths for strength in NAMED_STRENGTHS)
        require(named, "strengths", "0.1 and 1.0 among them, which are compared", self.strengths)
        for key in ("noise", "recovery_learning_rate", "recovery_within"):
            require(getattr(self, key) > 0, key, "a positive number", getattr(self, key))
        expected = f"from 0 to {MOST_STEPS} updates"
        require(0 <= self.recovery_steps <= MOST_STEPS, "recovery_steps", expected, self.recovery_steps)
