"""What perplexity becomes when a layer or a sublayer is taken away.

The neighbours' average is Wietrzykowski 2026 (arXiv 2603.19348); the other ways are ours.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from perlayer.anatomy.categories import MINOR, category
from perlayer.anatomy.changes import WeightChange, neighbour_average, neighbours
from perlayer.anatomy.estimates import estimate
from perlayer.anatomy.importance import NEIGHBOUR_AVERAGE
from perlayer.anatomy.perplexity import HeldOutText, degradation, draw_documents, nats_by_document, over_text
from perlayer.anatomy.settings import AnatomySettings
from perlayer.anatomy.tables import Ablation, AnatomyEstimate
from perlayer.depth.interventions import PARTS, SUBLAYERS, Intervention, Replacement, run, skip
from perlayer.intervals import Interval
from perlayer.model.decoder import Decoder


def measure_ablation(
    name: str, decoder: Decoder, text: HeldOutText, settings: AnatomySettings, confidence: float
) -> tuple[list[Ablation], list[AnatomyEstimate]]:
    """By how many percent held-out perplexity rises for each way to take a layer away, with its interval.

    - `neighbour_average`: every weight of the layer is the mean of its neighbours'; the first and the last layer have
      one neighbour. A model of one layer has no such number.
    - `skip`, of the layer and of each sublayer: it gives nothing to the residual design.
    - `mean_ablation`, of the same: a sublayer gives the mean over all tokens of what it gives.

    Beside them what `importance_estimates` gives.
    """
    ways: list[tuple[int, str | None, str, Intervention | WeightChange]] = []
    means = mean_outputs(decoder, text, settings.tokens_at_once)
    everywhere = torch.ones(1, 1, dtype=torch.bool, device=decoder.lm_head.weight.device)
    for layer in range(1, decoder.config.layers + 1):
        if neighbours(decoder, layer):
            change = WeightChange({layer: neighbour_average(decoder, layer)})
            ways.append((layer, None, NEIGHBOUR_AVERAGE, change))
        for part in PARTS:
            sublayer = None if part == "layer" else part
            ways.append((layer, sublayer, "skip", skip(part, layer, everywhere)))
            replacements = tuple(
                Replacement(kind, layer, everywhere, means[layer, kind])
                for kind in (SUBLAYERS if sublayer is None else (sublayer,))
            )
            ways.append((layer, sublayer, "mean_ablation", Intervention(replacements)))
    nats_of_all = nats_by_document(decoder, text, [change for *_, change in ways], settings.tokens_at_once)
    before, *after = nats_of_all
    draws = draw_documents(len(text.targets), settings.resamples)
    rows = []
    for (layer, sublayer, way, _), nats in zip(ways, after):
        found = degradation(before, nats, text.targets, draws)
        rows.append(Ablation(name, layer, sublayer, way, *found, category(*found)))
    averaged = [0, *(place for place, (_, _, way, _) in enumerate(ways, 1) if way == NEIGHBOUR_AVERAGE)]
    return rows, importance_estimates(name, nats_of_all[averaged], text.targets, confidence)


def importance_estimates(name: str, nats: Tensor, targets: Tensor, confidence: float) -> list[AnatomyEstimate]:
    """What claims say of the importance of all layers together, with intervals over documents.

    - `importance_span`: ln of the greatest rise of perplexity over the least, where less than a minor one counts as
      that.
    - `most_important_early`: 1 where the most important layer is one of the first half, else 0.
    - `least_importance`: the least change of log-perplexity; its ends are those of all layers, widened by Bonferroni
      for so many.

    Args:
        nats: as `nats_by_document`, of the model as it is and with each layer taken away; of one or none no rows.
    """
    layers = len(nats) - 1
    if layers < 2:
        return []

    def span(changes: np.ndarray) -> np.ndarray:
        rises = np.maximum(np.expm1(changes), MINOR / 100)
        return np.log(rises.max(axis=1) / rises.min(axis=1))

    def early(changes: np.ndarray) -> np.ndarray:
        return 1.0 * (2 * (changes.argmax(axis=1) + 1) <= layers)

    each = [
        over_text(lambda changes: changes[:, 0], nats[[0, layer]], targets, 1 - (1 - confidence) / layers)
        for layer in range(1, layers + 1)
    ]
    found = {
        "importance_span": over_text(span, nats, targets, confidence),
        "most_important_early": over_text(early, nats, targets, confidence),
        "least_importance": Interval(*map(min, zip(*each))),
    }
    return [estimate(name, statistic, interval) for statistic, interval in found.items()]


def mean_outputs(decoder: Decoder, text: HeldOutText, tokens_at_once: int) -> dict[tuple[int, str], Tensor]:
    """What each sublayer gives to the residual design, mean over all tokens: (hidden,), by layer and sublayer."""
    weight, sums = decoder.lm_head.weight, {}
    with torch.inference_mode():
        for rows, _ in text.batches(tokens_at_once):
            for place, output in run(decoder, rows[:, :-1].to(weight.device)).outputs.items():
                sums[place] = sums.get(place, 0) + output.sum((0, 1), dtype=torch.float64)
    return {place: (total / text.documents.numel()).to(weight.dtype) for place, total in sums.items()}
