"""Made-up text that a model can learn: each token limits the next, and documents end at random places."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

EOS = 0
SUCCESSORS = 4  # tokens that may follow a token
DOCUMENTS = 4  # of a sequence, on average


def synthetic_tokens(sequences: int, length: int, vocab_size: int, seed: int) -> Tensor:
    """int64 (sequences, length + 1) on the CPU; the same rule for every seed, so that batches teach one another.

    A model that has learnt the rule has a loss of about log(SUCCESSORS) = 1.39 nats within documents.
    """
    following = np.random.default_rng(0).integers(1, vocab_size, (vocab_size, SUCCESSORS))
    draw = np.random.default_rng([1, seed])
    choice = draw.integers(0, SUCCESSORS, (sequences, length + 1))
    ends = draw.random((sequences, length + 1)) < DOCUMENTS / length
    tokens = np.empty((sequences, length + 1), np.int64)
    tokens[:, 0] = draw.integers(1, vocab_size, sequences)
    for position in range(1, length + 1):
        after = following[tokens[:, position - 1], choice[:, position]]
        tokens[:, position] = np.where(ends[:, position], EOS, after)
    return torch.from_numpy(tokens)
