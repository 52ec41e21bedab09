"""The validation loss of every layer."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from composer.utils import dist
from torch import Tensor

from perlayer.data.batches import Split
from perlayer.losses.reading import Reading

TokenLosses = Callable[[Tensor], dict[Reading, Tensor]]


@dataclass(frozen=True)
class Total:
    """A sum of losses."""

    nats: float
    targets: int

    @property
    def mean(self) -> float:
        """Nats per token."""
        return self.nats / self.targets


def evaluate(token_losses: TokenLosses, rows: Split, batch: int, device: torch.device) -> dict[Reading, Total]:
    """Sum the losses of every reading over validation rows, each row once, whatever the number of processes.

    Args:
        token_losses: from tokens (batch, length + 1) to a loss a target, (batch, length), for each reading.
        rows: the validation sequences, each (length + 1,).
        batch: sequences at once.

    Returns:
        For each reading the sum in nats, accumulated in float64, and the number of targets.
    """
    nats: dict[Reading, Tensor] = {}
    targets: dict[Reading, int] = {}
    with torch.inference_mode():
        for some in rows.batches(batch, dist.get_global_rank(), dist.get_world_size()):
            tokens = torch.from_numpy(some).to(device)
            for reading, losses in token_losses(tokens).items():
                total = losses.sum(dtype=torch.float64)
                nats[reading] = nats[reading] + total if reading in nats else total
                targets[reading] = targets.get(reading, 0) + losses.numel()
    parts = dist.all_gather_object({reading: Total(nats[reading].item(), targets[reading]) for reading in nats})
    readings = sorted({reading for part in parts for reading in part})
    return {
        reading: Total(
            math.fsum(part[reading].nats for part in parts if reading in part),
            sum(part[reading].targets for part in parts if reading in part),
        )
        for reading in readings
    }


def bits_per_byte(nats: float, target_bytes: int) -> float:
    """Summed nats over the validation targets, in bits, over the UTF-8 bytes of those targets.

    BOS and EOS count in nats and have no bytes.
    """
    return nats / (math.log(2) * target_bytes)
