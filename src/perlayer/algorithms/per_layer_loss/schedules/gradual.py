"""LayerSkip's gradual curriculum (Elhoushi et al. 2024, section 4.1.2)."""

from __future__ import annotations

from perlayer.algorithms.per_layer_loss.training_state import TrainingState

NEEDS_LOSSES = False


def share(layer: int, state: TrainingState) -> float:
    """LayerSkip's: layers join from the last but one downwards, layer k after (L-k+1)/(2L) of the run, all at half."""
    return float(2 * state.layers * state.step >= state.steps * (state.layers - layer + 1))
