"""The keys of a run that say how its layers are read while it trains, and how heavy each loss is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from perlayer.algorithms.per_layer_loss.training_state import TrainingState
from perlayer.algorithms.per_layer_loss.weighting import check_section, describe, files, layer_weights
from perlayer.algorithms.settings import AlgorithmSettings
from perlayer.errors import require

READOUTS = {
    "none": "nothing",
    "probes": "an RMSNorm and head of its own on the detached stream: the model stays bit for bit the baseline",
    "separate": "an RMSNorm and head of its own; the loss trains it and layers 1 to k",
    "shared": "the model's final norm and head; the loss trains them and layers 1 to k",
    "shared_stop_gradient": "the model's final norm and head; the loss trains layers 1 to k alone",
}
ACTIVE_READOUTS = ("separate", "shared", "shared_stop_gradient")  # whose loss trains the model


@dataclass(frozen=True)
class Settings(AlgorithmSettings):
    """Which readouts stand after the layers below the last, and the weights of their losses."""

    readouts: str
    weighting: dict | None = None  # a shape over depth and what it needs; None: each weighs 1, as the final loss does
    schedule: dict | None = None  # a kind of change over training and what it needs; None: constant

    def __post_init__(self):
        require(self.readouts in READOUTS, "readouts", f"one of {', '.join(READOUTS)}", self.readouts)
        for section in ("weighting", "schedule"):
            mapping = getattr(self, section)
            if mapping is not None:
                expected = f"readouts {', '.join(ACTIVE_READOUTS)} beside it"
                require(self.readouts in ACTIVE_READOUTS, section, expected, self.readouts)
                check_section(section, mapping)

    def check(self, run: Mapping[str, Any]) -> None:
        """Raise `InvalidValue` if the weights do not fit the depth that the run names."""
        if run.get("layers") is not None:
            self.check_depth(run["layers"])

    def check_depth(self, layers: int) -> None:
        """Raise `InvalidValue` if the weights do not fit a model of `layers` layers."""
        if self.weighting is not None:
            layer_weights(self.weighting, None, TrainingState(layers))

    def described(self, layers: int, steps: int) -> dict[str, Any]:
        """What its weights are over depth and training, where the losses train the model."""
        if self.readouts not in ACTIVE_READOUTS:
            return {}
        return describe(self.weighting, self.schedule, TrainingState(layers, steps=steps))

    def files(self) -> list[str]:
        """The files of this folder that such a run needs beside those that every run imports."""
        return files(self.weighting, self.schedule)

    @property
    def readout(self) -> str:
        """The name of one such readout in the per-layer tables."""
        return "probe" if self.readouts == "probes" else self.readouts
