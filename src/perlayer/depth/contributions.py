"""What each layer and sublayer adds to the residual stream, and in which direction.

Csordas, Manning, Potts 2025, figure 2 (arXiv 2505.13898).
"""

from __future__ import annotations

import torch
from torch import Tensor

from perlayer.depth.interventions import first_of_text, run
from perlayer.depth.measures import cosine, norm, relative_norm
from perlayer.depth.settings import DepthSettings
from perlayer.depth.statistics import STATS, TokenValues
from perlayer.depth.tables import Number
from perlayer.model.decoder import Decoder


def measure_contributions(decoder: Decoder, tokens: Tensor, settings: DepthSettings) -> list[Number]:
    """The length of every contribution beside the residual it is added to, and the cosine between the two.

    - `relative_contribution`: |c| / |h|, mean, p95 and max over tokens; h stands before a layer or an attention, and
      for an MLP after the attention.
    - `cosine`: of c and h, mean. `residual_cosine`: of the residuals before and after a layer, mean.
    - `contribution_norm`: |c|, and `residual_norm`: |h| after each layer from 0, the embedding; mean and max.

    Each is over all tokens, and with `_without_first` behind its name over those that are not the first of their text.

    Args:
        tokens: integers (sequences, length).
    """
    shares, cosines, norms = TokenValues(), TokenValues(), TokenValues()
    with torch.inference_mode():
        for some in tokens.split(settings.sequences_at_once(tokens.shape[1])):
            some = some.to(decoder.lm_head.weight.device)
            trace, later = run(decoder, some), ~first_of_text(decoder, some)
            groups = (("", torch.ones_like(later)), ("_without_first", later))
            for suffix, group in groups:
                for layer, residual in enumerate(trace.residuals):
                    norms.add(layer, "layer", f"residual_norm{suffix}", norm(residual)[group])
                for (layer, part), contribution in trace.contributions.items():
                    before = trace.residuals[layer - 1]
                    if part == "mlp":
                        before = before + trace.contributions[layer, "attention"]
                    share = relative_norm(contribution, before)[group]
                    shares.add(layer, part, f"relative_contribution{suffix}", share)
                    cosines.add(layer, part, f"cosine{suffix}", cosine(contribution, before)[group])
                    norms.add(layer, part, f"contribution_norm{suffix}", norm(contribution)[group])
                    if part == "layer":
                        after = cosine(before, trace.residuals[layer])[group]
                        cosines.add(layer, part, f"residual_cosine{suffix}", after)
    return shares.numbers(*STATS) + cosines.numbers("mean") + norms.numbers("mean", "max")
