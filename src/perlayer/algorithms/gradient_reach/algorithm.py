"""The Composer algorithm: limits how far down the loss of a layer reaches."""

from __future__ import annotations

from composer.core import Algorithm, Event, State
from composer.loggers import Logger

from perlayer.algorithms.gradient_reach.reach import own_layer
from perlayer.algorithms.gradient_reach.settings import Settings
from perlayer.algorithms.protocol import RunContext


class GradientReach(Algorithm):
    """The loss read after a layer below the last trains its readout and that layer alone, while the model trains.

    On INIT it gives the model its fork.
    """

    def match(self, event: Event, state: State) -> bool:
        return event == Event.INIT

    def apply(self, event: Event, state: State, logger: Logger) -> None:
        decoder = state.model.decoder
        state.model.fork = own_layer(decoder.design, decoder.config.layers)


def build(settings: Settings, context: RunContext) -> GradientReach:
    return GradientReach()
