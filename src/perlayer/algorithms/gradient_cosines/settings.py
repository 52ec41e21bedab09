"""The `gradient_cosines` key of a run."""

from __future__ import annotations

from dataclasses import dataclass

from perlayer.algorithms.settings import AlgorithmSettings
from perlayer.errors import require


@dataclass(frozen=True)
class Settings(AlgorithmSettings):
    """How often gradients are compared."""

    every: int  # updates from one comparison to the next; the first is before the first update

    def __post_init__(self):
        require(self.every >= 1, "every", "at least 1 update", self.every)
