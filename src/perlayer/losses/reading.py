"""The names of per-layer numbers: which readout, after which layer, how many tokens ahead."""

from __future__ import annotations

from dataclasses import dataclass

LAYER_METRICS = "layers/train/"  # before the name of each in the logs


@dataclass(frozen=True, order=True)
class Reading:
    """What one per-layer loss reads; `key` is its name in a loss dictionary and in the logs."""

    layer: int
    readout: str
    ahead: int = 1

    @property
    def key(self) -> str:
        return f"{self.readout}/{self.layer}/{self.ahead}"

    @classmethod
    def from_key(cls, key: str) -> Reading:
        readout, layer, ahead = key.split("/")
        return cls(int(layer), readout, int(ahead))


@dataclass(frozen=True)
class LayerMetric:
    """What a per-layer number that is no training loss measures of a reading while a run trains.

    `other_layer` is the second layer of a pair, where there is one.
    """

    metric: str
    reading: Reading
    other_layer: int | None = None

    @property
    def name(self) -> str:
        """Its name in the logs."""
        other = "" if self.other_layer is None else f"/{self.other_layer}"
        return f"{LAYER_METRICS}{self.metric}/{self.reading.key}{other}"

    @classmethod
    def from_name(cls, name: str) -> LayerMetric:
        metric, readout, layer, ahead, *other = name.removeprefix(LAYER_METRICS).split("/")
        return cls(metric, Reading(int(layer), readout, int(ahead)), *map(int, other))
