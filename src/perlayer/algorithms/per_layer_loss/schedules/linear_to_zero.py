"""Weights that fade."""

from __future__ import annotations

from perlayer.algorithms.per_layer_loss.moment import Duration, Moment

NEEDS_LOSSES = False


def share(layer: int, moment: Moment, *, steps: Duration) -> float:
    """Falls from all to nothing over the first `steps` updates, or over that share of the run."""
    return max(0.0, 1.0 - moment.step / moment.updates(steps))
