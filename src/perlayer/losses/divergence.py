"""How far next-token distributions lie from a model's own, without holding all logits."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from perlayer.losses.known_gradients import with_known_gradients
from perlayer.losses.linear_cross_entropy import accumulate_dtype, compute_dtype, rows_at_once


def kl_from_final(hiddens: Sequence[Tensor], final: Tensor, weight: Tensor) -> list[Tensor]:
    """KL(softmax(final @ weight.T) || softmax(hidden @ weight.T)) for each hidden, in nats, mean over positions.

    The loss of the tuned lens (Belrose et al. 2023, section 3). Positions are taken in chunks; the final distribution
    of a chunk is formed once for all hiddens, and each gradient with its loss. `final` and `weight` get none.

    Args:
        hiddens: normed hidden states, each (..., hidden).
        final: those that the model itself unembeds, the same shape.
        weight: output matrix (vocabulary, hidden).

    Returns:
        A scalar for each hidden, float32, or float64 for float64 inputs. It can be differentiated once.

    Raises:
        ValueError: shapes that do not fit.
    """
    for hidden in hiddens:
        if hidden.shape != final.shape or weight.ndim != 2 or hidden.shape[-1] != weight.shape[-1]:
            raise ValueError(
                f"expected hidden and final (..., d), weight (v, d), found {tuple(hidden.shape)}, "
                f"{tuple(final.shape)}, {tuple(weight.shape)}"
            )
    width = final.shape[-1]
    dtype = compute_dtype(final)
    wide = accumulate_dtype(dtype)
    wanted = [torch.is_grad_enabled() and hidden.requires_grad for hidden in hiddens]
    with torch.no_grad(), torch.autocast(final.device.type, enabled=False):
        matrix, last = weight.to(dtype), final.reshape(-1, width).to(dtype)
        states = [hidden.reshape(-1, width).to(dtype) for hidden in hiddens]
        gradients = [torch.empty_like(each) if wants else None for each, wants in zip(states, wanted)]
        totals = [torch.zeros((), dtype=wide, device=final.device) for _ in states]
        size = rows_at_once(len(last), len(matrix), last.device)
        for start in range(0, len(last), size):
            rows = slice(start, start + size)
            final_log = torch.log_softmax((last[rows] @ matrix.mT).to(wide), -1)
            probability = final_log.exp()
            for state, total, gradient in zip(states, totals, gradients):
                log = torch.log_softmax((state[rows] @ matrix.mT).to(wide), -1)
                total += (probability * (final_log - log)).sum()
                if gradient is not None:
                    torch.mm(log.exp_().sub_(probability).to(dtype), matrix, out=gradient[rows])
        losses = [total / len(last) for total in totals]
        scaled = [
            None if gradient is None else (gradient / len(last)).to(hidden.dtype).view_as(hidden)
            for gradient, hidden in zip(gradients, hiddens)
        ]
    return [
        loss if gradient is None else with_known_gradients(loss, (hidden,), (gradient,))
        for loss, hidden, gradient in zip(losses, hiddens, scaled)
    ]
