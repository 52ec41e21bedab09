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
from perlayer.depth.texts import AnsweredText, TokenPlace
from perlayer.model.decoder import Decoder

ATTRIBUTIONS = {"residual": "attribution", "attention": "attention_attribution", "mlp": "mlp_attribution"}


def attribute_answers(
    decoder: Decoder, texts: Sequence[AnsweredText], steps: int, tokens_at_once: int
) -> dict[TokenPlace, dict[str, float]]:
    """Integrated gradients of the summed probability of a text's answer tokens, for each layer and token.

    The way goes straight to a token's residual after the layer, or to what attention or MLP gives there, from its mean
    over the text, at all positions together. What it adds to the sum of probabilities, attributions share among them:
    their sum comes as close to it as there are steps.

    Returns:
        By the names in `ATTRIBUTIONS`; a design that attends over depth has attributions of its sublayers alone.
    """
    found: dict[TokenPlace, dict[str, float]] = {}
    for text in texts:
        with torch.no_grad():
            untouched = run(decoder, text.tokens[None].to(decoder.lm_head.weight.device))
        parts = [*SUBLAYERS] if running_residual(untouched.states[0]) is None else [*ATTRIBUTIONS]
        for layer in range(1, decoder.config.layers + 1):
            for part in parts:
                attributions, _ = integrated_gradients(decoder, untouched, text, part, layer, steps, tokens_at_once)
                for position, value in enumerate(attributions.tolist()):
                    found.setdefault((text.name, position, layer), {})[ATTRIBUTIONS[part]] = value
    return found


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
