"""The Composer algorithm: the model trains in stages, some of its layers at a time, and as a whole at the end."""

from __future__ import annotations

import torch
from composer.core import Event, State
from composer.loggers import Logger

from perlayer.algorithms.growth.compute import relative_cost
from perlayer.algorithms.growth.settings import EXCLUDED_SCALE, Settings
from perlayer.algorithms.growth.stages import Stage, plan_stages
from perlayer.algorithms.protocol import RunAlgorithm, RunContext
from perlayer.losses.reading import LayerMetric, Reading
from perlayer.model.decoder import Decoder
from perlayer.optim.hyperball import Hyperball


class Growth(RunAlgorithm):
    """In each stage only its layers take gradients; the last stage is the whole model.

    What does not train takes no gradient, so that no product is done for it, and the optimizer leaves it and its state
    alone. Which stage it is follows from the update alone, so a resumed run goes on as it would have. At the first
    update of a stage it logs `compute`, what an update of the stage costs beside one of the whole model.
    """

    freezes = True

    def __init__(self, settings: Settings, steps: int):
        self.settings, self.steps = settings, steps

    def match(self, event: Event, state: State) -> bool:
        return event in (Event.INIT, Event.BATCH_START)

    def apply(self, event: Event, state: State, logger: Logger) -> None:
        if event == Event.INIT:
            self.decoder = state.model.decoder
            self.stages = plan_stages(self.settings, self.decoder.config.layers, self.steps)
            scale_layers(self.decoder, self.settings.excluded or (), EXCLUDED_SCALE)
            for optimizer in state.optimizers:
                begin_states(optimizer)
            return
        update = state.timestamp.batch.value
        stage = stage_at(self.stages, update)
        self.train_only(stage)
        if update == stage.start:
            logger.log_metrics({metric.name: value for metric, value in self.described(stage).items()})

    def train_only(self, stage: Stage) -> None:
        """Let the layers of a stage take gradients, and nothing else of the decoder; all of it in the last stage."""
        whole = not stage.layers
        self.decoder.requires_grad_(whole or self.settings.outside == "trained")
        for number, layer in enumerate(self.decoder.model.layers, 1):
            layer.requires_grad_(whole or number in stage.layers)

    def described(self, stage: Stage) -> dict[LayerMetric, float]:
        """What is logged of a stage."""
        config = self.decoder.config
        everything = tuple(range(1, config.layers + 1))
        last, outside = Reading(config.layers, "head"), not stage.layers or self.settings.outside == "trained"
        return {LayerMetric("compute", last): relative_cost(config, stage.layers or everything, outside)}


def stage_at(stages: tuple[Stage, ...], update: int) -> Stage:
    """The stage to which an update, from 0, belongs."""
    return next(stage for stage in reversed(stages) if stage.start <= update)


def begin_states(optimizer: Hyperball) -> None:
    """Give every parameter the state of one that has not been updated: a checkpoint asks for that of each."""
    for group in optimizer.param_groups:
        moments = ("momentum",) if group["kind"] == "muonh" else ("first", "second")
        for parameter in group["params"]:
            state = optimizer.state[parameter]
            state.update({name: torch.zeros_like(parameter) for name in moments})
            if group["kind"] != "muonh":
                state["step"] = 0


def scale_layers(decoder: Decoder, layers: list[int] | tuple[int, ...], factor: float) -> None:
    """Multiply the matrices of some layers, in place; norms stay as they are."""
    with torch.no_grad():
        for layer in layers:
            for parameter in decoder.model.layers[layer - 1].parameters():
                if parameter.ndim > 1:
                    parameter.mul_(factor)


def build(settings: Settings, context: RunContext) -> Growth:
    return Growth(settings, context.steps)
