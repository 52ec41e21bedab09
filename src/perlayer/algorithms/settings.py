"""What the settings of every algorithm may be asked before any work is done."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class AlgorithmSettings:
    """Base of the dataclass `Settings` of an algorithm: each method lets all pass unless it is overridden.

    Those that check raise `InvalidValue` with a key of the run.
    """

    def check(self, run: Mapping[str, Any]) -> None:
        """Raise where all that the run says, as it stands in params.yaml, does not go together."""

    def check_depth(self, layers: int) -> None:
        """Raise where it does not fit a model of so many layers."""

    def check_length(self, length: int) -> None:
        """Raise where it does not fit sequences of `length` positions."""

    def check_decoder(self, decoder: Any) -> None:
        """Raise where it does not go with the residual design of `decoder`, a small `Decoder`."""

    def files(self) -> list[str]:
        """Files below the folder of the algorithm that these settings need, beside those that lie in it."""
        return []
