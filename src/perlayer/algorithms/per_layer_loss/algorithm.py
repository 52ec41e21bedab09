"""The Composer algorithm: reads every layer while the model trains."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from composer.core import Event, State
from composer.loggers import Logger
from torch import Tensor

from perlayer.algorithms.per_layer_loss.loss import for_the_readout_alone, layer_loss
from perlayer.algorithms.per_layer_loss.settings import Settings
from perlayer.algorithms.per_layer_loss.training_state import TrainingState
from perlayer.algorithms.per_layer_loss.weighting import layer_weights, needs_losses
from perlayer.algorithms.protocol import RunAlgorithm, RunContext
from perlayer.errors import at
from perlayer.losses.reading import Reading
from perlayer.model.readouts import auxiliary_readouts
from perlayer.optim.groups import auxiliary_groups


class PerLayerLoss(RunAlgorithm):
    """loss = w_L CE(h_L) + sum over k < L of w_k CE(h_k), read after layer k as `readouts` says.

    On INIT it gives the model its auxiliary readouts and the optimizer their groups; on AFTER_LOSS it adds the
    losses. A probe's loss joins the sum too: its gradient ends at the detached tap. Where w_k is 0 the model gets no
    gradient of that loss, and a readout of its own is trained as a probe. The losses are logged without their weights.
    """

    def __init__(
        self,
        readouts: str,
        seed: int,
        weighting: Mapping[str, Any] | None = None,
        schedule: Mapping[str, Any] | None = None,
        steps: int | None = None,
    ):
        """
        Args:
            weighting: a shape over depth and what it needs, see `shapes/`; None: each weight is 1.
            schedule: a kind of change over training and what it needs, see `schedules/`; None: the weights stay.
            steps: updates of the whole run; needed by the kinds that look at them.
        """
        self.settings = Settings(readouts, weighting, schedule)
        self.seed, self.steps = seed, steps

    def match(self, event: Event, state: State) -> bool:
        return event in (Event.INIT, Event.AFTER_LOSS)

    def apply(self, event: Event, state: State, logger: Logger) -> None:
        if event == Event.INIT:
            self._join(state)
            return
        losses, weights = self.weighted_losses(state.outputs, state.batch["tokens"], state.timestamp.batch.value)
        total, head = state.loss["total"], self.model.head
        if weights[head.layer] != 1:
            total = total + (weights[head.layer] - 1) * state.loss[head.key]  # the total holds it once
        state.loss = {
            **state.loss,
            **{reading.key: loss for reading, loss in losses.items()},
            "total": sum(self._terms(losses, weights), total),
        }

    def _join(self, state: State) -> None:
        self.model = state.model
        decoder = self.model.decoder
        with at(f"runs.{state.run_name}"):
            self.settings.check_depth(decoder.config.layers)
        if self._has_own_readouts:
            readouts = auxiliary_readouts(decoder.config, self.seed).to(decoder.lm_head.weight.device)
            self.model.readouts = readouts
            for optimizer in state.optimizers:
                for group in auxiliary_groups("readouts", readouts, optimizer):
                    optimizer.add_param_group(group)

    @property
    def _has_own_readouts(self) -> bool:
        return self.settings.readouts in ("probes", "separate")

    def weighted_losses(
        self, taps: list[Tensor], tokens: Tensor, step: int
    ) -> tuple[dict[Reading, Tensor], dict[int, float]]:
        """The losses that `losses` gives, those of weight 0 without gradient for the model; and every layer's weight.

        Args:
            step: 0 for the first update.
        """
        if not needs_losses(self.settings.schedule):
            weights = self._weights(step)
            silent = [layer for layer, weight in weights.items() if weight == 0]
            return self.losses(taps, tokens, silent=silent), weights
        losses = self.losses(taps, tokens)
        weights = self._weights(step, {reading.layer: loss.item() for reading, loss in losses.items()})
        for reading, loss in losses.items():
            if weights[reading.layer] == 0:
                losses[reading] = self._silenced(reading.layer, loss)
        return losses, weights

    def _weights(self, step: int, losses: Mapping[int, float] | None = None) -> dict[int, float]:
        state = TrainingState(self.model.decoder.config.layers, step, self.steps, losses or {})
        return layer_weights(self.settings.weighting, self.settings.schedule, state)

    def _silenced(self, layer: int, loss: Tensor) -> Tensor:
        if not self._has_own_readouts:
            return loss.detach()
        return for_the_readout_alone(loss, self.model.readouts[str(layer)])

    def _terms(self, losses: dict[Reading, Tensor], weights: dict[int, float]) -> Iterator[Tensor]:
        """What each loss below the last layer adds to the total."""
        for reading, loss in losses.items():
            weight = weights[reading.layer]
            if weight == 1 or (weight == 0 and self._has_own_readouts):
                yield loss
            elif weight != 0:
                yield weight * loss

    def validation_losses(self, taps: list[Tensor], tokens: Tensor) -> dict[Reading, Tensor]:
        return self.losses(taps, tokens, reduction="none")

    def losses(
        self, taps: list[Tensor], tokens: Tensor, reduction: str = "mean", silent: Collection[int] = ()
    ) -> dict[Reading, Tensor]:
        """The loss read after each layer below the last, from the taps of `tokens` (batch, length + 1).

        Args:
            silent: layers whose loss gives the model no gradient; readouts of their own are trained as probes.
        """
        decoder, targets = self.model.decoder, tokens[:, 1:]

        def read(layer: int) -> Tensor:
            tap, kind = taps[layer], self.settings.readouts
            if layer in silent:
                tap, kind = tap.detach(), "probes" if self._has_own_readouts else "shared_stop_gradient"
            return layer_loss(decoder, self.model.readouts, kind, layer, tap, targets, reduction)

        with self.model.autocast():
            return {Reading(layer, self.settings.readout): read(layer) for layer in range(1, decoder.config.layers)}


def build(settings: Settings, context: RunContext) -> PerLayerLoss:
    return PerLayerLoss(settings.readouts, context.seed, settings.weighting, settings.schedule, context.steps)
