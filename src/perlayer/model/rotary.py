"""Rotary position embedding in the rotate-half convention (Su et al. 2021, as in Llama and Qwen3)."""

from __future__ import annotations

import torch
from torch import Tensor


def rotary_tables(length: int, head_dim: int, theta: float) -> tuple[Tensor, Tensor]:
    """Cosines and signed sines, float32 of shape (length, head_dim).

    The first half of the sines is negated, so that a rotation is x * cos + swap(x) * sin with `swap` exchanging halves.
    """
    frequencies = 1.0 / theta ** (torch.arange(0, head_dim, 2, dtype=torch.float32, device="cpu") / head_dim)
    angles = torch.outer(torch.arange(length, dtype=torch.float32, device="cpu"), frequencies)
    cosine, sine = angles.cos(), angles.sin()
    return torch.cat((cosine, cosine), dim=-1), torch.cat((-sine, sine), dim=-1)


def rotate(heads: Tensor, cosine: Tensor, sine: Tensor) -> Tensor:
    """Rotate queries or keys (..., length, head_dim) by their position; the dtype is kept."""
    swapped = heads.roll(heads.shape[-1] // 2, dims=-1)
    return (heads * cosine + swapped * sine).to(heads.dtype)
