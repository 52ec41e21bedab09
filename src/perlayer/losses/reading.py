"""The name of a per-layer loss: which readout, after which layer, how many tokens ahead."""

from __future__ import annotations

from dataclasses import dataclass


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
