"""What a size says of a training."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from perlayer.data.settings import parse_part
from perlayer.model.config import AttentionSettings, ModelSettings
from perlayer.optim.settings import OptimizerSettings
from perlayer.params import parse, recipe
from perlayer.training.settings import Run, TrainSettings


@dataclass(frozen=True)
class Recipe:
    """What a size says of a training."""

    size: str
    model: ModelSettings
    optimizer: OptimizerSettings
    train: TrainSettings
    attention: AttentionSettings

    def of(self, run: Run) -> Recipe:
        """The same over as many updates as the run takes."""
        return dataclasses.replace(self, train=dataclasses.replace(self.train, steps=run.updates(self.train.steps)))


def parse_recipe(params: Mapping[str, Any], size: str | None = None) -> Recipe:
    """Read and check a recipe of params.yaml, by default that of the size in use.

    Raises:
        UserError: names the key that is wrong, what was expected and what was found.
    """
    return Recipe(
        params["size"] if size is None else size,
        parse(ModelSettings, *recipe(params, "model", size)),
        parse(OptimizerSettings, *recipe(params, "optimizer", size)),
        parse(TrainSettings, *recipe(params, "train", size)),
        parse_part(AttentionSettings, *recipe(params, "data", size)),
    )
