"""LayerNorm Scaling: h + F(RMSNorm(h) / sqrt(l)) in layer l, counted from 1 (Sun et al. 2025, section 4; 2502.05795).

Pre-LN else: what a norm gives shrinks with depth, and with it how fast the variance of the stream grows.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from perlayer.model.norm import RMSNorm, rms_norm
from perlayer.model.residual.protocol import ResidualDesign, Sublayer


class ScaledRMSNorm(RMSNorm):
    """RMSNorm over the square root of the layer, which is a tensor so that all layers compile to the same kernels."""

    def __init__(self, size: int, epsilon: float, layer: int):
        super().__init__(size, epsilon)
        self.register_buffer("layer", torch.tensor(float(layer)), persistent=False)

    def forward(self, hidden: Tensor) -> Tensor:
        return rms_norm(hidden, self.weight * self.layer.rsqrt(), self.epsilon)


class Design(ResidualDesign):
    """One stream, a norm before every sublayer that is scaled by the layer's depth."""

    def layer_modules(self, layer: int) -> dict[str, nn.Module]:
        names = ("input_layernorm", "post_attention_layernorm")
        return {name: ScaledRMSNorm(self.config.hidden_size, self.config.norm_epsilon, layer) for name in names}

    def read(self, state: Tensor, sublayer: Sublayer) -> Tensor:
        block = sublayer.block
        norm = block.input_layernorm if sublayer.kind == "attention" else block.post_attention_layernorm
        return norm(state)

    def write(self, state: Tensor, sublayer: Sublayer, output: Tensor) -> Tensor:
        return state + output
