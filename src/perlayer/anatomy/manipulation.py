"""What perplexity becomes when the weights of unimportant layers are manipulated, at several strengths.

Wietrzykowski 2026 (arXiv 2603.19348), who names scaling by 0.9; the other kinds and all strengths are ours.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from perlayer.anatomy.ablation import NEIGHBOUR_AVERAGE
from perlayer.anatomy.categories import category
from perlayer.anatomy.changes import (
    WeightChange,
    drawn_anew,
    neighbour_average,
    neighbour_copy,
    with_noise,
    zeros,
)
from perlayer.anatomy.estimates import estimate
from perlayer.anatomy.perplexity import HeldOutText, degradation, draw_documents, nats_by_document, over_text
from perlayer.anatomy.predictability import predict_layer
from perlayer.anatomy.settings import AnatomySettings
from perlayer.depth.tables import Number
from perlayer.model.decoder import Decoder


def measure_manipulation(
    decoder: Decoder, text: HeldOutText, layers: Sequence[int], settings: AnatomySettings, confidence: float
) -> list[Number]:
    """By how many percent held-out perplexity rises when weights of one layer move some of the way to others.

    `strength` s is the share of the way: weights become (1 - s) x their own + s x what the metric names.

    - `scale`: zero, so that scaling by 0.9 is strength 0.1.
    - `noise`: themselves plus normal noise of each matrix's standard deviation.
    - `neighbour_interpolation`: the mean of the neighbours; `neighbour_copy`: the layer before, or after the first.
    - `predicted`: what the neighbours' matrices predict.
    - `random`: normal draws with the standard deviation of each matrix, the floor.

    A model of one layer has no neighbours, and no numbers of them.

    At the last layer of the model, for each kind but `scale` as `sublayer`: `over_scaling`, the change of
    log-perplexity the whole way minus that by scaling by 0.9, mean over layers, with its interval over documents.
    """
    draws, numbers, together = draw_documents(len(text.targets), settings.resamples), [], []
    for layer in layers:
        towards = {kind: {layer: weights} for kind, weights in others(decoder, layer, settings).items()}
        ways = [(kind, strength) for kind in towards for strength in settings.strengths]
        changes = [WeightChange(towards[kind], strength) for kind, strength in ways]
        nats_of_all = nats_by_document(decoder, text, changes, settings.tokens_at_once)
        together.append(nats_of_all)
        before, *after = nats_of_all
        for (kind, strength), nats in zip(ways, after):
            numbers += degradation(before, nats, text.targets, draws).numbers(layer, None, kind, strength)
    mean, scaled = torch.stack(together).mean(0), 1 + ways.index(("scale", 0.1))
    for kind in (kind for kind in towards if kind != "scale"):
        beside = mean[[scaled, 1 + ways.index((kind, 1.0))]]
        found = over_text(lambda changes: changes[:, 0], beside, text.targets, confidence)
        numbers += estimate(decoder.config.layers, "over_scaling", found, kind)
    return numbers


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


def unimportant_layers(ablation: Sequence[Number], most: int) -> list[int]:
    """The layers that ablation calls redundant or anti, least important first and `most` at most.

    Where it calls none so, the one least important layer. A layer is called by its neighbours' average, or by skipping
    it in a model of one layer.

    Args:
        ablation: as `measure_ablation`.
    """
    metric = NEIGHBOUR_AVERAGE if any(number.metric == NEIGHBOUR_AVERAGE for number in ablation) else "skip"
    found: dict[int, dict[str, float]] = {}
    for number in ablation:
        if number.metric == metric and number.sublayer is None:
            found.setdefault(number.layer, {})[number.stat] = number.value
    order = sorted(found, key=lambda layer: found[layer]["mean"])
    called = [layer for layer in order if category(**found[layer]) in ("redundant", "anti")]
    return (called or order[:1])[:most]
