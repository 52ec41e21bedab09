"""A mean over held-out sequences, and how sure it is."""

from __future__ import annotations

import math
from dataclasses import dataclass

from torch import Tensor


@dataclass(frozen=True)
class Estimate:
    """A mean and its standard error over sequences, whose tokens are not independent."""

    mean: float
    standard_error: float

    @classmethod
    def of(cls, values: Tensor) -> Estimate:
        """From one value a sequence, (sequences,), at least two."""
        wide = values.double()
        return cls(wide.mean().item(), (wide.std() / math.sqrt(len(wide))).item())
