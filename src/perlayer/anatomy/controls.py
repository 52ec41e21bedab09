"""Whether weights of layers tell of each other at all: what they give beside random controls.

On one sample of entries of each matrix, the same in all layers. In a control the entries of a layer are shifted against
those of its neighbours, around the sample, whose order is random: every layer keeps its entries, and none has to do
with another.
"""

from __future__ import annotations

import random

import torch
from torch import Tensor

from perlayer.anatomy.estimates import estimate
from perlayer.anatomy.matrices import Matrices, short_name
from perlayer.anatomy.predictability import describe, r2_of, sampled_entries
from perlayer.anatomy.settings import AnatomySettings
from perlayer.anatomy.structure import delta_correlations
from perlayer.anatomy.tables import AnatomyEstimate
from perlayer.intervals import Interval, beyond_controls

CONTROLS = 200
SEED = 0
BEST = "gate_proj"  # the kind that the source predicts best


def measure_controls(
    name: str, trained: Matrices, settings: AnatomySettings, confidence: float
) -> list[AnatomyEstimate]:
    """How far numbers of weights lie beyond what chance gives, means over layers and kinds of matrix, with intervals.

    - `r2_beyond_chance`: R2 predicted from the neighbours, of two layers and more.
    - `gate_lead`: R2 of gate_proj minus that of the kind that `part` names, without the same by chance.
    - `delta_correlation`, of three layers and more: the correlation of consecutive deltas, beside deltas that have
      nothing to do with each other; `delta_excess`: beside layers that have nothing to do with each other.
    """
    layers = len(next(iter(trained.values())))
    r2, unrelated, independent = {}, [], []
    shifts = _shifts(min(settings.entries, *(matrices[0].numel() for matrices in trained.values())))
    for matrix, matrices in trained.items() if layers > 1 else ():
        entries = sampled_entries(matrices[0], settings.entries)
        described = describe(matrices, entries)
        r2[short_name(matrix)] = shifted_r2(described, shifts).mean(0)
        if layers > 2:
            unrelated.append(shifted_deltas(described[..., 0], shifts).mean(1))
            independent.append(
                torch.tensor([delta_correlations(_shifted(described[..., 0], shift)) for shift in shifts])
            )
    found = [
        *([("r2_beyond_chance", None, torch.stack([*r2.values()]).mean(0))] if r2 else []),
        *(("gate_lead", kind, r2[BEST] - other) for kind, other in r2.items() if BEST in r2 and kind != BEST),
        *([("delta_correlation", None, torch.stack(unrelated).mean(0))] if unrelated else []),
        *([("delta_excess", None, torch.stack(independent).mean((0, 2)))] if independent else []),
    ]
    return [
        estimate(name, statistic, _beyond(values, confidence), "random controls", kind)
        for statistic, kind, values in found
    ]


def shifted_r2(described: Tensor, shifts: list[int]) -> Tensor:
    """R2 of the entries of every layer, predicted from its neighbours, with its own shifted: (layers, shifts)."""
    return r2_of(described, torch.stack([described[..., 0].roll(shift, 1) for shift in shifts], 2))


def shifted_deltas(entries: Tensor, shifts: list[int]) -> Tensor:
    """Correlations of consecutive deltas, the second of them shifted: (shifts, layers - 2)."""
    deltas = entries.diff(dim=0)
    deltas = deltas - deltas.mean(1, keepdim=True)
    deltas = deltas / deltas.norm(dim=1, keepdim=True)
    return torch.stack([(deltas[:-1] * deltas[1:].roll(shift, 1)).sum(1) for shift in shifts])


def _shifted(entries: Tensor, shift: int) -> list[Tensor]:
    """Each layer shifted further than the one before."""
    return [layer.roll(shift * place) for place, layer in enumerate(entries)]


def _shifts(entries: int) -> list[int]:
    """0, the weights as they are, and those of the controls, of which two together are none either.

    Args:
        entries: of the smallest sample.
    """
    possible = range(1, (entries + 1) // 2)
    return [0, *random.Random(SEED).sample(possible, min(CONTROLS, len(possible)))]


def _beyond(values: Tensor, confidence: float) -> Interval:
    own, *controls = values.tolist()
    return beyond_controls(own, torch.tensor(controls).numpy(), confidence)
