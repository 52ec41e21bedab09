"""What the training of a run asks of an algorithm, beyond Composer's own `Algorithm`."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Any

from composer.core import Algorithm
from torch import Tensor

from perlayer.losses.reading import Reading


@dataclass(frozen=True)
class RunContext:
    """What an algorithm may know of the run it joins."""

    seed: int
    steps: int
    readouts: str = "none"  # what stands after the layers below the last, as the run's key says


class RunAlgorithm(Algorithm):
    """A Composer algorithm that can also read validation text, or train parts of the model alone.

    The package of an algorithm, `perlayer.algorithms.NAME`, has a `settings` module with a frozen dataclass
    `Settings`, an `AlgorithmSettings`, and an `algorithm` module with a function `build(settings, context)` that
    returns one of these, or any other `Algorithm` of Composer.
    """

    freezes = False  # does it take gradients of parts of the model alone in some updates?

    def validation_losses(self, taps: list[Tensor], tokens: Tensor) -> dict[Reading, Tensor]:
        """Losses a token (batch, length) of what the algorithm reads, from the taps of `tokens` (batch, length + 1)."""
        return {}


def build_algorithm(name: str, settings: Any, context: RunContext) -> Algorithm:
    """The algorithm of the folder `name`."""
    return importlib.import_module(f"perlayer.algorithms.{name}.algorithm").build(settings, context)
