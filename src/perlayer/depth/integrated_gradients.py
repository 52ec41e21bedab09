"""How much each token's residual, or what a sublayer adds to it, adds to the probability of a text's answer.

Integrated gradients: Sundararajan, Taly, Yan 2017 (arXiv 1703.01365); by layer and token as in Csordas, Manning, Potts
2025, figure 6a and 6c (arXiv 2505.13898).
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from perlayer.depth.interventions import (
    SUBLAYERS,
    Intervention,
    Replacement,
    UntouchedRun,
    rerun,
    run,
    running_residual,
)
from perlayer.depth.settings import DepthSettings
from perlayer.depth.statistics import STATS, TokenValues
from perlayer.depth.tables import SINGLE, Number
from perlayer.depth.texts import AnsweredText, windows
from perlayer.model.decoder import Decoder


def measure_integrated_gradients(decoder: Decoder, tokens: Tensor, settings: DepthSettings) -> list[Number]:
    """Attribute the answers of the first `settings.texts` sequences; see `attribute_answers`.

    Args:
        tokens: integers (sequences, length).
    """
    texts = windows(tokens, settings.texts)
    return attribute_answers(decoder, texts, settings.gradient_steps, settings.tokens_at_once)


def attribute_answers(decoder: Decoder, texts: Sequence[AnsweredText], steps: int, tokens_at_once: int) -> list[Number]:
    """Integrated gradients of the summed probability of a text's answer tokens, for each layer and token.

    - `attribution`: of a token's residual after the layer, or of what attention or MLP gives there, on the straight way
      from its mean over the text, at all positions together. A row a token.
    - `target_change`: what that way adds to the sum of probabilities, of which attributions are the shares: their sum
      comes as close to it as there are steps. A row a text.
    - `attribution_size`: the absolute attribution; mean, p95 and max over the tokens of all texts.

    A design that attends over depth has attributions of its sublayers alone.
    """
    numbers, found = [], TokenValues()
    for text in texts:
        with torch.no_grad():
            untouched = run(decoder, text.tokens[None].to(decoder.lm_head.weight.device))
            usual = answer_probability(decoder, untouched.tap, text).item()
        parts = [*SUBLAYERS] if running_residual(untouched.states[0]) is None else ["residual", *SUBLAYERS]
        for layer in range(1, decoder.config.layers + 1):
            for part in parts:
                attributions, start = integrated_gradients(decoder, untouched, text, part, layer, steps, tokens_at_once)
                sublayer = None if part == "residual" else part
                numbers.append(Number(layer, sublayer, "target_change", SINGLE, usual - start, text=text.name))
                for position, value in enumerate(attributions.tolist()):
                    numbers.append(
                        Number(layer, sublayer, "attribution", SINGLE, value, text=text.name, position=position)
                    )
                found.add(layer, sublayer or "layer", "attribution_size", attributions.abs())
    return numbers + found.numbers(*STATS)


def integrated_gradients(
    decoder: Decoder,
    untouched: UntouchedRun,
    text: AnsweredText,
    part: str,
    layer: int,
    steps: int,
    tokens_at_once: int,
) -> tuple[Tensor, float]:
    """The attribution of each token, (length,), and the target where the way begins.

    The integral is the sum over the left ends of `steps` equal parts of the way, as in the source.

    Args:
        untouched: the text alone, in a batch of one, run without inference mode.
        part: residual, attention or mlp.
    """
    value = running_residual(untouched.states[layer]) if part == "residual" else untouched.outputs[layer, part]
    baseline = value.mean(1, keepdim=True)
    everywhere = torch.ones(1, 1, dtype=torch.bool, device=value.device)
    gradient, targets = torch.zeros_like(value), []
    for some in torch.arange(steps).split(max(1, tokens_at_once // len(text.tokens))):
        points = [(baseline + step / steps * (value - baseline)).requires_grad_() for step in some.tolist()]
        ways = [Intervention((Replacement(part, layer, everywhere, point),)) for point in points]
        with torch.enable_grad():
            traces = rerun(decoder, untouched, ways, tokens_at_once)
            reached = [answer_probability(decoder, trace.tap, text) for trace in traces]
            gradient += sum(torch.autograd.grad(sum(reached), points))
        targets += reached
    attributions = gradient / steps * (value - baseline)
    return attributions[0].flatten(1).sum(-1), targets[0].item()


def answer_probability(decoder: Decoder, tap: Tensor, text: AnsweredText) -> Tensor:
    """The sum of the probabilities of the answer's tokens, each after all tokens before it: ().

    Args:
        tap: of the text alone, (1, length, hidden).
    """
    predicting, answer = text.predicting.to(tap.device), text.answer_tokens.to(tap.device)
    probabilities = torch.softmax(decoder.logits(tap[0, predicting]), -1)
    return probabilities.gather(-1, answer[:, None]).sum()
