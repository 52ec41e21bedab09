"""The protocol behind which every residual design stands, and how one is found by its name."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from torch import Tensor, nn

from perlayer.errors import UserError
from perlayer.model.config import design_names

if TYPE_CHECKING:
    from perlayer.model.config import ModelConfig
    from perlayer.model.decoder import Decoder


@dataclass(eq=False)
class Sublayer:
    """Where a design is asked to read or write: the attention or the MLP of one block.

    A compiled layer is compiled anew for each value of `index` or `layer` if its design looks at them.
    """

    index: int  # 0-based over the whole model: attention of layer k is 2k-2, its MLP 2k-1
    layer: int  # 1-based
    kind: str  # attention or mlp
    block: nn.Module  # the decoder layer, which holds the design's own modules for it


class ResidualDesign:
    """What a design may do. The state is whatever the design wants to carry from sublayer to sublayer.

    A state is a tensor, or tuples, lists and dictionaries of tensors, all of which have the batch first.

    A design is a file of this folder, named as params.yaml names it, with one subclass called `Design`.
    """

    def __init__(self, config: ModelConfig):
        self.config = config

    def layer_modules(self, layer: int) -> dict[str, nn.Module]:
        """The design's own modules of layer `layer` (1-based), by the name they get in the decoder layer."""
        return {}

    def model_modules(self) -> dict[str, nn.Module]:
        """The design's own modules that belong to no layer, by the name they get in `model`."""
        return {}

    def start(self, embedding: Tensor) -> Any:
        """The state before the first layer, from the embedding (batch, length, hidden)."""
        return embedding

    def read(self, state: Any, sublayer: Sublayer) -> Tensor:
        """The input of a sublayer, (batch, length, hidden)."""
        raise NotImplementedError

    def attend(
        self, state: Any, sublayer: Sublayer, rotary: tuple[Tensor, Tensor], mask: Tensor | None
    ) -> tuple[Tensor, Any]:
        """The output of an attention (batch, length, hidden), and the state with what later layers need of it."""
        return sublayer.block.self_attn(self.read(state, sublayer), rotary, mask), state

    def write(self, state: Any, sublayer: Sublayer, output: Tensor) -> Any:
        """The state after a sublayer has given its output (batch, length, hidden)."""
        raise NotImplementedError

    def tap(self, state: Any, layer: int) -> Tensor:
        """What a readout after layer `layer` (0: the embedding) sees, (batch, length, hidden), before its norm."""
        return state

    def routing(self, state: Any, sublayer: Sublayer) -> dict[str, Tensor]:
        """The weights by which a sublayer reads and writes, for those who look at a finished model; none by default.

        Args:
            state: what the sublayer finds.
            sublayer: or, with `kind` head, `index` 2 x layers and no block, what the model's own readout reads.

        Returns:
            Some of `read` (batch, length, streams), `write` (batch, length, streams), `mixing` (batch, length, streams
            after, streams before) and `sources` (batch, length, sources).
        """
        return {}

    def detach(self, state: Any) -> Any:
        """The state without its history; a design whose state is no tensor says how."""
        return state.detach()

    def initialize(self, model: Decoder) -> None:
        """Scale initial weights, after the recipe's own initialisation."""

    def parameter_group(self, name: str) -> str:
        """The optimizer group of one of the design's own parameters, by its full name.

        adam for norms; routing for small parameters that start at a symmetric point; muonh for matrices that keep their
        norm.
        """
        return "adam"


def check_design(name: str, where: str) -> None:
    """Raise `UserError` unless a design of this name exists."""
    if name not in design_names():
        raise UserError(f"params.yaml: {where}: expected one of {', '.join(design_names())}, found {name!r}")


def build_design(config: ModelConfig) -> ResidualDesign:
    """The design that `config.residual` names."""
    check_design(config.residual, "residual")
    return design_class(config.residual)(config)


def design_class(name: str) -> type[ResidualDesign]:
    """The class of the design that stands in the file `name`."""
    return importlib.import_module(f"perlayer.model.residual.{name}").Design
