"""Whether a model computes more deeply where a question is harder: depth scores of groups of prompts.

Csordas, Manning, Potts 2025, figure 7 (arXiv 2505.13898), and their code for the splits.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor

from perlayer.data.tokenizer import Tokenizer
from perlayer.depth.depth_score import skipping_scores
from perlayer.depth.prompts import Prompt, answered_texts
from perlayer.depth.skipping import AFTER_SPLIT, SEED, add_effects
from perlayer.depth.statistics import STATS, TokenValues
from perlayer.depth.tables import Number
from perlayer.depth.texts import AnsweredText
from perlayer.model.decoder import Decoder

BETWEEN_SPLITS = 4


def score_groups(
    decoder: Decoder, prompts: Sequence[Prompt], tokenizer: Tokenizer, splits: int, tokens_at_once: int
) -> list[Number]:
    """The depth scores of `depth_score` for the prompts of each group, whose name is `text` of the numbers.

    What comes before a split is skipped, and what comes after it looked at; each text is split at `splits` places that
    are drawn from its answer.
    """
    numbers = []
    for group in sorted({prompt.group for prompt in prompts}):
        found = TokenValues()
        for text in answered_texts([prompt for prompt in prompts if prompt.group == group], tokenizer):
            add_effects(decoder, text.tokens[None], answer_splits(text, splits)[None], tokens_at_once, found)
        scores = skipping_scores(found.numbers(*STATS), decoder.config.layers)
        numbers += [replace(score, text=group) for score in scores]
    return numbers


def answer_splits(text: AnsweredText, splits: int) -> Tensor:
    """Where a text is split: int64, at most `splits` places, or the answer's first token where the answer is short."""
    start = len(text.tokens) - text.answer
    places = range(start, len(text.tokens) - AFTER_SPLIT, BETWEEN_SPLITS) or [start]
    return torch.tensor(random.Random(SEED).sample(places, min(splits, len(places))))
