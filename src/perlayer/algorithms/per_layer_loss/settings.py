"""The keys of a run that say how its layers are read while it trains."""

from __future__ import annotations

from dataclasses import dataclass

from perlayer.errors import require

READOUTS = ("none", "probes", "separate", "shared", "shared_stop_gradient")


@dataclass(frozen=True)
class Settings:
    """Which readouts stand after the layers below the last."""

    readouts: str

    def __post_init__(self):
        require(self.readouts in READOUTS, "readouts", f"one of {', '.join(READOUTS)}", self.readouts)

    @property
    def readout(self) -> str:
        """The name of one such readout in the per-layer tables."""
        return "probe" if self.readouts == "probes" else self.readouts
