"""What an update costs while parts of the model are frozen."""

from __future__ import annotations

from collections.abc import Collection

from perlayer.model.config import ModelConfig
from perlayer.model.flops import forward_flops


def relative_cost(config: ModelConfig, layers: Collection[int], outside: bool) -> float:
    """Floating-point operations of an update in which only `layers` train, over those of one that trains the whole.

    A product costs as much forward as it does backward for its input and again for its weight (Kaplan et al. 2020,
    section 2.1). Backward for the input goes from the head down to the lowest layer that trains, or to the embedding
    where that trains; for weights it is done only where they train.

    Args:
        outside: whether embedding, final norm and head train.
    """
    head = forward_flops(config, 1, config.sequence_length, 1) - forward_flops(config, 1, config.sequence_length, 0)
    layer = forward_flops(config, 1, config.sequence_length, 0) / config.layers
    forward = config.layers * layer + head
    reached = config.layers if outside else config.layers + 1 - min(layers, default=config.layers + 1)
    backward = reached * layer + head
    weights = len(layers) * layer + outside * head
    return (forward + backward + weights) / (3 * forward)
