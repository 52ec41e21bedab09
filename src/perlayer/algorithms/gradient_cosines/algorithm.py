"""The Composer algorithm: looks at gradients now and then, and leaves training as it is."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager

from composer.core import Event, State
from composer.loggers import Logger
from composer.utils import dist
from torch import Tensor

from perlayer.algorithms.gradient_cosines.cosines import Comparison, compare_gradients
from perlayer.algorithms.gradient_cosines.settings import Settings
from perlayer.algorithms.per_layer_loss.settings import ACTIVE_READOUTS
from perlayer.algorithms.protocol import RunAlgorithm, RunContext
from perlayer.losses.linear_cross_entropy import linear_cross_entropy
from perlayer.losses.reading import LayerMetric, Reading
from perlayer.model.decoder import Decoder, run_layer
from perlayer.model.norm import rms_norm


class GradientCosines(RunAlgorithm):
    """Cosine of each layer loss's gradient with the final loss's, over the layers of the model, and the norm of each.

    Before updates 1, 1 + every, 1 + 2 every, ... it reads the first microbatch of the first process a second time,
    takes the gradients apart from those of training, and logs what it finds.
    """

    def __init__(self, every: int, readouts: str):
        self.settings = Settings(every)
        self.readouts = readouts
        self.measured: int | None = None  # how many updates there were when it last looked

    def match(self, event: Event, state: State) -> bool:
        if event == Event.INIT:
            return True
        done = state.timestamp.batch.value
        due = done % self.settings.every == 0 and done != self.measured  # once an update, at its first microbatch
        return event == Event.BEFORE_FORWARD and due and dist.get_global_rank() == 0

    def apply(self, event: Event, state: State, logger: Logger) -> None:
        if event == Event.INIT:
            self.model = state.model
            return
        self.measured = state.timestamp.batch.value
        logger.log_metrics({metric.name: value for metric, value in self.measure(state.batch["tokens"]).items()})

    def measure(self, tokens: Tensor) -> dict[LayerMetric, float]:
        """Norms and cosines of the gradients on `tokens` (batch, length + 1); a gradient that is 0 has neither."""
        layers = self.model.decoder.model.layers
        found = compare_gradients(self._losses(tokens), layers)
        last = Reading(len(layers), "head")
        metrics = _norms("gradient_norm", last, found.each[0])
        for layer, one in zip(range(len(layers) - 1, 0, -1), found.each[1:]):
            reading = Reading(layer, self.readouts if self.readouts in ACTIVE_READOUTS else "counterfactual")
            metrics |= _norms("gradient_norm", reading, one) | _cosines("gradient_cosine", reading, one)
        if found.summed is not None:
            metrics |= _norms("summed_gradient_norm", last, found.summed)
            metrics |= _cosines("summed_gradient_cosine", last, found.summed)
        return metrics

    def _losses(self, tokens: Tensor) -> Iterator[Tensor]:
        """The mean loss after each layer from the last to the first; what only the layers above needed is released."""
        decoder, targets = self.model.decoder, tokens[:, 1:]
        with self.model.autocast(), _plain_layers(decoder):
            taps = decoder(tokens[:, :-1])
        for layer in range(decoder.config.layers, 0, -1):
            with self.model.autocast():
                norm, weight = self._readout(layer)
                hidden = rms_norm(taps.pop(), norm, decoder.config.norm_epsilon)
                loss = linear_cross_entropy(hidden, weight, targets)
            del hidden
            yield loss
            del loss

    def _readout(self, layer: int) -> tuple[Tensor, Tensor]:
        """The weights of the norm and the head that read a layer; no gradient is formed for them."""
        decoder = self.model.decoder
        if self.readouts == "separate" and layer < decoder.config.layers:
            readout = self.model.readouts[str(layer)]
            return readout.norm.weight.detach(), readout.lm_head.weight.detach()
        return decoder.model.norm.weight.detach(), decoder.lm_head.weight.detach()


@contextmanager
def _plain_layers(decoder: Decoder) -> Iterator[None]:
    """Within this block every layer runs as it stands: a compiled one cannot be differentiated twice."""
    usual, decoder.run_layer = decoder.run_layer, run_layer
    try:
        yield
    finally:
        decoder.run_layer = usual


def _norms(metric: str, reading: Reading, found: Comparison) -> dict[LayerMetric, float]:
    return _named(metric, reading, [norm or math.nan for norm in found.norms])


def _cosines(metric: str, reading: Reading, found: Comparison) -> dict[LayerMetric, float]:
    return _named(metric, reading, found.cosines)


def _named(metric: str, reading: Reading, values: list[float]) -> dict[LayerMetric, float]:
    places = [*range(1, len(values)), None]  # the layers of the model, and all of them
    return {LayerMetric(metric, reading, place): value for place, value in zip(places, values) if math.isfinite(value)}


def build(settings: Settings, context: RunContext) -> GradientCosines:
    return GradientCosines(settings.every, context.readouts)
