"""The Composer algorithm: reads every layer while the model trains."""

from __future__ import annotations

from composer.core import Event, State
from composer.loggers import Logger
from torch import Tensor

from perlayer.algorithms.per_layer_loss.loss import layer_loss
from perlayer.algorithms.per_layer_loss.settings import Settings
from perlayer.algorithms.protocol import RunAlgorithm, RunContext
from perlayer.losses.reading import Reading
from perlayer.model.readouts import auxiliary_readouts
from perlayer.optim.groups import auxiliary_groups


class PerLayerLoss(RunAlgorithm):
    """loss = CE(h_L) + sum over k < L of CE(h_k), read after layer k as `readouts` says.

    On INIT it gives the model its auxiliary readouts and the optimizer their groups; on AFTER_LOSS it adds the
    losses. A probe's loss joins the sum too: its gradient ends at the detached tap.
    """

    def __init__(self, readouts: str, seed: int):
        self.settings = Settings(readouts)
        self.seed = seed

    def match(self, event: Event, state: State) -> bool:
        return event in (Event.INIT, Event.AFTER_LOSS)

    def apply(self, event: Event, state: State, logger: Logger) -> None:
        if event == Event.INIT:
            self.model = state.model
            if self.settings.readouts in ("probes", "separate"):
                decoder = self.model.decoder
                readouts = auxiliary_readouts(decoder.config, self.seed).to(decoder.lm_head.weight.device)
                self.model.readouts = readouts
                for optimizer in state.optimizers:
                    for group in auxiliary_groups("readouts", readouts, optimizer):
                        optimizer.add_param_group(group)
            return
        found = self.losses(state.outputs, state.batch["tokens"])
        losses = {reading.key: loss for reading, loss in found.items()}
        state.loss = {**state.loss, **losses, "total": sum(losses.values(), state.loss["total"])}

    def validation_losses(self, taps: list[Tensor], tokens: Tensor) -> dict[Reading, Tensor]:
        return self.losses(taps, tokens, reduction="none")

    def losses(self, taps: list[Tensor], tokens: Tensor, reduction: str = "mean") -> dict[Reading, Tensor]:
        """The loss read after each layer below the last, from the taps of `tokens` (batch, length + 1)."""
        decoder, targets = self.model.decoder, tokens[:, 1:]
        with self.model.autocast():
            return {
                Reading(layer, self.settings.readout): layer_loss(
                    decoder, self.model.readouts, self.settings.readouts, layer, taps[layer], targets, reduction
                )
                for layer in range(1, decoder.config.layers)
            }


def build(settings: Settings, context: RunContext) -> PerLayerLoss:
    return PerLayerLoss(settings.readouts, context.seed)
