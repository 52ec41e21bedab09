"""Held-out losses kept by sequence, so that before and after can be compared in pairs."""

from __future__ import annotations

from collections.abc import Callable

import torch
from composer.utils import dist
from torch import Tensor

from perlayer.data.batches import Split
from perlayer.losses.reading import Reading


def sequence_losses(
    token_losses: Callable[[Tensor], dict[Reading, Tensor]], rows: Split, batch: int, device: torch.device
) -> dict[Reading, Tensor]:
    """The mean loss of each held-out sequence for every reading, on every process.

    Args:
        token_losses: from tokens (batch, length + 1) to a loss a target, (batch, length), for each reading.
        rows: the validation sequences, each (length + 1,).
        batch: sequences at once.

    Returns:
        float64 (sequences,) in the order of `rows`, nats per token.
    """
    rank, processes = dist.get_global_rank(), dist.get_world_size()
    mine: dict[Reading, list[Tensor]] = {}
    with torch.inference_mode():
        for some in rows.batches(batch, rank, processes):
            for reading, losses in token_losses(torch.from_numpy(some).to(device)).items():
                mine.setdefault(reading, []).append(losses.mean(1, dtype=torch.float64).cpu())
    parts = dist.all_gather_object({reading: torch.cat(losses) for reading, losses in mine.items()})
    found = {reading: torch.empty(len(rows), dtype=torch.float64) for reading in parts[0]}
    for number, part in enumerate(parts):
        for reading, losses in part.items():
            found[reading][number::processes] = losses
    return found
