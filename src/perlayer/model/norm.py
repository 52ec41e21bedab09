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
    if torch.compiler.is_compiling():  # which fuses the formula itself, forward and backward
        wide = hidden.float() if hidden.dtype in (torch.float16, torch.bfloat16) else hidden
        return (wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + epsilon) * weight).to(hidden.dtype)
    return _RMSNorm.apply(hidden, weight, epsilon)


class _RMSNorm(torch.autograd.Function):
    """With its gradient written out: it keeps the input and one number a row, and takes half the passes of autograd."""

    @staticmethod
    def forward(ctx, hidden, weight, epsilon):
        wide = hidden.float() if hidden.dtype in (torch.float16, torch.bfloat16) else hidden
        inverse = wide.square().mean(-1, keepdim=True).add_(epsilon).rsqrt_()
        ctx.save_for_backward(hidden, weight, inverse)
        return (wide * inverse).mul_(weight).to(hidden.dtype)

    @staticmethod
    def backward(ctx, grad_output):
        hidden, weight, inverse = ctx.saved_tensors
        normed = hidden.to(inverse.dtype) * inverse
        grad = grad_output.to(inverse.dtype)
        grad_weight = grad_hidden = None
        if ctx.needs_input_grad[1]:
            grad_weight = (grad * normed).reshape(-1, len(weight)).sum(0).to(weight.dtype)
        if ctx.needs_input_grad[0]:
            grad = grad * weight
            along = (grad * normed).mean(-1, keepdim=True)
            grad_hidden = grad.sub_(normed.mul_(along)).mul_(inverse).to(hidden.dtype)
        return grad_hidden, grad_weight, None


class RMSNorm(nn.Module):
    """`rms_norm` with a learned weight that starts at one."""

    def __init__(self, size: int, epsilon: float):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))
        self.epsilon = epsilon

    def forward(self, hidden: Tensor) -> Tensor:
        return rms_norm(hidden, self.weight, self.epsilon)
