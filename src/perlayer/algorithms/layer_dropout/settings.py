"""The `layer_dropout` key of a run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from perlayer.algorithms.settings import AlgorithmSettings
from perlayer.errors import require

if TYPE_CHECKING:
    from perlayer.model.decoder import Decoder

OVER_TRAINING = ("exponential", "constant")


@dataclass(frozen=True)
class Settings(AlgorithmSettings):
    """How often a sequence skips a layer while the model trains."""

    most: float  # how often the last layer is skipped, with `exponential` at the end of training
    over_training: str = "exponential"  # from 0 at the first update (LayerSkip: from scratch), or constant

    def __post_init__(self):
        require(0.0 <= self.most <= 1.0, "most", "a share from 0 to 1", self.most)
        require(self.over_training in OVER_TRAINING, "over_training", " or ".join(OVER_TRAINING), self.over_training)

    def check_decoder(self, decoder: Decoder) -> None:
        """Raise `InvalidValue` unless its residual design goes with this."""
        from perlayer.algorithms.layer_dropout.skipping import (
            require_steady_state,
        )  # imports torch, which reading params needs not

        require_steady_state(decoder)

    def described(self, layers: int, steps: int) -> dict[str, Any]:
        return {"layer_dropout": f"{self.most:g} {self.over_training}"}
