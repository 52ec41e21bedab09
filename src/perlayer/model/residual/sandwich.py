"""Sandwich-LN, the baseline: h + RMSNorm_out(F(RMSNorm_in(h))) (Ding et al. 2021; `hybrid_norm` of the recipe)."""

from __future__ import annotations

from torch import Tensor, nn

from perlayer.model.norm import RMSNorm
from perlayer.model.residual.protocol import ResidualDesign, Sublayer


class Design(ResidualDesign):
    """One stream, a norm before and a norm after every sublayer."""

    def layer_modules(self, layer: int) -> dict[str, nn.Module]:
        names = ("input_layernorm", "post_attention_norm", "post_attention_layernorm", "post_mlp_norm")
        return {name: RMSNorm(self.config.hidden_size, self.config.norm_epsilon) for name in names}

    def read(self, state: Tensor, sublayer: Sublayer) -> Tensor:
        block = sublayer.block
        norm = block.input_layernorm if sublayer.kind == "attention" else block.post_attention_layernorm
        return norm(state)

    def write(self, state: Tensor, sublayer: Sublayer, output: Tensor) -> Tensor:
        block = sublayer.block
        norm = block.post_attention_norm if sublayer.kind == "attention" else block.post_mlp_norm
        return state + norm(output)
