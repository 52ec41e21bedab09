"""The `gradient_reach` key of a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from perlayer.algorithms.per_layer_loss.settings import ACTIVE_READOUTS
from perlayer.algorithms.settings import AlgorithmSettings, in_words
from perlayer.errors import require

REACHES = ("own_layer",)


@dataclass(frozen=True)
class Settings(AlgorithmSettings):
    """How far down the loss read after a layer trains; without the key, all the way to the embedding."""

    reach: str  # own_layer: that layer alone

    def __post_init__(self):
        require(self.reach in REACHES, "reach", " or ".join(REACHES), self.reach)

    def check(self, run: Mapping[str, Any]) -> None:
        """Raise `InvalidValue` unless the run of these keys has losses whose reach this may limit."""
        expected = f"one of {', '.join(ACTIVE_READOUTS)} with gradient_reach"
        require(run["readouts"] in ACTIVE_READOUTS, "readouts", expected, run["readouts"])
        surgery = run.get("gradient_surgery")
        require(surgery is None, "gradient_surgery", "nothing with gradient_reach, where no gradients meet", surgery)

    def described(self, layers: int, steps: int) -> dict[str, Any]:
        return {"reach": in_words(self.reach)}
