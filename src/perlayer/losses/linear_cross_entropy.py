"""Next-token cross-entropy from hidden states and an output matrix, without holding all logits.

Tokens are taken in chunks. Where gradients are wanted, a chunk's gradient is formed while its logits are at hand, so
that neither logits nor probabilities outlive their chunk (the idea of Liger-Kernel, arXiv 2410.10989, section 3.2, and
of Cut Cross-Entropy, Wijmans et al. 2024). On a GPU the mean loss goes through Liger-Kernel where that is installed.
"""

from __future__ import annotations

import functools
import importlib.util

import torch
from torch import Tensor
from torch.nn import functional

from perlayer.losses.known_gradients import with_known_gradients

# Logits of a chunk: few on a CPU, and on a GPU what fills it without filling its memory.
LOGITS_AT_ONCE_CPU = 2**18
LOGITS_AT_ONCE_GPU = 2**27
LEAST_ROWS = 128  # of a chunk, since each reads the whole output matrix
NARROW = 64  # hidden sizes up to which the weight's gradient is faster transposed (on a CPU)
SMALLEST_LIKELIHOOD = 1e-30  # whose logarithm is exact to rounding in float32


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

    It can be differentiated once. The mean over no position at all is 0.

    Raises:
        ValueError: an unknown reduction, or shapes or dtypes that do not fit.
    """
    if reduction not in ("mean", "none"):
        raise ValueError(f"reduction: expected mean or none, found {reduction!r}")
    fits = weight.ndim == 2 and 0 not in weight.shape and hidden.shape == (*targets.shape, weight.shape[-1])
    if not fits:
        raise ValueError(
            f"expected hidden (..., d), weight (v, d), targets (...), found {tuple(hidden.shape)}, "
            f"{tuple(weight.shape)}, {tuple(targets.shape)}"
        )
    if not (hidden.is_floating_point() and weight.is_floating_point() and targets.dtype == torch.int64):
        raise ValueError(
            "expected hidden and weight of a floating-point dtype and targets of int64, found "
            f"{hidden.dtype}, {weight.dtype}, {targets.dtype}"
        )
    flat, flat_targets = hidden.reshape(-1, hidden.shape[-1]), targets.reshape(-1)
    if reduction == "none":
        return _TokenLosses.apply(flat, weight, flat_targets, ignore_index).view(targets.shape)
    if hidden.is_cuda and hidden.requires_grad and _liger_is_installed():
        return liger_mean_loss(flat, weight, flat_targets, ignore_index)
    return _mean_loss(flat, weight, flat_targets, ignore_index)


def _mean_loss(hidden: Tensor, weight: Tensor, targets: Tensor, ignore_index: int) -> Tensor:
    wanted = [torch.is_grad_enabled() and each.requires_grad for each in (hidden, weight)]
    with torch.no_grad():
        counted = targets != ignore_index
        share = counted.to(accumulate_dtype(hidden.dtype)) / counted.sum().clamp(min=1)
        losses, *gradients = _losses_and_gradients(hidden, weight, targets.where(counted, 0), share, *wanted)
        loss = (losses * counted).sum() / counted.sum().clamp(min=1)
    return with_known_gradients(loss, (hidden, weight), gradients) if any(wanted) else loss


@functools.cache
def _liger_is_installed() -> bool:
    return importlib.util.find_spec("liger_kernel") is not None


def liger_mean_loss(hidden: Tensor, weight: Tensor, targets: Tensor, ignore_index: int) -> Tensor:
    """The mean loss by Liger-Kernel's fused kernel, which forms no gradient where `hidden` needs none."""
    from liger_kernel.transformers.functional import liger_fused_linear_cross_entropy

    dtype = compute_dtype(hidden)
    # Its products follow autocast, so that a float32 weight gets a float32 gradient. Left to itself it takes a few
    # hundred rows at once, and casts the whole weight for each.
    return liger_fused_linear_cross_entropy(
        hidden.to(dtype),
        weight,
        targets,
        ignore_index=ignore_index,
        accum_dtype=accumulate_dtype(dtype),
        chunk_mem_const=max(1, LOGITS_AT_ONCE_GPU // hidden.numel()),
    ).to(accumulate_dtype(dtype))


def _losses_and_gradients(
    hidden: Tensor, weight: Tensor, targets: Tensor, share: Tensor, wants_hidden: bool, wants_weight: bool
) -> tuple[Tensor, Tensor | None, Tensor | None]:
    """A loss a token (tokens,), and the gradients of sum(share * losses) for `hidden` and `weight`."""
    dtype = compute_dtype(hidden)
    wide = accumulate_dtype(dtype)
    with torch.autocast(hidden.device.type, enabled=False):
        states, matrix = hidden.to(dtype), weight.to(dtype)
        size = rows_at_once(len(states), len(matrix), states.device)
        logits, probabilities = (torch.empty(size, len(matrix), dtype=wide, device=states.device) for _ in range(2))
        likelihood = torch.empty(len(states), 1, dtype=wide, device=states.device)
        hidden_grad = torch.empty_like(states) if wants_hidden else None
        weight_grad = _WeightGradient(matrix, wide) if wants_weight else None
        # The share scales what is narrow instead of the logits' gradient, which is as wide as the vocabulary.
        shared_states = (states * share[:, None]).to(dtype) if wants_weight else None
        for start in range(0, len(states), size):
            rows = slice(start, start + size)
            some_targets = targets[rows, None]
            some = probabilities[: len(some_targets)]
            torch.softmax(_logits(states[rows], matrix, logits), dim=-1, out=some)
            torch.gather(some, -1, some_targets, out=likelihood[rows])
            if not (wants_hidden or wants_weight):
                continue
            # not scatter_add_, which sorts on a GPU where results must be the same every time
            logits_grad = some.scatter_(-1, some_targets, -1.0, reduce="add").to(dtype)
            if wants_hidden:
                torch.mm(logits_grad, matrix, out=hidden_grad[rows])
            if wants_weight:
                weight_grad.add(logits_grad, shared_states[rows])
        losses = likelihood[:, 0].log().neg_()
        # A likelihood that underflows is rare: its loss is taken from the logits themselves.
        rare = (likelihood[:, 0] < SMALLEST_LIKELIHOOD).nonzero()[:, 0]
        for start in range(0, len(rare), size):
            some = rare[start : start + size]
            losses[some] = functional.cross_entropy(
                _logits(states[some], matrix, logits), targets[some], reduction="none"
            )
        if wants_hidden:
            hidden_grad = (hidden_grad * share[:, None]).to(hidden.dtype)
        return losses, hidden_grad, weight_grad.total.to(weight.dtype) if wants_weight else None


def _logits(states: Tensor, matrix: Tensor, buffer: Tensor) -> Tensor:
    """states @ matrix.T in the first rows of the buffer, in its dtype."""
    logits = buffer[: len(states)]
    return torch.mm(states, matrix.mT, out=logits) if states.dtype == logits.dtype else logits.copy_(states @ matrix.mT)


class _WeightGradient:
    """The sum over chunks of logits_grad.T @ states, (vocabulary, hidden)."""

    def __init__(self, matrix: Tensor, dtype: torch.dtype):
        self.transposed = matrix.device.type == "cpu" and matrix.shape[1] <= NARROW
        self.sum = torch.zeros_like(matrix.mT if self.transposed else matrix, dtype=dtype).contiguous()

    def add(self, logits_grad: Tensor, states: Tensor) -> None:
        left, right = (states.mT, logits_grad) if self.transposed else (logits_grad.mT, states)
        if self.sum.dtype == left.dtype:
            self.sum.addmm_(left, right)
        else:
            self.sum += left @ right

    @property
    def total(self) -> Tensor:
        return self.sum.mT.contiguous() if self.transposed else self.sum


class _TokenLosses(torch.autograd.Function):
    @staticmethod
    def forward(ctx, hidden, weight, targets, ignore_index):
        counted = targets != ignore_index
        safe = targets.where(counted, 0)
        ctx.save_for_backward(hidden, weight, safe, counted)
        ctx.compute_dtype = compute_dtype(hidden)
        return _losses_and_gradients(hidden, weight, safe, counted, False, False)[0] * counted

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, grad_output):
        hidden, weight, safe, counted = ctx.saved_tensors
        kind, dtype = hidden.device.type, ctx.compute_dtype
        with torch.autocast(kind, dtype=dtype, enabled=dtype != hidden.dtype):
            _, *gradients = _losses_and_gradients(
                hidden, weight, safe, grad_output * counted, *ctx.needs_input_grad[:2]
            )
        return *gradients, None, None


def compute_dtype(hidden: Tensor) -> torch.dtype:
    """The dtype of products with `hidden`: autocast's where it is on, else its own."""
    kind = hidden.device.type
    return torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else hidden.dtype


def accumulate_dtype(dtype: torch.dtype) -> torch.dtype:
    """The dtype of softmax, losses and sums for products in `dtype`: float32 at least."""
    return torch.promote_types(dtype, torch.float32)


def rows_at_once(tokens: int, vocabulary: int, device: torch.device) -> int:
    """Rows of a chunk whose logits are held, so that all chunks are about as large."""
    at_once = LOGITS_AT_ONCE_CPU if device.type == "cpu" else LOGITS_AT_ONCE_GPU
    chunks = -(-tokens // max(LEAST_ROWS, at_once // vocabulary)) or 1
    return -(-tokens // chunks) or 1
