"""LayerSkip's rotational curriculum (Elhoushi et al. 2024, section 4.1.2)."""

from __future__ import annotations

from perlayer.algorithms.per_layer_loss.training_state import TrainingState

NEEDS_LOSSES = False


def share(layer: int, state: TrainingState, *, every: int) -> float:
    """LayerSkip's: one layer in `every`, at each update the next one, so that `every` updates give each its turn."""
    return float((layer - 1 - state.step) % every == 0)
