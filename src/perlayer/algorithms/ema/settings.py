"""The `ema` key of a run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from perlayer.algorithms.settings import AlgorithmSettings
from perlayer.errors import require
from perlayer.params import MOST_STEPS


@dataclass(frozen=True)
class Settings(AlgorithmSettings):
    """How slowly the average follows."""

    looks_on = True

    half_life: int  # updates after which a weight's share in the average has halved

    def __post_init__(self):
        expected = f"from 1 to {MOST_STEPS} updates"
        require(1 <= self.half_life <= MOST_STEPS, "half_life", expected, self.half_life)

    def described(self, layers: int, steps: int) -> dict[str, Any]:
        return {"ema": True}
