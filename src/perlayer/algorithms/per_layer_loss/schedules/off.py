"""Weights that are switched off."""

from __future__ import annotations

from perlayer.algorithms.per_layer_loss.moment import Duration, Moment

NEEDS_LOSSES = False


def share(layer: int, moment: Moment, *, step: Duration) -> float:
    """All of it in the first `step` updates, or in that share of the run; then nothing."""
    return float(moment.step < moment.updates(step))
