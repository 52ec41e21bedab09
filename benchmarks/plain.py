"""The plain loop: per-layer losses as one writes them first, in plain PyTorch.

A list of norms and a list of heads beside the model, `cross_entropy` on full logits after every layer, norms and
rotations left to autograd, and an optimizer that takes one parameter after another. It computes what the project
computes, from the same weights.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

from perlayer.model.config import ModelConfig
from perlayer.model.decoder import Decoder


class Norm(nn.Module):
    """RMSNorm, as in Llama."""

    def __init__(self, size: int, epsilon: float):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))
        self.epsilon = epsilon

    def forward(self, x: Tensor) -> Tensor:
        return self.weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.epsilon))


def rotate_half(x: Tensor) -> Tensor:
    first, second = x.chunk(2, dim=-1)
    return torch.cat((-second, first), dim=-1)


class Attention(nn.Module):
    def __init__(self, config: ModelConfig):
        super().__init__()
        self.heads, self.head_dim = config.attention_heads, config.head_dim
        size = self.heads * self.head_dim
        self.q_proj, self.k_proj, self.v_proj = (nn.Linear(config.hidden_size, size, bias=False) for _ in range(3))
        self.o_proj = nn.Linear(size, config.hidden_size, bias=False)
        self.q_norm, self.k_norm = (Norm(self.head_dim, config.norm_epsilon) for _ in range(2))

    def forward(self, x: Tensor, cosine: Tensor, sine: Tensor, mask: Tensor) -> Tensor:
        batch, length, _ = x.shape
        shape = (batch, length, self.heads, self.head_dim)
        query = self.q_norm(self.q_proj(x).view(shape)).transpose(1, 2)
        key = self.k_norm(self.k_proj(x).view(shape)).transpose(1, 2)
        value = self.v_proj(x).view(shape).transpose(1, 2)
        query = query * cosine + rotate_half(query) * sine
        key = key * cosine + rotate_half(key) * sine
        mixed = functional.scaled_dot_product_attention(query, key, value, attn_mask=mask)
        return self.o_proj(mixed.transpose(1, 2).reshape(batch, length, -1))


class MLP(nn.Module):
    def __init__(self, config: ModelConfig):
        super().__init__()
        self.gate_proj, self.up_proj = (
            nn.Linear(config.hidden_size, config.intermediate_size, bias=False) for _ in range(2)
        )
        self.down_proj = nn.Linear(config.intermediate_size, config.hidden_size, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return self.down_proj(functional.silu(self.gate_proj(x)) * self.up_proj(x))


class Layer(nn.Module):
    """A Sandwich-LN block."""

    def __init__(self, config: ModelConfig):
        super().__init__()
        self.self_attn, self.mlp = Attention(config), MLP(config)
        for name in ("input_layernorm", "post_attention_norm", "post_attention_layernorm", "post_mlp_norm"):
            self.add_module(name, Norm(config.hidden_size, config.norm_epsilon))

    def forward(self, x: Tensor, cosine: Tensor, sine: Tensor, mask: Tensor) -> Tensor:
        x = x + self.post_attention_norm(self.self_attn(self.input_layernorm(x), cosine, sine, mask))
        return x + self.post_mlp_norm(self.mlp(self.post_attention_layernorm(x)))


class PlainModel(nn.Module):
    """The decoder and a norm and a head for each of its layers."""

    def __init__(self, decoder: Decoder, readouts: nn.ModuleDict):
        """Take the weights of ours: the last readout is the decoder's own norm and head."""
        super().__init__()
        config = decoder.config
        self.eos_id = config.eos_id
        self.embed_tokens = nn.Embedding(config.vocab_size, config.hidden_size)
        self.layers = nn.ModuleList(Layer(config) for _ in range(config.layers))
        self.norms = nn.ModuleList(Norm(config.hidden_size, config.norm_epsilon) for _ in range(config.layers))
        self.heads = nn.ModuleList(
            nn.Linear(config.hidden_size, config.vocab_size, bias=False) for _ in range(config.layers)
        )
        self.embed_tokens.load_state_dict(decoder.model.embed_tokens.state_dict())
        self.layers.load_state_dict(decoder.model.layers.state_dict())
        ours = [
            *((readout.norm, readout.lm_head) for readout in readouts.values()),
            (decoder.model.norm, decoder.lm_head),
        ]
        for norm, head, (norm_of_ours, head_of_ours) in zip(self.norms, self.heads, ours):
            norm.load_state_dict(norm_of_ours.state_dict())
            head.load_state_dict(head_of_ours.state_dict())
        frequencies = config.rope_theta ** (-torch.arange(0, config.head_dim, 2) / config.head_dim)
        angles = torch.outer(torch.arange(config.sequence_length), frequencies).repeat(1, 2)
        self.register_buffer("cosine", angles.cos())
        self.register_buffer("sine", angles.sin())

    def forward(self, tokens: Tensor) -> Tensor:
        """The sum of the losses after every layer, of tokens (batch, length + 1)."""
        inputs, targets = tokens[:, :-1], tokens[:, 1:]
        length = inputs.shape[1]
        ends = (inputs == self.eos_id).cumsum(-1)
        document = ends - (inputs == self.eos_id).long()
        mask = (document[:, None, :, None] == document[:, None, None, :]).tril()
        x = self.embed_tokens(inputs)
        loss = 0.0
        for layer, norm, head in zip(self.layers, self.norms, self.heads):
            x = layer(x, self.cosine[:length], self.sine[:length], mask)
            loss = loss + functional.cross_entropy(head(norm(x)).flatten(0, 1), targets.flatten())
        return loss


