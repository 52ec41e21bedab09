"""The `ema` key of a run."""

from __future__ import annotations

from dataclasses import dataclass

from perlayer.errors import require


@dataclass(frozen=True)
class Settings:
    """How slowly the average follows."""

    half_life: int  # updates after which a weight's share in the average has halved

    def __post_init__(self):
        require(self.half_life >= 1, "half_life", "at least 1 update", self.half_life)
