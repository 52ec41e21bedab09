"""Reading held-out text through lenses, layer by layer."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import torch
from torch import Tensor

from perlayer.data.batches import read_split
from perlayer.errors import UserError
from perlayer.layer_metrics import Series
from perlayer.lens.lenses import Lens
from perlayer.lens.measures import MEASURES, lens_measures
from perlayer.losses.estimate import Estimate
from perlayer.losses.reading import Reading
from perlayer.model.decoder import Decoder

TOKENS_AT_ONCE = 2**13


def held_out_rows(shards: Path, sequences: int) -> Tensor:
    """The first held-out sequences, int64 (sequences, length + 1); all where there are fewer.

    Raises:
        UserError: a shard is missing or broken, or there are fewer than two sequences.
    """
    rows = read_split(shards, "val")[:sequences]
    if len(rows) < 2:
        raise UserError(f"{shards}: expected at least 2 held-out sequences, for a standard error, found {len(rows)}")
    return torch.from_numpy(rows)


def at_once(rows: Tensor) -> int:
    """How many sequences (sequences, length + 1) are read together, whatever the machine."""
    return max(1, TOKENS_AT_ONCE // (rows.shape[1] - 1))


def read_layers(decoder: Decoder, lens: Lens, rows: Tensor) -> list[dict[str, Tensor]]:
    """The mean of every measure over each sequence, for each layer from 0: float64 (sequences,).

    Args:
        rows: token ids (sequences, length + 1).
    """
    found: list[dict[str, list[Tensor]]] = [{name: [] for name in MEASURES} for _ in range(decoder.config.layers + 1)]
    head = decoder.lm_head.weight
    with torch.inference_mode():
        for some in rows.split(at_once(rows)):
            some = some.to(head.device)
            taps, targets = decoder(some[:, :-1]), some[:, 1:]
            hiddens = [lens.hidden(decoder, layer, tap).flatten(0, 1) for layer, tap in enumerate(taps)]
            final = decoder.model.norm(taps[-1]).flatten(0, 1)
            for values, measures in zip(found, lens_measures(hiddens, final, head, targets.flatten())):
                for name, each in measures.items():
                    values[name].append(each.view(targets.shape).mean(1, dtype=torch.float64).cpu())
    return [{name: torch.cat(parts) for name, parts in values.items()} for values in found]


def lens_series(decoder: Decoder, lens: Lens, rows: Tensor, steps: Sequence[int] | None = None) -> list[Series]:
    """Every measure of every layer on held-out text, with its standard error, for the per-layer tables.

    Args:
        rows: token ids (sequences, length + 1).
        steps: for each layer from 0 the update of the lens's own training; None where nothing was trained.
    """
    series = []
    evaluated_tokens = rows.shape[0] * (rows.shape[1] - 1)
    layers = read_layers(decoder, lens, rows)
    for layer, (values, step) in enumerate(zip(layers, steps or [0] * len(layers))):
        reading = Reading(layer, lens.name)
        for name, each in values.items():
            estimate = Estimate.of(each)
            series.append(Series(reading, "val", name, [step], [estimate.mean]))
            series.append(Series(reading, "val", f"{name}_standard_error", [step], [estimate.standard_error]))
        series.append(Series(reading, "val", "evaluated_tokens", [step], [evaluated_tokens]))
    return series
