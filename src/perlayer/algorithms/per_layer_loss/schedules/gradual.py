"""LayerSkip's gradual curriculum (Elhoushi et al. 2024, section 4.1.2)."""

from __future__ import annotations

from perlayer.algorithms.per_layer_loss.moment import Moment

NEEDS_LOSSES = False


def share(layer: int, moment: Moment) -> float:
    """LayerSkip's: layers join from the last but one downwards, layer k after (L-k+1)/(2L) of the run, all at half."""
    return float(2 * moment.layers * moment.step >= moment.steps * (moment.layers - layer + 1))
