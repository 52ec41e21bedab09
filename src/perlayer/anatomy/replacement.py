"""What perplexity becomes when ever more layers are replaced by what their neighbours predict.

Wietrzykowski 2026 (arXiv 2603.19348); the order in which layers are replaced is ours.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from statistics import fmean

from perlayer.anatomy.changes import WeightChange
from perlayer.anatomy.estimates import estimate
from perlayer.anatomy.perplexity import HeldOutText, degradation, draw_documents, nats_by_document, over_text
from perlayer.anatomy.predictability import predict_layer
from perlayer.anatomy.settings import AnatomySettings
from perlayer.anatomy.tables import AnatomyEstimate, LayersReplaced, Predictability
from perlayer.model.decoder import Decoder


def measure_replacement(
    name: str,
    decoder: Decoder,
    text: HeldOutText,
    predictability: Iterable[Predictability],
    settings: AnatomySettings,
    confidence: float,
) -> tuple[list[LayersReplaced], list[AnatomyEstimate]]:
    """By how many percent held-out perplexity rises with 1, 2, ... all layers replaced, the best predicted ones first.

    With `replaced` layers replaced, the last of them `layer`. Matrices of attention and MLP become what is
    predicted from the untouched neighbours; norms and what a residual design has stay.

    Beside them changes of log-perplexity with intervals over documents: `one_replaced`, and `three_of_ten_over_one`,
    that with three of ten layers replaced minus that with one, if these are several.

    Args:
        predictability: as `measure_predictability`; without its rows, of a model of one layer, nothing is replaced.
    """
    order = best_predicted(predictability)
    predicted = {layer: predict_layer(decoder, layer, settings) for layer in order}
    changes = [WeightChange({layer: predicted[layer] for layer in order[:count]}) for count in range(1, len(order) + 1)]
    draws = draw_documents(len(text.targets), settings.resamples)
    nats_of_all = nats_by_document(decoder, text, changes, settings.tokens_at_once)
    before, *after = nats_of_all
    rows = [
        LayersReplaced(name, count, layer, *degradation(before, nats, text.targets, draws))
        for count, (layer, nats) in enumerate(zip(order, after), 1)
    ]
    some = math.ceil(0.3 * len(order))
    joint = {"one_replaced": lambda changes: changes[:, 0]} if order else {}
    if some > 1:
        joint["three_of_ten_over_one"] = lambda changes: changes[:, some - 1] - changes[:, 0]
    return rows, [
        estimate(name, called, over_text(statistic, nats_of_all, text.targets, confidence))
        for called, statistic in joint.items()
    ]


def best_predicted(predictability: Iterable[Predictability]) -> list[int]:
    """The layers by the mean R2 of their matrices, highest first."""
    found: dict[int, list[float]] = {}
    for row in predictability:
        found.setdefault(row.layer, []).append(row.r2)
    return sorted(found, key=lambda layer: fmean(found[layer]), reverse=True)
