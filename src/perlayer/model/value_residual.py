"""Value residual: every attention mixes the first layer's values into its own (Zhou et al. 2024, ResFormer)."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from perlayer.errors import InvalidValue
from perlayer.model.residual.protocol import ResidualDesign, Sublayer

# How much of the first layer's values and of its own an attention starts with (arXiv 2410.17897).
WEIGHTS = {"identity": (0.5, 0.5), "learnable": (0.5, 0.5), "constant": (2.0, 1.0)}


class ValueMix(nn.Module):
    """first x weights[0] + own x weights[1], learned or fixed."""

    def __init__(self, kind: str):
        super().__init__()
        weights = torch.tensor(WEIGHTS[kind])
        if kind == "learnable":
            self.weights = nn.Parameter(weights)
        else:
            self.register_buffer("weights", weights, persistent=False)

    def forward(self, first: Tensor, own: Tensor) -> Tensor:
        weights = self.weights.to(own.dtype)
        return weights[0] * first + weights[1] * own


class ValueResidual(ResidualDesign):
    """Any design whose attention is the usual one, with the first layer's values in all later layers.

    Its state is the design's, and those values.
    """

    def __init__(self, design: ResidualDesign, kind: str):
        super().__init__(design.config)
        if type(design).attend is not ResidualDesign.attend:
            raise InvalidValue("value_residual", "a residual design with the usual attention", design.config.residual)
        self.design, self.kind = design, kind

    def layer_modules(self, layer: int) -> dict[str, nn.Module]:
        modules = self.design.layer_modules(layer)
        return modules if layer == 1 else {**modules, "value_residual": ValueMix(self.kind)}

    def model_modules(self) -> dict[str, nn.Module]:
        return self.design.model_modules()

    def start(self, embedding: Tensor) -> tuple[Any, Tensor | None]:
        return self.design.start(embedding), None

    def read(self, state: tuple[Any, Tensor | None], sublayer: Sublayer) -> Tensor:
        return self.design.read(state[0], sublayer)

    def attend(
        self,
        state: tuple[Any, Tensor | None],
        sublayer: Sublayer,
        rotary: tuple[Tensor, Tensor],
        mask: Tensor | None,
    ) -> tuple[Tensor, Any]:
        attention = sublayer.block.self_attn
        query, key, value = attention.project(self.read(state, sublayer))
        inner, first = state
        if first is None:
            first = value
        else:
            value = sublayer.block.value_residual(first, value)
        return attention.attend(query, key, value, rotary, mask), (inner, first)

    def write(self, state: tuple[Any, Tensor | None], sublayer: Sublayer, output: Tensor) -> tuple[Any, Tensor | None]:
        return self.design.write(state[0], sublayer, output), state[1]

    def tap(self, state: tuple[Any, Tensor | None], layer: int) -> Tensor:
        return self.design.tap(state[0], layer)

    def detach(self, state: tuple[Any, Tensor | None]) -> tuple[Any, Tensor | None]:
        inner, first = state
        return self.design.detach(inner), None if first is None else first.detach()

    def routing(self, state: tuple[Any, Tensor | None], sublayer: Sublayer) -> dict[str, Tensor]:
        return self.design.routing(state[0], sublayer)

    def initialize(self, model: nn.Module) -> None:
        self.design.initialize(model)

    def parameter_group(self, name: str) -> str:
        return "routing" if name.endswith("value_residual.weights") else self.design.parameter_group(name)
