"""What perplexity becomes when the weights of unimportant layers are manipulated, at several strengths.

Wietrzykowski 2026 (arXiv 2603.19348), who names scaling by 0.9; the other kinds and all strengths are ours.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import torch
from torch import Tensor

from perlayer.anatomy.changes import (
    WeightChange,
    drawn_anew,
    neighbour_average,
    neighbour_copy,
    with_noise,
    zeros,
)
from perlayer.anatomy.estimates import estimate
from perlayer.anatomy.importance import of_layers
from perlayer.anatomy.perplexity import HeldOutText, degradation, draw_documents, nats_by_document, over_text
from perlayer.anatomy.predictability import predict_layer
from perlayer.anatomy.settings import AnatomySettings
from perlayer.anatomy.tables import Ablation, AnatomyEstimate, Manipulation
from perlayer.model.decoder import Decoder


def measure_manipulation(
    name: str, decoder: Decoder, text: HeldOutText, layers: Sequence[int], settings: AnatomySettings, confidence: float
) -> tuple[list[Manipulation], list[AnatomyEstimate]]:
    """By how many percent held-out perplexity rises when weights of one layer move some of the way to others.

    `strength` s is the share of the way: weights become (1 - s) x their own + s x what the kind names.

    - `scale`: zero, so that scaling by 0.9 is strength 0.1.
    - `noise`: themselves plus normal noise of each matrix's standard deviation.
    - `neighbour_interpolation`: the mean of the neighbours; `neighbour_copy`: the layer before, or after the first.
    - `predicted`: what the neighbours' matrices predict.
    - `random`: normal draws with the standard deviation of each matrix, the floor.

    A model of one layer has no neighbours, and no rows of them.

    Beside them, for each kind but `scale`, `over_scaling`: the change of log-perplexity the whole way minus that by
    scaling by 0.9, mean over layers, with its interval over documents.
    """
    draws, rows, together = draw_documents(len(text.targets), settings.resamples), [], []
    for layer in layers:
        towards = {kind: {layer: weights} for kind, weights in others(decoder, layer, settings).items()}
        ways = [(kind, strength) for kind in towards for strength in settings.strengths]
        changes = [WeightChange(towards[kind], strength) for kind, strength in ways]
        nats_of_all = nats_by_document(decoder, text, changes, settings.tokens_at_once)
        together.append(nats_of_all)
        before, *after = nats_of_all
        for (kind, strength), nats in zip(ways, after):
            found = degradation(before, nats, text.targets, draws)
            rows.append(Manipulation(name, layer, kind, strength, *found))
    mean, scaled, estimates = torch.stack(together).mean(0), 1 + ways.index(("scale", 0.1)), []
    for kind in (kind for kind in towards if kind != "scale"):
        beside = mean[[scaled, 1 + ways.index((kind, 1.0))]]
        found = over_text(lambda changes: changes[:, 0], beside, text.targets, confidence)
        estimates.append(estimate(name, "over_scaling", found, part=kind))
    return rows, estimates


def others(decoder: Decoder, layer: int, settings: AnatomySettings) -> dict[str, dict[str, Tensor]]:
    """Towards what the weights of a layer move, by the kind of manipulation."""
    found = {
        "scale": zeros(decoder, layer),
        "noise": with_noise(decoder, layer),
        "random": drawn_anew(decoder, layer),
    }
    if decoder.config.layers > 1:
        found |= {
            "neighbour_interpolation": neighbour_average(decoder, layer),
            "neighbour_copy": neighbour_copy(decoder, layer),
            "predicted": predict_layer(decoder, layer, settings),
        }
    return found


def unimportant_layers(ablations: Iterable[Ablation], most: int) -> list[int]:
    """The layers that ablation calls redundant or anti, least important first and `most` at most.

    Where it calls none so, the one least important layer.
    """
    order = sorted(of_layers(ablations), key=lambda row: row.degradation)
    called = [row for row in order if row.category in ("redundant", "anti")]
    return [row.layer for row in (called or order[:1])[:most]]
