"""The `gradient_cosines` key of a run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from perlayer.algorithms.settings import AlgorithmSettings
from perlayer.errors import require


@dataclass(frozen=True)
class Settings(AlgorithmSettings):
    """How often gradients are compared."""

    looks_on = True

    every: int  # updates from one comparison to the next; the first is before the first update

    def __post_init__(self):
        require(self.every >= 1, "every", "at least 1 update", self.every)

    def described(self, layers: int, steps: int) -> dict[str, Any]:
        return {}
