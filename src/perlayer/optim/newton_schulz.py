"""Orthogonalisation by Newton-Schulz iteration (Jordan et al. 2024, Muon)."""

from __future__ import annotations

import torch
from torch import Tensor

COEFFICIENTS = (3.4445, -4.7750, 2.0315)


def orthogonalize(matrices: Tensor, steps: int, epsilon: float) -> Tensor:
    """Push the singular values of each matrix towards one.

    Args:
        matrices: (count, rows, columns), all treated apart.
        steps: iterations.
        epsilon: added to each Frobenius norm before the division.

    Returns:
        The same shape and dtype.
    """
    tall = matrices.shape[-2] > matrices.shape[-1]
    x = matrices.mT if tall else matrices
    x = x / (torch.linalg.vector_norm(x, dim=(-2, -1), keepdim=True) + epsilon)
    a, b, c = COEFFICIENTS
    for _ in range(steps):
        gram = x @ x.mT
        x = torch.baddbmm(x, torch.baddbmm(gram, gram, gram, beta=b, alpha=c), x, beta=a)
    return x.mT if tall else x
