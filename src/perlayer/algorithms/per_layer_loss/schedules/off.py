"""Weights that are switched off."""

from __future__ import annotations

from perlayer.algorithms.per_layer_loss.training_state import Duration, TrainingState

NEEDS_LOSSES = False


def share(layer: int, state: TrainingState, *, step: Duration) -> float:
    """All of it in the first `step` updates, or in that share of the run; then nothing."""
    return float(state.step < state.updates(step))


def ends(state: TrainingState, *, step: Duration) -> int:
    """After how many updates nothing is left of it."""
    return state.updates(step)
