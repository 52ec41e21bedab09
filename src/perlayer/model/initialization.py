"""The recipe's initialisation, one random stream a parameter."""

from __future__ import annotations

import hashlib
import math

import torch
from torch import Tensor, nn


def random_stream(seed: int, name: str) -> torch.Generator:
    """A generator of its own for each parameter, so that what else a model holds never changes its draw."""
    digest = hashlib.sha256(f"{seed}/{name}".encode()).digest()
    return torch.Generator().manual_seed(int.from_bytes(digest[:8], "big") >> 1)


@torch.no_grad()
def fill_truncated_normal(weight: Tensor, scale: float, generator: torch.Generator) -> None:
    """Fill with `scale` times a normal truncated to [-3, 3] and not re-standardised (deviation 0.98658 x scale)."""
    draw = torch.empty(weight.shape, dtype=torch.float32)
    nn.init.trunc_normal_(draw, a=-3.0, b=3.0, generator=generator)
    weight.copy_(draw * scale)


def initialize_linear(module: nn.Linear, seed: int, name: str) -> None:
    """Truncated normal over sqrt(fan-in); `name` is the module's full name."""
    fill_truncated_normal(module.weight, 1.0 / math.sqrt(module.in_features), random_stream(seed, name))


def initialize_recipe(model: nn.Module, seed: int, prefix: str = "") -> None:
    """Linear layers by 1 / sqrt(fan-in), the embedding by 1 / hidden; norms stay at one (recipe section 1).

    Args:
        prefix: what stands before the names of the modules, by which their random streams are told apart.
    """
    for name, module in model.named_modules():
        if isinstance(module, nn.Linear):
            initialize_linear(module, seed, prefix + name)
        elif isinstance(module, nn.Embedding):
            fill_truncated_normal(module.weight, 1.0 / module.embedding_dim, random_stream(seed, prefix + name))
