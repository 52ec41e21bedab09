"""KEEL: RMSNorm_post(a h + F(RMSNorm_pre(h))), a = 2L, the number of sublayers (Chen and Wei 2026; 2601.19895).

The first layer differs: its attention adds as in Pre-LN, h + F(RMSNorm_pre(h)), and in its MLP a is 1.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from perlayer.model.norm import RMSNorm
from perlayer.model.residual.protocol import ResidualDesign, Sublayer


class PostNorm(RMSNorm):
    """RMSNorm of a h + F; `a` is a tensor, so that all layers and depths compile to the same kernels."""

    def __init__(self, size: int, epsilon: float, gain: float):
        super().__init__(size, epsilon)
        self.register_buffer("gain", torch.tensor(float(gain)), persistent=False)

    def forward(self, state: Tensor, output: Tensor) -> Tensor:
        """Both (batch, length, hidden), and so is what comes out."""
        return super().forward(self.gain * state + output)


class Design(ResidualDesign):
    """One stream, a norm before every sublayer and a norm of the stream after it."""

    def layer_modules(self, layer: int) -> dict[str, nn.Module]:
        size, epsilon = self.config.hidden_size, self.config.norm_epsilon
        gain = 1 if layer == 1 else 2 * self.config.layers
        modules: dict[str, nn.Module] = {
            "input_layernorm": RMSNorm(size, epsilon),
            "post_attention_layernorm": RMSNorm(size, epsilon),
            "post_mlp_norm": PostNorm(size, epsilon, gain),
        }
        if layer > 1:
            modules["post_attention_norm"] = PostNorm(size, epsilon, gain)
        return modules

    def read(self, state: Tensor, sublayer: Sublayer) -> Tensor:
        block = sublayer.block
        norm = block.input_layernorm if sublayer.kind == "attention" else block.post_attention_layernorm
        return norm(state)

    def write(self, state: Tensor, sublayer: Sublayer, output: Tensor) -> Tensor:
        block = sublayer.block
        if sublayer.kind == "mlp":
            return block.post_mlp_norm(state, output)
        if hasattr(block, "post_attention_norm"):
            return block.post_attention_norm(state, output)
        return state + output  # the first layer
