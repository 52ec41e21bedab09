"""What each layer and sublayer adds to the residual stream, and in which direction.

Csordas, Manning, Potts 2025, figure 2 (arXiv 2505.13898).
"""

from __future__ import annotations

import torch
from torch import Tensor

from perlayer.depth.interventions import first_of_text, run
from perlayer.depth.measures import cosine, norm, relative_norm
from perlayer.depth.settings import DepthSettings
from perlayer.depth.statistics import TokenValues
from perlayer.depth.tables import Contribution
from perlayer.model.decoder import Decoder


def measure_contributions(name: str, decoder: Decoder, tokens: Tensor, settings: DepthSettings) -> list[Contribution]:
    """The length of every contribution c beside the residual h it is added to, and the cosine between the two.

    h stands before a layer or an attention, and for an MLP after the attention; `residual_norm` is of h after each
    layer from 0, the embedding. Means over tokens, and of |c| / |h| also the 95th percentile and the greatest.
    `_without_first` are over the tokens that are not the first of their text.

    Args:
        name: of the model.
        tokens: integers (sequences, length).
    """
    found = TokenValues()
    with torch.inference_mode():
        for some in tokens.split(settings.sequences_at_once(tokens.shape[1])):
            some = some.to(decoder.lm_head.weight.device)
            trace, later = run(decoder, some), ~first_of_text(decoder, some)
            for layer, residual in enumerate(trace.residuals):
                found.add((layer, None), "residual_norm", norm(residual))
            for (layer, part), contribution in trace.contributions.items():
                before = trace.residuals[layer - 1]
                if part == "mlp":
                    before = before + trace.contributions[layer, "attention"]
                place = layer, None if part == "layer" else part
                share, angle = relative_norm(contribution, before), cosine(contribution, before)
                found.add(place, "relative_contribution", share)
                found.add(place, "relative_contribution_without_first", share[later])
                found.add(place, "cosine", angle)
                found.add(place, "cosine_without_first", angle[later])
                found.add(place, "contribution_norm", norm(contribution))
                if part == "layer":
                    found.add(place, "residual_cosine", cosine(before, trace.residuals[layer]))
    p95, greatest = (found.numbers(stat) for stat in ("p95", "max"))
    return [
        Contribution(
            name,
            *place,
            relative_contribution_p95=p95[place].get("relative_contribution"),
            greatest_relative_contribution=greatest[place].get("relative_contribution"),
            **means,
        )
        for place, means in found.numbers("mean").items()
    ]
