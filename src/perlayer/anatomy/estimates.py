"""Numbers by which claims about one model are judged: each with its interval, over text or beside random controls."""

from __future__ import annotations

import math

from perlayer.depth.tables import Number
from perlayer.intervals import Interval


def estimate(layers: int, metric: str, interval: Interval, part: str | None = None) -> list[Number]:
    """The rows of such a number, at the last layer; those of its ends are left out where nothing bounds it.

    Args:
        part: what of the model it is about, as their `sublayer`.
    """
    stats = {"estimate": interval.value, "estimate_low": interval.low, "estimate_high": interval.high}
    return [Number(layers, part, metric, stat, float(end)) for stat, end in stats.items() if math.isfinite(end)]
