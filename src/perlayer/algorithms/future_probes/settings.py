"""The `future_probes` key of a run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from perlayer.algorithms.settings import AlgorithmSettings
from perlayer.errors import require

MOST_AHEAD = 127  # what the column `ahead` holds


@dataclass(frozen=True)
class Settings(AlgorithmSettings):
    """Which later token the probes predict."""

    looks_on = True

    ahead: int = 2  # 2 is the token after next

    def __post_init__(self):
        require(2 <= self.ahead <= MOST_AHEAD, "ahead", f"from 2, the token after next, to {MOST_AHEAD}", self.ahead)

    def check_length(self, length: int) -> None:
        """Raise `InvalidValue` unless a sequence of `length` positions has one whose later token it holds."""
        require(self.ahead <= length, "future_probes.ahead", f"at most {length}, the sequence length", self.ahead)

    def described(self, layers: int, steps: int) -> dict[str, Any]:
        return {}
