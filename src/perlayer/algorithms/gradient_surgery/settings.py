"""The `gradient_surgery` key of a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from perlayer.algorithms.per_layer_loss.settings import ACTIVE_READOUTS
from perlayer.algorithms.settings import AlgorithmSettings, in_words
from perlayer.errors import require

if TYPE_CHECKING:
    from perlayer.model.decoder import Decoder

KINDS = ("per_token",)


@dataclass(frozen=True)
class Settings(AlgorithmSettings):
    """What of a readout's gradient goes on to the layers below; without the key, all of it."""

    kind: str  # per_token: without what opposes the gradient from above, token by token

    def __post_init__(self):
        require(self.kind in KINDS, "kind", " or ".join(KINDS), self.kind)

    def check(self, run: Mapping[str, Any]) -> None:
        """Raise `InvalidValue` unless gradients meet after the layers of the run of these keys."""
        expected = f"one of {', '.join(ACTIVE_READOUTS)} with gradient_surgery"
        require(run["readouts"] in ACTIVE_READOUTS, "readouts", expected, run["readouts"])
        reach = run.get("gradient_reach")
        require(
            reach is None, "gradient_reach", "nothing with gradient_surgery, which needs gradients that meet", reach
        )

    def check_decoder(self, decoder: Decoder) -> None:
        """Raise `InvalidValue` unless its residual design goes with this."""
        from perlayer.algorithms.gradient_surgery.surgery import (
            require_one_stream,
        )  # imports torch, which reading params needs not

        require_one_stream(decoder)

    def described(self, layers: int, steps: int) -> dict[str, Any]:
        return {"surgery": in_words(self.kind)}
