"""What one reads in the next-token distribution of a lens, beside that of the model itself."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from perlayer.losses.linear_cross_entropy import accumulate_dtype, rows_at_once

MEASURES = ("loss", "kl_lens_final", "kl_final_lens", "top5_overlap", "argmax_agreement", "entropy")
TOP = 5


def lens_measures(hiddens: Sequence[Tensor], final: Tensor, weight: Tensor, targets: Tensor) -> list[dict[str, Tensor]]:
    """Every measure of every lens hidden state, a number a position; logits of a chunk of positions are held at once.

    - `loss`: cross-entropy of the lens to the next token of the text.
    - `kl_lens_final`, `kl_final_lens`: KL(lens || final) and KL(final || lens).
    - `top5_overlap`: how many of the final output's five likeliest tokens are among the lens's, divided by five.
    - `argmax_agreement`: 1 where both find the same token likeliest, else 0.
    - `entropy`: of the lens's distribution.

    Args:
        hiddens: normed hidden states, each (positions, hidden).
        final: those that the model itself unembeds, (positions, hidden).
        weight: output matrix (vocabulary, hidden).
        targets: token ids (positions,).

    Returns:
        For each hidden (positions,) tensors by name, nats where they are losses, divergences or entropies.
    """
    wide = accumulate_dtype(final.dtype)
    found = [{name: torch.empty(len(targets), dtype=wide, device=final.device) for name in MEASURES} for _ in hiddens]
    size = rows_at_once(len(targets), len(weight), final.device)
    for start in range(0, len(targets), size):
        rows = slice(start, start + size)
        final_log = _log_probabilities(final[rows], weight, wide)
        final_probability = final_log.exp()
        final_top = _top(final_log)
        for hidden, values in zip(hiddens, found):
            log = _log_probabilities(hidden[rows], weight, wide)
            probability = log.exp()
            top = _top(log)
            values["loss"][rows] = -log.gather(-1, targets[rows, None])[:, 0]
            values["kl_lens_final"][rows] = (probability * (log - final_log)).sum(-1)
            values["kl_final_lens"][rows] = (final_probability * (final_log - log)).sum(-1)
            shared = (top[:, :, None] == final_top[:, None, :]).sum((1, 2))
            values["top5_overlap"][rows] = shared.to(wide) / top.shape[1]
            values["argmax_agreement"][rows] = (top[:, 0] == final_top[:, 0]).to(wide)
            values["entropy"][rows] = -(probability * log).sum(-1)
    return found


def _log_probabilities(hidden: Tensor, weight: Tensor, dtype: torch.dtype) -> Tensor:
    return torch.log_softmax((hidden @ weight.mT).to(dtype), -1)


def _top(log: Tensor) -> Tensor:
    """The likeliest tokens, the first one first: (positions, 5)."""
    return log.topk(min(TOP, log.shape[1]), dim=-1).indices
