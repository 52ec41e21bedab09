"""How the values of many tokens become a few numbers."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from torch import Tensor

from perlayer.depth.tables import Number

STATS = ("mean", "p95", "max")


class TokenValues:
    """Values of tokens that come a batch at a time, by what they are of: layer, part, metric and other layer.

    A part is a sublayer, or `layer` for the whole of it, whose `Number.sublayer` is None.
    """

    def __init__(self):
        self._values: dict[tuple[int, str, str, int | None], list[np.ndarray]] = {}

    def add(self, layer: int, part: str, metric: str, values: Tensor, other_layer: int | None = None) -> None:
        """Take in one value for each of some tokens, (tokens,); there may be none."""
        key = (layer, part, metric, other_layer)
        self._values.setdefault(key, []).append(values.cpu().numpy())

    @classmethod
    def together(cls, parts: Iterable[TokenValues]) -> TokenValues:
        """The values of several, in their order."""
        joined = cls()
        for part in parts:
            for key, batches in part._values.items():
                joined._values.setdefault(key, []).extend(batches)
        return joined

    def numbers(self, *stats: str) -> list[Number]:
        """Those of `STATS` asked for, over all tokens; none where there were no tokens.

        `p95` is the value that 95 % of tokens do not exceed, between neighbours by straight lines as numpy has it.
        """
        found = []
        for (layer, part, metric, other_layer), batches in self._values.items():
            values, sublayer = np.concatenate(batches).astype(np.float64), None if part == "layer" else part
            if len(values):
                found += [Number(layer, sublayer, metric, stat, _stat(values, stat), other_layer) for stat in stats]
        return found


def _stat(values: np.ndarray, stat: str) -> float:
    if stat == "p95":
        return float(np.quantile(values, 0.95))
    return float({"mean": np.mean, "max": np.max}[stat](values))
