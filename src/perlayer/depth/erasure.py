"""What the answer of a text loses when one token is forgotten at one depth.

Csordas, Manning, Potts 2025, figure 6b and 6d (arXiv 2505.13898).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor

from perlayer.depth.interventions import Intervention, Replacement, rerun, run, running_residual, visible
from perlayer.depth.measures import probability_distance
from perlayer.depth.texts import AnsweredText, TokenPlace
from perlayer.model.decoder import Decoder


def mean_residuals(decoder: Decoder, batches: Sequence[Tensor]) -> list[Tensor]:
    """The mean of the running residual over all tokens, after each layer from 0: (..., hidden).

    In a design with several streams, each has its own. Empty in a design that attends over depth, which has none.

    Args:
        batches: integers (sequences, length) each.
    """
    sums: list[Tensor] = []
    with torch.inference_mode():
        for some in batches:
            found = [running_residual(state) for state in run(decoder, _there(some, decoder)).states]
            if found[0] is None:
                return []
            totals = [residual.sum((0, 1), dtype=torch.float64) for residual in found]
            sums = [one + other for one, other in zip(sums, totals)] if sums else totals
        count = sum(some.numel() for some in batches)
        return [(total / count).to(residual.dtype) for total, residual in zip(sums, found)]


def erase_tokens(
    decoder: Decoder, texts: Sequence[AnsweredText], means: Sequence[Tensor], tokens_at_once: int
) -> dict[TokenPlace, float]:
    """Put the mean residual in place of each token's at each depth, and see how far the answer moves.

    That is the greatest Euclidean distance between next-token distributions, over the tokens of the answer, when the
    residual after a layer (0: the embedding) is replaced at one position alone; what attends to it below that layer has
    read it as it was.

    Args:
        means: as `mean_residuals` gives them; none in a design that attends over depth, in which nothing is erased.

    Returns:
        The distance for each token that an answer's prediction sees, at each depth.
    """
    with torch.inference_mode():
        return {
            (text.name, position, layer): value.item()
            for text in (texts if means else ())
            for (layer, position), value in _erased(decoder, text, means, tokens_at_once)
        }


def _erased(
    decoder: Decoder, text: AnsweredText, means: Sequence[Tensor], tokens_at_once: int
) -> Iterator[tuple[tuple[int, int], Tensor]]:
    """Layer and position of every token erased, and how far the answer moves, ()."""
    untouched = run(decoder, _there(text.tokens[None], decoder))
    predicting, length = text.predicting.to(untouched.tap.device), len(text.tokens)
    seen = visible(decoder, untouched.tokens)[0, predicting]  # (answer, length)
    places = [(layer, at) for layer in range(len(means)) for at in range(length) if seen[:, at].any()]
    positions = torch.arange(length, device=untouched.tap.device)
    ways = [
        Intervention((Replacement("residual", layer, (positions == at)[None], means[layer]),)) for layer, at in places
    ]
    usual = decoder.model.norm(untouched.tap[0, predicting])
    for (layer, at), trace in zip(places, rerun(decoder, untouched, ways, tokens_at_once)):
        other = decoder.model.norm(trace.tap[0, predicting])
        yield (layer, at), probability_distance(usual, other, decoder.lm_head.weight)[seen[:, at]].max()


def _there(tokens: Tensor, decoder: Decoder) -> Tensor:
    return tokens.to(decoder.lm_head.weight.device)
