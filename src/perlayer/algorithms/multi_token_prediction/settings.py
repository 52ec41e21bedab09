"""The `multi_token_prediction` key of a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from perlayer.algorithms.settings import AlgorithmSettings
from perlayer.errors import require

FORMS = ("sequential", "parallel")
MOST_DEPTH = 126  # later tokens whose `ahead` the column of that name holds
LEAST_WEIGHT, MOST_WEIGHT = 1e-6, 1e6  # what float32 gradients bear


@dataclass(frozen=True)
class Settings(AlgorithmSettings):
    """How later tokens are predicted, how many, and how much they weigh."""

    form: str = "sequential"  # DeepSeek-V3's chain of modules, or parallel: Gloeckle's layer a token
    depth: int = 1  # how many tokens beyond the next?
    weight: float = 0.3  # of their mean loss beside the next token's

    def __post_init__(self):
        require(self.form in FORMS, "form", " or ".join(FORMS), self.form)
        require(1 <= self.depth <= MOST_DEPTH, "depth", f"from 1 to {MOST_DEPTH} tokens", self.depth)
        fits = self.weight == 0 or LEAST_WEIGHT <= self.weight <= MOST_WEIGHT
        require(fits, "weight", f"0, or from {LEAST_WEIGHT:g} to {MOST_WEIGHT:g}", self.weight)

    def check(self, run: Mapping[str, Any]) -> None:
        """Raise `InvalidValue` where the run of these keys cuts or turns gradients at the trunk that heads read."""
        for key in ("gradient_reach", "gradient_surgery"):
            found = run.get(key)
            expected = "nothing with multi_token_prediction of form parallel, whose heads read where it cuts"
            require(self.form != "parallel" or found is None, key, expected, found)

    def check_length(self, length: int) -> None:
        """Raise `InvalidValue` unless a sequence of `length` positions has one whose last later token it holds."""
        key = "multi_token_prediction.depth"
        require(self.depth < length, key, f"at most {length - 1} in sequences of {length} tokens", self.depth)

    def described(self, layers: int, steps: int) -> dict[str, Any]:
        return {"multi_token": f"{self.form}, depth {self.depth}, weight {self.weight:g}"}
