"""Root-mean-square normalisation."""

from __future__ import annotations

import torch
from torch import Tensor, nn


def rms_norm(hidden: Tensor, weight: Tensor, epsilon: float) -> Tensor:
    """x / sqrt(mean(x^2) + epsilon) * weight over the last dimension, in float32 (Zhang and Sennrich 2019).

    Args:
        hidden: (..., size).
        weight: (size,).

    Returns:
        The shape and dtype of `hidden`.
    """
    wide = hidden.float() if hidden.dtype in (torch.float16, torch.bfloat16) else hidden
    scaled = wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + epsilon)
    return (weight * scaled).to(hidden.dtype)


class RMSNorm(nn.Module):
    """`rms_norm` with a learned weight that starts at one."""

    def __init__(self, size: int, epsilon: float):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))
        self.epsilon = epsilon

    def forward(self, hidden: Tensor) -> Tensor:
        return rms_norm(hidden, self.weight, self.epsilon)
