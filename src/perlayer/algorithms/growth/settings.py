"""The `growth` key of a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from perlayer.algorithms.settings import AlgorithmSettings, in_words
from perlayer.errors import InvalidValue, require

PROTOCOLS = ("six_stages",)
OUTSIDE = ("trained", "frozen")
EXCLUDED_SCALE = 0.9  # of the initial weights of a layer that waits for the last stage (the source's anti-layers)


@dataclass(frozen=True)
class Settings(AlgorithmSettings):
    """In which stages the layers of a model train, some of them at a time, before all of it does."""

    protocol: str | None = None  # by depth as the source has it
    stages: list | None = None  # or written out: {layers: [...], share: of the updates}; what is left trains the whole
    excluded: list | None = None  # layers that start at 0.9 of their weights and wait for the last stage
    outside: str = "trained"  # embedding, final norm and head, before the last stage

    def __post_init__(self):
        one = (self.protocol is None) != (self.stages is None)
        require(one, "protocol", f"{' or '.join(PROTOCOLS)}, or stages written out", self.protocol)
        require(self.protocol in (None, *PROTOCOLS), "protocol", " or ".join(PROTOCOLS), self.protocol)
        require(self.outside in OUTSIDE, "outside", " or ".join(OUTSIDE), self.outside)
        for stage in self.stages or ():
            _check_stage(stage)
        shares = sum(stage["share"] for stage in self.stages or ())
        require(shares < 1, "stages", "shares that leave some updates to the whole model", shares)
        for key, layers in (("excluded", self.excluded), *(("stages", stage["layers"]) for stage in self.stages or ())):
            whole = all(type(layer) is int and layer >= 1 for layer in layers or ())
            require(whole, key, "layers as whole numbers from 1", layers)
            require(len(set(layers or ())) == len(layers or ()), key, "each layer once", layers)
        trained = {layer for stage in self.stages or () for layer in stage["layers"]}
        both = sorted(trained & set(self.excluded or ()))
        require(not both, "excluded", "layers that no stage trains", both)

    def check(self, run: Mapping[str, Any]) -> None:
        """Raise `InvalidValue` where the run also looks at gradients."""
        looks = run.get("gradient_cosines")
        require(looks is None, "growth", "no gradient_cosines beside it, which take gradients of every layer", looks)

    def check_depth(self, layers: int) -> None:
        """Raise `InvalidValue` where a model of so many layers lacks one that is named."""
        named = [layer for stage in self.stages or () for layer in stage["layers"]] + list(self.excluded or ())
        require(max(named, default=1) <= layers, "growth", f"layers from 1 to {layers}", max(named, default=1))

    def described(self, layers: int, steps: int) -> dict[str, Any]:
        if self.protocol is not None:
            order = in_words(self.protocol)
        else:
            stages = ((" ".join(map(str, stage["layers"])), stage["share"]) for stage in self.stages)
            order = "stages " + ", ".join(f"{members} ({share:g})" for members, share in stages)
        excluded = f", excluded {' '.join(map(str, self.excluded))}" if self.excluded else ""
        outside = "" if self.outside == "trained" else f", outside {self.outside}"
        return {"growth": f"{order}{excluded}{outside}"}


def _check_stage(stage: Any) -> None:
    fits = isinstance(stage, Mapping) and set(stage) == {"layers", "share"}
    require(fits, "stages", "a list of {layers: [...], share: ...}", stage)
    if not isinstance(stage["layers"], list) or not stage["layers"]:
        raise InvalidValue("stages", "layers as a list of at least one", stage["layers"])
    share = stage["share"]
    number = isinstance(share, (int, float)) and not isinstance(share, bool)
    require(number and 0 < share < 1, "stages", "a share of the updates between 0 and 1", share)
