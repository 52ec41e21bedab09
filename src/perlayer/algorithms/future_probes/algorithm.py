"""The Composer algorithm: a probe after every layer for a later token."""

from __future__ import annotations

from composer.core import Event, State
from composer.loggers import Logger
from torch import Tensor, nn

from perlayer.algorithms.ahead import positions_ahead
from perlayer.algorithms.future_probes.settings import Settings
from perlayer.algorithms.per_layer_loss.loss import layer_loss
from perlayer.algorithms.protocol import RunAlgorithm, RunContext
from perlayer.errors import at
from perlayer.losses.reading import Reading
from perlayer.model.config import ModelConfig
from perlayer.model.initialization import initialize_linear
from perlayer.model.readouts import Readout
from perlayer.optim.groups import auxiliary_groups

NAME = "future_probes"


class FutureProbes(RunAlgorithm):
    """Reads on the detached taps of layers 1 .. L what they know of the token `ahead` positions on.

    On INIT it gives the model the probes and the optimizer their groups; on AFTER_LOSS it adds their losses, whose
    gradient ends at the taps: everything else trains bit for bit as without.
    """

    def __init__(self, ahead: int, seed: int):
        self.settings, self.seed = Settings(ahead), seed

    def match(self, event: Event, state: State) -> bool:
        return event in (Event.INIT, Event.AFTER_LOSS)

    def apply(self, event: Event, state: State, logger: Logger) -> None:
        if event == Event.INIT:
            self._join(state)
            return
        losses = self.losses(state.outputs, state.batch["tokens"])
        state.loss = {
            **state.loss,
            **{reading.key: loss for reading, loss in losses.items()},
            "total": sum(losses.values(), state.loss["total"]),
        }

    def _join(self, state: State) -> None:
        self.model = state.model
        decoder = self.model.decoder
        with at(f"runs.{state.run_name}"):
            self.settings.check_length(decoder.config.sequence_length)
        probes = future_probes(decoder.config, self.seed).to(decoder.lm_head.weight.device)
        self.model.auxiliary[NAME] = probes
        for optimizer in state.optimizers:
            for group in auxiliary_groups(NAME, probes, optimizer):
                optimizer.add_param_group(group)

    def validation_losses(self, taps: list[Tensor], tokens: Tensor) -> dict[Reading, Tensor]:
        return self.losses(taps, tokens, reduction="none")

    def losses(self, taps: list[Tensor], tokens: Tensor, reduction: str = "mean") -> dict[Reading, Tensor]:
        """The loss of each probe, from the taps of `tokens` (batch, length + 1)."""
        decoder, ahead = self.model.decoder, self.settings.ahead
        found = {}
        with self.model.autocast():
            for layer in range(1, decoder.config.layers + 1):
                tap, targets = positions_ahead(taps[layer].detach(), tokens, ahead)
                probes = self.model.auxiliary[NAME]
                loss = layer_loss(decoder, probes, "probes", layer, tap, targets, reduction)
                found[Reading(layer, "probe", ahead)] = loss
        return found


def future_probes(config: ModelConfig, seed: int) -> nn.ModuleDict:
    """A readout for each layer, keyed "1" .. "layers", each with its own random stream."""
    probes = nn.ModuleDict({str(layer): Readout(config) for layer in range(1, config.layers + 1)})
    for layer, probe in probes.items():
        initialize_linear(probe.lm_head, seed, f"{NAME}.{layer}.lm_head")
    return probes


def build(settings: Settings, context: RunContext) -> FutureProbes:
    return FutureProbes(settings.ahead, context.seed)
