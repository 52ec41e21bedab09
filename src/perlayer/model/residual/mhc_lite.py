"""mHC-lite: mHC that mixes streams by a convex mixture of permutations (2026, arXiv 2601.05732).

A = sum_k p_k P_k over the 24 permutation matrices of four streams, p = softmax of their logits: doubly stochastic
without rounds.
"""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from perlayer.model.residual import mhc
from perlayer.model.residual.hyper_connections import STREAMS
from perlayer.model.residual.mhc import SHARP

if TYPE_CHECKING:
    from perlayer.model.config import ModelConfig


class Connection(mhc.Connection):
    """As that of mHC, with a logit for each permutation; the first, which changes nothing, starts above the others."""

    def __init__(self, config: ModelConfig, sublayer: int):
        super().__init__(config, sublayer)
        order = torch.tensor(list(itertools.permutations(range(STREAMS))))
        matrices = torch.eye(STREAMS)[order]  # (permutations, after, before)
        self.register_buffer("permutations", matrices.flatten(1).T.contiguous(), persistent=False)

    def mixing_bias(self) -> Tensor:
        bias = torch.full((math.factorial(STREAMS),), -SHARP)
        bias[0] = 0
        return bias

    def mixing(self, logits: Tensor) -> Tensor:
        """From logits (permutations, ...) the matrices, (streams after, streams before, ...)."""
        shares = logits.flatten(1).softmax(0)
        return torch.mm(self.permutations, shares).unflatten(0, (STREAMS, STREAMS)).unflatten(2, logits.shape[1:])


class Design(mhc.Design):
    """mHC by permutations."""

    connection = Connection
