"""How the values of many tokens become a few numbers."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from torch import Tensor

STATS = ("mean", "p95", "max")


class TokenValues:
    """Values of tokens that come a batch at a time, by the place that they are of, such as a layer, and the measure."""

    def __init__(self):
        self._values: dict[tuple, dict[str, list[np.ndarray]]] = {}

    def add(self, place: tuple, measure: str, values: Tensor) -> None:
        """Take in one value for each of some tokens, of any shape; there may be none."""
        if values.numel():
            self._values.setdefault(place, {}).setdefault(measure, []).append(values.flatten().cpu().numpy())

    @classmethod
    def together(cls, parts: Iterable[TokenValues]) -> TokenValues:
        """The values of several, in their order."""
        joined = cls()
        for part in parts:
            for place, measures in part._values.items():
                for measure, batches in measures.items():
                    joined._values.setdefault(place, {}).setdefault(measure, []).extend(batches)
        return joined

    def numbers(self, stat: str) -> dict[tuple, dict[str, float]]:
        """One of `STATS` over all tokens, by place and measure; none where there were no tokens.

        `p95` is the value that 95 % of tokens do not exceed, between neighbours by straight lines as numpy has it.
        """
        return {
            place: {name: _stat(np.concatenate(batches).astype(np.float64), stat) for name, batches in measures.items()}
            for place, measures in self._values.items()
        }


def _stat(values: np.ndarray, stat: str) -> float:
    if stat == "p95":
        return float(np.quantile(values, 0.95))
    return float({"mean": np.mean, "max": np.max}[stat](values))
