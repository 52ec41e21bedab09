"""One decoder block: attention and MLP, the two sublayers that a residual design connects."""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn import functional

from perlayer.model.config import ModelConfig
from perlayer.model.norm import RMSNorm
from perlayer.model.rotary import rotate


class Attention(nn.Module):
    """Grouped-query self-attention with RMSNorm on queries and keys before the rotation (Qwen3)."""

    def __init__(self, config: ModelConfig):
        super().__init__()
        self.heads, self.key_value_heads, self.head_dim = (
            config.attention_heads,
            config.key_value_heads,
            config.head_dim,
        )
        self.q_proj = nn.Linear(config.hidden_size, self.heads * self.head_dim, bias=False)
        self.k_proj = nn.Linear(config.hidden_size, self.key_value_heads * self.head_dim, bias=False)
        self.v_proj = nn.Linear(config.hidden_size, self.key_value_heads * self.head_dim, bias=False)
        self.o_proj = nn.Linear(self.heads * self.head_dim, config.hidden_size, bias=False)
        self.q_norm = RMSNorm(self.head_dim, config.norm_epsilon)
        self.k_norm = RMSNorm(self.head_dim, config.norm_epsilon)

    def forward(self, hidden: Tensor, rotary: tuple[Tensor, Tensor], mask: Tensor | None) -> Tensor:
        """(batch, length, hidden) to the same; `mask` as `documents.attention_mask`, None for plain causal."""
        return self.attend(*self.project(hidden), rotary, mask)

    def project(self, hidden: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Queries, keys and values of (batch, length, hidden), normed where they are and not yet rotated.

        Each is (batch, its heads, length, head_dim).
        """
        batch, length, _ = hidden.shape
        query = self.q_norm(self.q_proj(hidden).view(batch, length, self.heads, self.head_dim))
        key = self.k_norm(self.k_proj(hidden).view(batch, length, self.key_value_heads, self.head_dim))
        value = self.v_proj(hidden).view(batch, length, self.key_value_heads, self.head_dim)
        return query.transpose(1, 2), key.transpose(1, 2), value.transpose(1, 2)

    def attend(
        self, query: Tensor, key: Tensor, value: Tensor, rotary: tuple[Tensor, Tensor], mask: Tensor | None
    ) -> Tensor:
        """The output (batch, length, hidden) of what `project` has given."""
        query, key = rotate(query, *rotary), rotate(key, *rotary)
        if self.heads != self.key_value_heads:
            group = self.heads // self.key_value_heads
            key, value = key.repeat_interleave(group, dim=1), value.repeat_interleave(group, dim=1)
        mixed = functional.scaled_dot_product_attention(
            query,
            key.to(query.dtype),
            value.to(query.dtype),
            attn_mask=None if mask is None else mask.to(query.dtype),
            is_causal=mask is None,
        )
        return self.o_proj(mixed.transpose(1, 2).flatten(2))


class MLP(nn.Module):
    """SwiGLU: down(silu(gate(x)) * up(x)) (Shazeer 2020)."""

    def __init__(self, config: ModelConfig):
        super().__init__()
        self.gate_proj = nn.Linear(config.hidden_size, config.intermediate_size, bias=False)
        self.up_proj = nn.Linear(config.hidden_size, config.intermediate_size, bias=False)
        self.down_proj = nn.Linear(config.intermediate_size, config.hidden_size, bias=False)

    def forward(self, hidden: Tensor) -> Tensor:
        return self.down_proj(functional.silu(self.gate_proj(hidden)) * self.up_proj(hidden))


class DecoderLayer(nn.Module):
    """The sublayers of one block, and whatever the residual design keeps in it."""

    def __init__(self, config: ModelConfig, design_modules: dict[str, nn.Module]):
        super().__init__()
        self.self_attn = Attention(config)
        self.mlp = MLP(config)
        for name, module in design_modules.items():
            self.add_module(name, module)
