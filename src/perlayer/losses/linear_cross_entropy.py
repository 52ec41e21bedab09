"""Next-token cross-entropy from hidden states and an output matrix, without holding all logits.

Tokens are taken in chunks. Where gradients are wanted, a chunk's gradient is formed while its logits are at hand, so
that neither logits nor probabilities outlive their chunk (the idea of Liger-Kernel, arXiv 2410.10989, section 3.2, and
of Cut Cross-Entropy, Wijmans et al. 2024).
"""

from __future__ import annotations

import torch
from torch import Tensor

# A chunk's logits should stay in a core's cache on a CPU, and fill a GPU without filling its memory.
LOGITS_AT_ONCE_CPU = 2**17
LOGITS_AT_ONCE_GPU = 2**26


def linear_cross_entropy(
    hidden: Tensor, weight: Tensor, targets: Tensor, *, ignore_index: int = -100, reduction: str = "mean"
) -> Tensor:
    """Cross-entropy of softmax(hidden @ weight.T) against targets, in nats.

    Products run in the autocast dtype where autocast is on, else in the dtype of `hidden`; the softmax, the loss and
    the sum of the weight's gradient over chunks are float32 at least.

    Args:
        hidden: normed hidden states (..., hidden).
        weight: output matrix (vocabulary, hidden).
        targets: int64 token ids (...); positions equal to `ignore_index` are left out.
        reduction: "mean" over the positions that count, or "none" for one loss a position (0 where ignored).

    Returns:
        A scalar or (...), float32, or float64 for float64 inputs.

    Raises:
        ValueError: an unknown reduction, or shapes that do not fit.
    """
    if reduction not in ("mean", "none"):
        raise ValueError(f"reduction: expected mean or none, found {reduction!r}")
    if hidden.shape[:-1] != targets.shape or hidden.shape[-1] != weight.shape[-1]:
        raise ValueError(
            f"expected hidden (..., d), weight (v, d), targets (...), found {tuple(hidden.shape)}, "
            f"{tuple(weight.shape)}, {tuple(targets.shape)}"
        )
    flat, flat_targets = hidden.reshape(-1, hidden.shape[-1]), targets.reshape(-1)
    if reduction == "mean":
        return _MeanLoss.apply(flat, weight, flat_targets, ignore_index)
    return _TokenLosses.apply(flat, weight, flat_targets, ignore_index).view(targets.shape)


def _compute_dtype(hidden: Tensor) -> torch.dtype:
    kind = hidden.device.type
    return torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else hidden.dtype


def _accumulate_dtype(dtype: torch.dtype) -> torch.dtype:
    return torch.promote_types(dtype, torch.float32)


def _chunks(targets: Tensor, weight: Tensor) -> list[slice]:
    at_once = LOGITS_AT_ONCE_CPU if targets.device.type == "cpu" else LOGITS_AT_ONCE_GPU
    size = max(1, at_once // len(weight))
    return [slice(start, min(start + size, len(targets))) for start in range(0, len(targets), size)]


def _add_product(total: Tensor, left: Tensor, right: Tensor) -> None:
    """total += left @ right, with the sum in the dtype of `total`."""
    if total.dtype == left.dtype:
        total.addmm_(left, right)
    else:
        total += left @ right


def _losses_and_probabilities(hidden: Tensor, weight: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
    logits = (hidden @ weight.mT).to(_accumulate_dtype(hidden.dtype))
    probabilities = torch.softmax(logits, dim=-1)
    # log of the partition sum from the likeliest token, whose probability never underflows
    log_partition = logits.amax(-1) - probabilities.amax(-1).log()
    return log_partition - logits.gather(-1, targets[:, None])[:, 0], probabilities


class _MeanLoss(torch.autograd.Function):
    @staticmethod
    def forward(ctx, hidden, weight, targets, ignore_index):
        dtype = _compute_dtype(hidden)
        with torch.autocast(hidden.device.type, enabled=False):
            states, matrix = hidden.to(dtype), weight.to(dtype)
            wide = _accumulate_dtype(dtype)
            counted = targets != ignore_index
            count = counted.sum().clamp(min=1)
            safe = targets.where(counted, 0)
            total = torch.zeros((), dtype=wide, device=hidden.device)
            need_hidden, need_weight = ctx.needs_input_grad[:2]
            hidden_grad = torch.empty_like(states) if need_hidden else None
            weight_grad = torch.zeros_like(matrix, dtype=wide) if need_weight else None
            for rows in _chunks(targets, weight):
                losses, probabilities = _losses_and_probabilities(states[rows], matrix, safe[rows])
                total += (losses * counted[rows]).sum()
                if not (need_hidden or need_weight):
                    continue
                probabilities.scatter_add_(-1, safe[rows, None], -torch.ones_like(losses)[:, None])
                logits_grad = probabilities.mul_((counted[rows].to(wide) / count)[:, None]).to(dtype)
                if need_hidden:
                    torch.mm(logits_grad, matrix, out=hidden_grad[rows])
                if need_weight:
                    _add_product(weight_grad, logits_grad.mT, states[rows])
        ctx.save_for_backward(hidden_grad, weight_grad)
        ctx.dtypes = hidden.dtype, weight.dtype
        return total / count

    @staticmethod
    def backward(ctx, grad_output):
        hidden_grad, weight_grad = ctx.saved_tensors
        hidden_dtype, weight_dtype = ctx.dtypes
        return (
            None if hidden_grad is None else (hidden_grad * grad_output).to(hidden_dtype),
            None if weight_grad is None else (weight_grad * grad_output).to(weight_dtype),
            None,
            None,
        )


class _TokenLosses(torch.autograd.Function):
    @staticmethod
    def forward(ctx, hidden, weight, targets, ignore_index):
        ctx.compute_dtype = dtype = _compute_dtype(hidden)
        with torch.autocast(hidden.device.type, enabled=False):
            states, matrix = hidden.to(dtype), weight.to(dtype)
            counted = targets != ignore_index
            safe = targets.where(counted, 0)
            chunks = [
                _losses_and_probabilities(states[rows], matrix, safe[rows])[0] for rows in _chunks(targets, weight)
            ]
        ctx.save_for_backward(hidden, weight, safe, counted)
        return torch.cat(chunks) * counted if chunks else hidden.new_zeros(0, dtype=_accumulate_dtype(dtype))

    @staticmethod
    def backward(ctx, grad_output):
        hidden, weight, safe, counted = ctx.saved_tensors
        dtype = ctx.compute_dtype
        with torch.autocast(hidden.device.type, enabled=False):
            states, matrix = hidden.to(dtype), weight.to(dtype)
            scale = grad_output * counted
            hidden_grad = torch.empty_like(states)
            weight_grad = torch.zeros_like(matrix, dtype=_accumulate_dtype(dtype))
            for rows in _chunks(safe, weight):
                _, probabilities = _losses_and_probabilities(states[rows], matrix, safe[rows])
                probabilities.scatter_add_(-1, safe[rows, None], -torch.ones_like(scale[rows])[:, None])
                logits_grad = probabilities.mul_(scale[rows, None]).to(dtype)
                torch.mm(logits_grad, matrix, out=hidden_grad[rows])
                _add_product(weight_grad, logits_grad.mT, states[rows])
        return hidden_grad.to(hidden.dtype), weight_grad.to(weight.dtype), None, None
