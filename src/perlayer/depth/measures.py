"""Numbers about vectors, one for each token."""

from __future__ import annotations

import torch
from torch import Tensor

from perlayer.losses.linear_cross_entropy import rows_at_once

LEAST_NORM = 1e-6  # of a vector that something is divided by


def norm(vectors: Tensor) -> Tensor:
    """The length of vectors (..., size): (...)."""
    return torch.linalg.vector_norm(vectors, dim=-1)


def relative_norm(vectors: Tensor, beside: Tensor) -> Tensor:
    """The length of vectors over that of others, both (..., size): (...)."""
    return norm(vectors) / norm(beside).clamp_min(LEAST_NORM)


def cosine(vectors: Tensor, others: Tensor) -> Tensor:
    """The cosine of the angle between vectors (..., size): (...)."""
    return (vectors * others).sum(-1) / (norm(vectors).clamp_min(LEAST_NORM) * norm(others).clamp_min(LEAST_NORM))


def probability_distance(hidden: Tensor, other: Tensor, weight: Tensor) -> Tensor:
    """The Euclidean distance between two next-token distributions, at most the root of 2.

    Logits of a chunk of positions are held at once.

    Args:
        hidden: normed hidden states (positions, hidden), and so is `other`.
        weight: output matrix (vocabulary, hidden).

    Returns:
        (positions,).
    """
    found = hidden.new_empty(len(hidden))
    size = rows_at_once(len(hidden), len(weight), hidden.device)
    for start in range(0, len(hidden), size):
        rows = slice(start, start + size)
        found[rows] = norm(torch.softmax(hidden[rows] @ weight.mT, -1) - torch.softmax(other[rows] @ weight.mT, -1))
    return found
