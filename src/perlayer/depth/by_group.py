"""Whether a model computes more deeply where a question is harder: depth scores of groups of prompts.

Csordas, Manning, Potts 2025, figure 7 (arXiv 2505.13898), and their code for the splits.
"""

from __future__ import annotations

import math
import random
import re
from collections.abc import Mapping, Sequence
from statistics import fmean, pvariance

import torch
from torch import Tensor

from perlayer.data.tokenizer import Tokenizer
from perlayer.depth.depth_score import depth_scores
from perlayer.depth.interventions import run
from perlayer.depth.prompts import Prompt
from perlayer.depth.settings import AFTER_SPLIT
from perlayer.depth.skipping import SEED, add_future_effects, effects_of
from perlayer.depth.statistics import TokenValues
from perlayer.depth.tables import DepthScore, GroupScore
from perlayer.depth.texts import AnsweredText, answered_texts
from perlayer.errors import UserError
from perlayer.model.decoder import Decoder

BETWEEN_SPLITS = 4


def score_groups(
    name: str,
    decoder: Decoder,
    sets: Mapping[str, Sequence[Prompt]],
    tokenizer: Tokenizer,
    splits: int,
    tokens_at_once: int,
) -> list[GroupScore]:
    """The depth scores of whole layers of the model `name` for each group of sets of prompts by name.

    What comes before a split is skipped, and what comes after it looked at; each text is split at `splits` places that
    are drawn from its answer. Standard errors are over prompts, by the jackknife (Efron, Stein 1981): each prompt is
    left out once. `answered` is the share of prompts of whose answer every token is the likeliest one.

    Raises:
        UserError: a prompt or an answer has no tokens.
    """
    rows = []
    layers, longest = decoder.config.layers, decoder.config.sequence_length
    for prompts, members in sets.items():
        for group in sorted({prompt.group for prompt in members}):
            try:
                texts = answered_texts([prompt for prompt in members if prompt.group == group], tokenizer)
            except UserError as error:
                raise UserError(f"prompts {prompts}: {error}") from None
            short = [text for text in texts if len(text.tokens) <= longest]
            each = [future_effects(decoder, text, splits, tokens_at_once) for text in short]
            scores, greatest = (_score(each, layers, stat) for stat in ("mean", "max"))
            standard_error, output_standard_error = standard_errors(each, layers)
            rows.append(
                GroupScore(
                    name,
                    prompts,
                    group,
                    difficulty(group),
                    layers,
                    prompts_read=len(short),
                    too_long=len(texts) - len(short),
                    answered=fmean(answers(decoder, text) for text in short) if short else None,
                    depth_score=scores.depth_score,
                    standard_error=standard_error,
                    output_depth_score=scores.output_depth_score,
                    output_standard_error=output_standard_error,
                    depth_score_by_max=greatest.depth_score,
                )
            )
    return rows


def difficulty(group: str) -> float | None:
    """The first number that is a word of a group's name: level 3, 4 hops, 6 operands, but not gsm8k."""
    found = re.search(r"\b\d+(\.\d+)?\b", group, re.ASCII)
    return float(found[0]) if found else None


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


def standard_errors(each: Sequence[TokenValues], layers: int) -> tuple[float | None, float | None]:
    """Jackknife standard errors of both depth scores of mean effects, from the effects in each prompt; see above."""
    left = [_score([*each[:place], *each[place + 1 :]], layers, "mean") for place in range(len(each))]
    return _standard_error([row.depth_score for row in left]), _standard_error([row.output_depth_score for row in left])


def _standard_error(left: Sequence[float | None]) -> float | None:
    return None if len(left) < 2 or None in left else math.sqrt((len(left) - 1) * pvariance(left))


def _score(each: Sequence[TokenValues], layers: int, stat: str) -> DepthScore:
    """The depth scores of the effects in some prompts together; None each where there are none."""
    rows = depth_scores("", layers, *effects_of("", TokenValues.together(each), [stat]))
    return rows[0] if rows else DepthScore("", layers, None, stat, None, None)


def answers(decoder: Decoder, text: AnsweredText) -> bool:
    """Whether every token of the answer is the likeliest one after those before it."""
    with torch.inference_mode():
        tap = run(decoder, text.tokens[None].to(decoder.lm_head.weight.device)).tap[0]
        likeliest = decoder.logits(tap[text.predicting.to(tap.device)]).argmax(-1).cpu()
    return torch.equal(likeliest, text.answer_tokens)
