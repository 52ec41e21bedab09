"""How near the output already is to the final one when the model's own head reads the residual stream early.

Csordas, Manning, Potts 2025, figure 4 (arXiv 2505.13898).
"""

from __future__ import annotations

import torch
from torch import Tensor

from perlayer.depth.interventions import run
from perlayer.depth.settings import DepthSettings
from perlayer.depth.statistics import TokenValues
from perlayer.depth.tables import ResidualLens
from perlayer.lens.measures import lens_measures
from perlayer.model.decoder import Decoder

MEASURES = ("kl_lens_final", "kl_final_lens", "top5_overlap")


def measure_residual_lens(name: str, decoder: Decoder, tokens: Tensor, settings: DepthSettings) -> list[ResidualLens]:
    """The measures of the same names in `perlayer.lens.measures`, mean over tokens, after each layer from 0.

    The residual is that of `interventions`; where a design attends over depth, the lenses read another.

    Args:
        name: of the model.
        tokens: integers (sequences, length).
    """
    found = TokenValues()
    with torch.inference_mode():
        for some in tokens.split(settings.sequences_at_once(tokens.shape[1])):
            some = some.to(decoder.lm_head.weight.device)
            residuals = run(decoder, some).residuals
            hiddens = [decoder.model.norm(residual).flatten(0, 1) for residual in residuals]
            layers = lens_measures(hiddens, hiddens[-1], decoder.lm_head.weight, some.flatten())
            for layer, measures in enumerate(layers):
                for measure in MEASURES:
                    found.add((layer,), measure, measures[measure])
    return [ResidualLens(name, layer, **means) for (layer,), means in found.numbers("mean").items()]
