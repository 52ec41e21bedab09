"""Learning-rate schedules as the recipe counts them."""

from __future__ import annotations

import math


def schedule_factor(update: int, steps: int, schedule: str, warmup: int, decay: float) -> float:
    """What the peak rates are multiplied by at an update.

    The rate rises linearly from zero over `warmup` updates. `linear` then stays at the peak and falls linearly to
    zero over the last int(decay * steps) updates; `cosine` falls over all updates after the warm-up.

    Args:
        update: 0 for the first update.
        steps: updates of the whole run.
    """
    if update < warmup:
        return update / warmup
    if schedule == "linear":
        falling = min(int(decay * steps), steps - warmup)
        into_fall = update - (steps - falling)
        return 1.0 if into_fall <= 0 else max(0.0, 1.0 - into_fall / falling)
    if schedule == "cosine":
        return 0.5 * (1.0 + math.cos(math.pi * min(1.0, (update - warmup) / (steps - warmup))))
    raise ValueError(f"schedule: expected linear or cosine, found {schedule!r}")
