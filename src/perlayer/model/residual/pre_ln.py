"""Pre-LN: h + F(RMSNorm(h)) (Xiong et al. 2020; Llama, Qwen3)."""

from __future__ import annotations

from torch import Tensor, nn

from perlayer.model.norm import RMSNorm
from perlayer.model.residual.protocol import ResidualDesign, Sublayer


class Design(ResidualDesign):
    """One stream, a norm before every sublayer."""

    def layer_modules(self, layer: int) -> dict[str, nn.Module]:
        size, epsilon = self.config.hidden_size, self.config.norm_epsilon
        return {"input_layernorm": RMSNorm(size, epsilon), "post_attention_layernorm": RMSNorm(size, epsilon)}

    def read(self, state: Tensor, sublayer: Sublayer) -> Tensor:
        block = sublayer.block
        norm = block.input_layernorm if sublayer.kind == "attention" else block.post_attention_layernorm
        return norm(state)

    def write(self, state: Tensor, sublayer: Sublayer, output: Tensor) -> Tensor:
        return state + output
