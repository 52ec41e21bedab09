"""The Composer algorithm: sequences skip layers while the model trains."""

from __future__ import annotations

from composer.core import Algorithm, Event, State
from composer.loggers import Logger
from composer.utils import dist

from perlayer.algorithms.layer_dropout.settings import Settings
from perlayer.algorithms.layer_dropout.skipping import (
    SkippingLayer,
    draw_skips,
    require_steady_state,
    skip_probability,
)
from perlayer.algorithms.protocol import RunContext
from perlayer.errors import at


class LayerDropout(Algorithm):
    """Each sequence skips each layer with the probability of that layer and update.

    On INIT it takes the place of the decoder's `run_layer`, and calls what stood there; sequences skip from
    BEFORE_FORWARD to AFTER_FORWARD alone. What is drawn depends on the seed, the update and a sequence's place among
    those of the update, over all processes; so it is the same for a run that is resumed, for any size of a microbatch
    and for any number of processes.
    """

    def __init__(self, settings: Settings, seed: int, steps: int):
        self.settings, self.seed, self.steps = settings, seed, steps

    def match(self, event: Event, state: State) -> bool:
        return event in (Event.INIT, Event.BEFORE_TRAIN_BATCH, Event.BEFORE_FORWARD, Event.AFTER_FORWARD)

    def apply(self, event: Event, state: State, logger: Logger) -> None:
        if event == Event.INIT:
            decoder = state.model.decoder
            with at(f"runs.{state.run_name}"):
                require_steady_state(decoder)
            self.layers = decoder.config.layers
            self.layer = decoder.run_layer = SkippingLayer(decoder.run_layer)
        elif event == Event.BEFORE_TRAIN_BATCH:
            self.skips = self.draw(state.timestamp.batch.value, len(state.batch["tokens"]))
        elif event == Event.BEFORE_FORWARD:
            size = len(state.batch["tokens"])
            self.layer.skips, self.skips = self.skips[:size], self.skips[size:]
        else:
            self.layer.skips = None

    def draw(self, step: int, sequences: int):
        """Which of this process's sequences of an update skip which layers: bool (sequences, layers).

        Args:
            step: updates before this one.
            sequences: of this process; the loader deals out those of an update to the processes in turn.
        """
        most, over_training = self.settings.most, self.settings.over_training
        probabilities = [
            skip_probability(layer, self.layers, step, self.steps, most, over_training)
            for layer in range(1, self.layers + 1)
        ]
        skips = draw_skips(self.seed, step, probabilities, sequences * dist.get_world_size())
        return skips[dist.get_global_rank() :: dist.get_world_size()]


def build(settings: Settings, context: RunContext) -> LayerDropout:
    return LayerDropout(settings, context.seed, context.steps)