class PlainOptimizer:
    """MuonH, AdamH and Adam of the recipe, one parameter after another."""

    def __init__(self, model: PlainModel, rate: float, adam_rate: float):
        matrices = {id(p) for name, p in model.layers.named_parameters() if p.ndim == 2}
        heads = {id(p) for p in model.heads.parameters()}
        kinds = {p: "muonh" if id(p) in matrices else "adamh" if id(p) in heads else "adam" for p in model.parameters()}
        self.groups = {kind: [p for p in kinds if kinds[p] == kind] for kind in ("muonh", "adamh", "adam")}
        self.rates = {"muonh": rate, "adamh": rate, "adam": adam_rate}
        self.first, self.second, self.steps = {}, {}, 0

    @torch.no_grad()
    def step(self) -> None:
        self.steps += 1
        for kind, parameters in self.groups.items():
            clip(parameters)
            for p in parameters:
                direction = self.muon(p) if kind == "muonh" else self.adam(p)
                if kind == "adam":
                    p -= self.rates[kind] * direction
                    continue
                length = p.norm()
                p -= self.rates[kind] * length / direction.norm().clamp(min=1e-10) * direction
                p *= length / p.norm()

    def muon(self, p: Tensor) -> Tensor:
        momentum = self.first.setdefault(p, torch.zeros_like(p))
        momentum.mul_(0.95).add_(p.grad)
        return newton_schulz(p.grad + 0.95 * momentum)

    def adam(self, p: Tensor) -> Tensor:
        first, second = self.first.setdefault(p, torch.zeros_like(p)), self.second.setdefault(p, torch.zeros_like(p))
        first.mul_(0.9).add_(p.grad, alpha=0.1)
        second.mul_(0.98).addcmul_(p.grad, p.grad, value=0.02)
        return (first / (1 - 0.9**self.steps)) / ((second / (1 - 0.98**self.steps)).sqrt() + 1e-20)

    def zero_grad(self) -> None:
        for parameters in self.groups.values():
            for p in parameters:
                p.grad = None


def clip(parameters: Sequence[Tensor]) -> None:
    """Scale the gradients so that their joint norm is at most 1."""
    norm = torch.stack([p.grad.norm() for p in parameters]).norm()
    for p in parameters:
        p.grad.mul_((1.0 / norm).clamp(max=1.0))


def newton_schulz(update: Tensor) -> Tensor:
    """Orthogonalise one matrix in five iterations."""
    x = update / (update.norm() + 1e-5)
    tall = x.shape[0] > x.shape[1]
    x = x.T if tall else x
    for _ in range(5):
        gram = x @ x.T
        x = 3.4445 * x + (-4.7750 * gram + 2.0315 * gram @ gram) @ x
    return x.T if tall else x
