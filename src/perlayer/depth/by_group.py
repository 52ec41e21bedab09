"""Whether a model computes more deeply where a question is harder: depth scores of groups of prompts.

Csordas, Manning, Potts 2025, figure 7 (arXiv 2505.13898), and their code for the splits.
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import fmean, pvariance

import torch
from torch import Tensor

from perlayer.data.tokenizer import Tokenizer
from perlayer.depth.depth_score import skipping_scores
from perlayer.depth.interventions import run
from perlayer.depth.prompts import Prompt
from perlayer.depth.settings import AFTER_SPLIT
from perlayer.depth.skipping import SEED, add_future_effects
from perlayer.depth.statistics import STATS, TokenValues
from perlayer.depth.tables import SINGLE, Number
from perlayer.depth.texts import AnsweredText, answered_texts
from perlayer.errors import UserError
from perlayer.model.decoder import Decoder

BETWEEN_SPLITS = 4
TOO_LONG = "too_long"


def score_sets(
    decoder: Decoder, sets: Mapping[str, Sequence[Prompt]], tokenizer: Tokenizer, splits: int, tokens_at_once: int
) -> list[Number]:
    """`score_groups` of several sets of prompts by name; `text` of the numbers is "SET: GROUP".

    Raises:
        UserError: a prompt or an answer has no tokens.
    """
    numbers = []
    for name, prompts in sets.items():
        try:
            found = score_groups(decoder, prompts, tokenizer, splits, tokens_at_once)
        except UserError as error:
            raise UserError(f"prompts {name}: {error}") from None
        numbers += [replace(number, text=f"{name}: {number.text}") for number in found]
    return numbers


def score_groups(
    decoder: Decoder, prompts: Sequence[Prompt], tokenizer: Tokenizer, splits: int, tokens_at_once: int
) -> list[Number]:
    """The depth scores of whole layers for the prompts of each group, whose name is `text` of the numbers.

    What comes before a split is skipped, and what comes after it looked at; each text is split at `splits` places that
    are drawn from its answer. Beside the scores of `depth_score`:

    - `depth_score_standard_error`, `output_depth_score_standard_error`: of those of mean effects, over prompts, by the
      jackknife (Efron, Stein 1981): each prompt is left out once. Not of a single prompt.
    - `answered`: the share of prompts of whose answer every token is the likeliest one.
    - `prompts`, `too_long`: how many were read, and how many are longer than the model reads and were not.
    """
    numbers = []
    layers, longest = decoder.config.layers, decoder.config.sequence_length
    for group in sorted({prompt.group for prompt in prompts}):
        texts = answered_texts([prompt for prompt in prompts if prompt.group == group], tokenizer)
        short = [text for text in texts if len(text.tokens) <= longest]
        each = [future_effects(decoder, text, splits, tokens_at_once) for text in short]
        found = skipping_scores(TokenValues.together(each).numbers(*STATS), layers) + standard_errors(each, layers)
        if short:
            share = fmean(answers(decoder, text) for text in short)
            found.append(Number(layers, None, "answered", "mean", share))
        found.append(Number(layers, None, "prompts", SINGLE, len(short)))
        found.append(Number(layers, None, TOO_LONG, SINGLE, len(texts) - len(short)))
        numbers += [replace(number, text=group) for number in found]
    return numbers


def future_effects(decoder: Decoder, text: AnsweredText, splits: int, tokens_at_once: int) -> TokenValues:
    """What skipping each layer before the splits of a text changes after them."""
    found = TokenValues()
    add_future_effects(decoder, text.tokens[None], answer_splits(text, splits)[None], tokens_at_once, found)
    return found


def answer_splits(text: AnsweredText, splits: int) -> Tensor:
    """Where a text is split: int64, at most `splits` places, or the answer's first token where the answer is short."""
    start = len(text.tokens) - text.answer
    places = range(start, len(text.tokens) - AFTER_SPLIT, BETWEEN_SPLITS) or [start]
    return torch.tensor(random.Random(SEED).sample(places, min(splits, len(places))))


def standard_errors(each: Sequence[TokenValues], layers: int) -> list[Number]:
    """Jackknife standard errors of the depth scores of mean effects, from the effects in each prompt; see above."""
    count = len(each)
    if count < 2:
        return []
    left = [TokenValues.together([*each[:place], *each[place + 1 :]]) for place in range(count)]
    scores = [{one.metric: one.value for one in skipping_scores(some.numbers("mean"), layers)} for some in left]
    return [
        Number(layers, None, f"{name}_standard_error", "mean", math.sqrt((count - 1) * pvariance(values)))
        for name in scores[0]
        if len(values := [one[name] for one in scores if name in one]) == count
    ]


def answers(decoder: Decoder, text: AnsweredText) -> bool:
    """Whether every token of the answer is the likeliest one after those before it."""
    with torch.inference_mode():
        tap = run(decoder, text.tokens[None].to(decoder.lm_head.weight.device)).tap[0]
        likeliest = decoder.logits(tap[text.predicting.to(tap.device)]).argmax(-1).cpu()
    return torch.equal(likeliest, text.answer_tokens)
