"""The Composer algorithm: operates on gradients where those of a readout and of the next layer meet."""

from __future__ import annotations

from composer.core import Algorithm, Event, State
from composer.loggers import Logger

from perlayer.algorithms.gradient_surgery.settings import Settings
from perlayer.algorithms.gradient_surgery.surgery import require_one_stream, surgery
from perlayer.algorithms.protocol import RunContext
from perlayer.errors import at


class GradientSurgery(Algorithm):
    """At each layer below the last the readout's gradient loses what opposes the one from above, token by token.

    On INIT it gives the model its fork.
    """

    def match(self, event: Event, state: State) -> bool:
        return event == Event.INIT

    def apply(self, event: Event, state: State, logger: Logger) -> None:
        decoder = state.model.decoder
        with at(f"runs.{state.run_name}"):
            require_one_stream(decoder)
        state.model.fork = surgery(decoder.config.layers)


def build(settings: Settings, context: RunContext) -> GradientSurgery:
    return GradientSurgery()
