"""What the settings of every algorithm may be asked before any work is done."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar


class AlgorithmSettings:
    """Base of the dataclass `Settings` of an algorithm: each method lets all pass unless it is overridden.

    Those that check raise `InvalidValue` with a key of the run.
    """

    looks_on: ClassVar[bool] = False  # whether it changes nothing in training

    def check(self, run: Mapping[str, Any]) -> None:
        """Raise where all that the run says, as it stands in params.yaml, does not go together."""

    def check_depth(self, layers: int) -> None:
        """Raise where it does not fit a model of so many layers."""

    def check_length(self, length: int) -> None:
        """Raise where it does not fit sequences of `length` positions."""

    def check_decoder(self, decoder: Any) -> None:
        """Raise where it does not go with the residual design of `decoder`, a small `Decoder`."""

    def described(self, layers: int, steps: int) -> dict[str, Any]:
        """What the table of all runs says of a run with these settings, by column; without one of its own, `other`.

        Args:
            layers: of the run.
            steps: the updates of the run.
        """
        name = type(self).__module__.split(".")[-2].replace("_", " ")
        return {"other": f"{name} ({in_words(vars(self))})"}

    def files(self) -> list[str]:
        """Files below the folder of the algorithm that these settings need, beside those that lie in it."""
        return []


def in_words(value: Any) -> str:
    """Settings as words; what is nested stands in brackets, what is not set is left out."""
    if isinstance(value, Mapping):
        held = ((name, each) for name, each in value.items() if each is not None)
        return ", ".join(f"{name.replace('_', ' ')} {_bracketed(each)}" for name, each in held)
    if isinstance(value, (list, tuple)):
        return ", ".join(_bracketed(each) for each in value)
    return f"{value:g}" if isinstance(value, float) else str(value).replace("_", " ")


def _bracketed(value: Any) -> str:
    words = in_words(value)
    return f"({words})" if isinstance(value, (Mapping, list, tuple)) else words
