"""DeepNorm: LayerNorm(a h + F(h)), a = (2L)^(1/4) with L layers (Wang et al. 2022, section 3.1, figure 2; 2203.00555).

Values: that of a decoder alone. The matrices of a sublayer start smaller by (8L)^(-1/4), queries and keys aside.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn
from torch.nn import functional

from perlayer.model.residual.protocol import ResidualDesign, Sublayer

if TYPE_CHECKING:
    from perlayer.model.decoder import Decoder


class DeepNorm(nn.Module):
    """(2L)^(1/4) h + F(h), then LayerNorm with a scale and no bias, in float32.

    L is a tensor, so that models of every depth compile to the same kernels.
    """

    def __init__(self, size: int, epsilon: float, layers: int):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))
        self.epsilon = epsilon
        self.register_buffer("sublayers", torch.tensor(2.0 * layers), persistent=False)

    def forward(self, state: Tensor, output: Tensor) -> Tensor:
        """Both (batch, length, hidden), and so is what comes out, in the dtype of `state`."""
        total = self.sublayers.pow(0.25) * state + output
        wide = total.float() if total.dtype in (torch.float16, torch.bfloat16) else total
        return functional.layer_norm(wide, self.weight.shape, self.weight, None, self.epsilon).to(state.dtype)


class Design(ResidualDesign):
    """One stream that sublayers read as it is, a norm after every sublayer."""

    def layer_modules(self, layer: int) -> dict[str, nn.Module]:
        names = ("post_attention_norm", "post_mlp_norm")
        config = self.config
        return {name: DeepNorm(config.hidden_size, config.norm_epsilon, config.layers) for name in names}

    def read(self, state: Tensor, sublayer: Sublayer) -> Tensor:
        return state

    def write(self, state: Tensor, sublayer: Sublayer, output: Tensor) -> Tensor:
        block = sublayer.block
        norm = block.post_attention_norm if sublayer.kind == "attention" else block.post_mlp_norm
        return norm(state, output)

    @torch.no_grad()
    def initialize(self, model: Decoder) -> None:
        scale = (8 * self.config.layers) ** -0.25
        for block in model.model.layers:
            attention, mlp = block.self_attn, block.mlp
            for module in (attention.v_proj, attention.o_proj, mlp.gate_proj, mlp.up_proj, mlp.down_proj):
                module.weight.mul_(scale)
