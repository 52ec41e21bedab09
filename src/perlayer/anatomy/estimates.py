"""Numbers by which claims about one model are judged: each with its interval, over text or beside random controls."""

from __future__ import annotations

import math

from perlayer.anatomy.tables import AnatomyEstimate
from perlayer.intervals import Interval


def estimate(
    name: str, statistic: str, interval: Interval, covers: str = "text", part: str | None = None
) -> AnatomyEstimate:
    """The row of such a number of the model `name`.

    Args:
        covers: what its interval is over.
        part: what of the model it is about.
    """
    ends = (end if math.isfinite(end) else None for end in (interval.low, interval.high))
    return AnatomyEstimate(name, statistic, part, interval.value, *ends, covers)
