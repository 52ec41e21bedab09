"""The Composer algorithm: predicts later tokens while the model trains."""

from __future__ import annotations

from composer.core import Event, State
from composer.loggers import Logger
from torch import Tensor

from perlayer.algorithms.multi_token_prediction.loss import future_losses
from perlayer.algorithms.multi_token_prediction.modules import future_modules
from perlayer.algorithms.multi_token_prediction.settings import Settings
from perlayer.algorithms.protocol import RunAlgorithm, RunContext
from perlayer.errors import at
from perlayer.losses.reading import Reading
from perlayer.optim.groups import auxiliary_groups

NAME = "multi_token_prediction"


class MultiTokenPrediction(RunAlgorithm):
    """loss = CE(next token) + weight x mean over k = 1 .. depth of CE(token k after the next).

    On INIT it gives the model the modules that predict later tokens and the optimizer their groups; on AFTER_LOSS it
    adds their losses. At weight 0 the modules learn on the model as it is and leave it bit for bit alone. The losses
    are logged without the weight.
    """

    def __init__(self, form: str = "sequential", depth: int = 1, weight: float = 0.3, seed: int = 0):
        self.settings, self.seed = Settings(form, depth, weight), seed

    def match(self, event: Event, state: State) -> bool:
        return event in (Event.INIT, Event.AFTER_LOSS)

    def apply(self, event: Event, state: State, logger: Logger) -> None:
        if event == Event.INIT:
            self._join(state)
            return
        weight, losses = self.settings.weight, self.losses(state.outputs, state.batch["tokens"])
        share = (weight if weight else 1.0) / self.settings.depth
        state.loss = {
            **state.loss,
            **{reading.key: loss for reading, loss in losses.items()},
            "total": state.loss["total"] + share * sum(losses.values()),
        }

    def _join(self, state: State) -> None:
        self.model, settings = state.model, self.settings
        decoder = self.model.decoder
        with at(f"runs.{state.run_name}"):
            settings.check_length(decoder.config.sequence_length)
        modules = future_modules(settings.form, settings.depth, decoder.config, self.seed, NAME)
        self.model.auxiliary[NAME] = modules.to(decoder.lm_head.weight.device)

        def kind(name: str) -> str:
            ahead, _, rest = name.partition(".")
            return modules[ahead].kind(rest)

        for optimizer in state.optimizers:
            for group in auxiliary_groups(NAME, modules, optimizer, kind):
                optimizer.add_param_group(group)

    def validation_losses(self, taps: list[Tensor], tokens: Tensor) -> dict[Reading, Tensor]:
        return self.losses(taps, tokens, reduction="none")

    def losses(self, taps: list[Tensor], tokens: Tensor, reduction: str = "mean") -> dict[Reading, Tensor]:
        """The loss of each later token, from the taps of `tokens` (batch, length + 1)."""
        decoder, settings = self.model.decoder, self.settings
        with self.model.autocast():
            losses = future_losses(
                decoder,
                self.model.auxiliary[NAME],
                settings.form,
                taps,
                tokens,
                trains_model=settings.weight != 0,
                reduction=reduction,
            )
        layers = decoder.config.layers
        return {Reading(layers, "multi_token", ahead): loss for ahead, loss in losses.items()}


def build(settings: Settings, context: RunContext) -> MultiTokenPrediction:
    return MultiTokenPrediction(settings.form, settings.depth, settings.weight, context.seed)
