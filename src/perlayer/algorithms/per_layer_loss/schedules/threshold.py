"""Deeply-Supervised Nets' threshold (Lee et al. 2015, section 2)."""

from __future__ import annotations

from perlayer.algorithms.per_layer_loss.training_state import TrainingState

NEEDS_LOSSES = True


def share(layer: int, state: TrainingState, *, loss: float) -> float:
    """Deeply-Supervised Nets': nothing while the layer's loss is at most `loss`, else 1 - t/N at update t of N."""
    return 1.0 - state.step / state.steps if state.losses[layer] > loss else 0.0
