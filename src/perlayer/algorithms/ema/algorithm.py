"""Composer's own EMA, kept beside the training weights and out of their way."""

from __future__ import annotations

from contextlib import contextmanager

from composer.algorithms import EMA
from composer.core import Event, State
from composer.loggers import Logger
from torch import nn

from perlayer.algorithms.ema.settings import Settings
from perlayer.algorithms.protocol import RunContext


class WeightAverage(EMA):
    """An average that follows every update; training itself never sees it."""

    def __init__(self, half_life: int):
        super().__init__(half_life=f"{half_life}ba", update_interval="1ba")

    def match(self, event: Event, state: State) -> bool:
        """As Composer does, but that all weights are averaged from the first update on, also those frozen in it."""
        waiting = not self.ema_started
        matches = super().match(event, state)
        if waiting and self.ema_started:
            weights = {name: parameter.data.clone() for name, parameter in state.model.named_parameters()}
            self.ema_model.named_parameters_dict = weights
        return matches

    def apply(self, event: Event, state: State, logger: Logger) -> None:
        """As Composer does, without buffers: they are constants, which an average rounds and no checkpoint holds."""
        super().apply(event, state, logger)
        self.ema_model.named_buffers_dict = {}

    def restore_training_weights(self, model: nn.Module) -> None:
        """Composer leaves the averaged weights in the model after the last checkpoint; put the raw ones back."""
        if self.ema_weights_active:
            self.ema_model.swap_params(model)
            self.ema_weights_active = False

    @contextmanager
    def averaged_weights(self, model: nn.Module):
        """Within this block `model` holds the averaged weights."""
        self.restore_training_weights(model)
        self.ema_model.swap_params(model)
        try:
            yield
        finally:
            self.ema_model.swap_params(model)


def build(settings: Settings, context: RunContext) -> WeightAverage:
    return WeightAverage(settings.half_life)
