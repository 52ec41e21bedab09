"""Weights that fade."""

from __future__ import annotations

from perlayer.algorithms.per_layer_loss.training_state import Duration, TrainingState

NEEDS_LOSSES = False


def share(layer: int, state: TrainingState, *, steps: Duration) -> float:
    """Falls from all to nothing over the first `steps` updates, or over that share of the run."""
    return max(0.0, 1.0 - state.step / state.updates(steps))


def ends(state: TrainingState, *, steps: Duration) -> int:
    """After how many updates nothing is left of it."""
    return state.updates(steps)
