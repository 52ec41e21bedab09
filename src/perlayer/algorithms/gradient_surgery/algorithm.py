"""The Composer algorithm: operates on gradients where those of a readout and of the next layer meet."""

from __future__ import annotations

import torch
from composer.core import Algorithm, Event, State
from composer.loggers import Logger
from torch import Tensor

from perlayer.algorithms.gradient_surgery.settings import Settings
from perlayer.algorithms.gradient_surgery.surgery import surgery
from perlayer.algorithms.protocol import RunContext
from perlayer.errors import UserError
from perlayer.model.decoder import Decoder


class GradientSurgery(Algorithm):
    """At each layer below the last the readout's gradient loses what opposes the one from above, token by token.

    On INIT it gives the model its fork.
    """

    def match(self, event: Event, state: State) -> bool:
        return event == Event.INIT

    def apply(self, event: Event, state: State, logger: Logger) -> None:
        decoder = state.model.decoder
        require_one_stream(decoder)
        state.model.fork = surgery(decoder.config.layers)


def require_one_stream(decoder: Decoder) -> None:
    """Raise `UserError` unless what flows between layers is one stream, in which a token has one gradient."""
    embedding = torch.zeros(1, 1, decoder.config.hidden_size, device=decoder.lm_head.weight.device)
    with torch.no_grad():
        state = decoder.design.start(embedding)
    if not isinstance(state, Tensor) or state.shape != embedding.shape:
        raise UserError(
            "gradient_surgery: expected one stream between layers, found a residual design with several: "
            f"{decoder.config.residual}, value_residual {decoder.config.value_residual or 'off'}"
        )


def build(settings: Settings, context: RunContext) -> GradientSurgery:
    return GradientSurgery()
