"""Texts that end in an answer, of which each token is looked at alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from perlayer.errors import UserError, shortened

if TYPE_CHECKING:
    from perlayer.data.tokenizer import Tokenizer
    from perlayer.depth.prompts import Prompt

WINDOW_LENGTH = 64  # of a sequence of held-out text, so that its tokens fit on an axis
WINDOW_ANSWER = 4  # its last tokens stand for its answer
TokenPlace = tuple[str, int, int]  # the name of a text, the position of a token in it, and a layer


@dataclass(frozen=True, eq=False)
class AnsweredText:
    """A text whose last tokens are the answer to what stands before them."""

    name: str
    tokens: Tensor  # int64 (length,), the answer among them
    answer: int  # how many of the last tokens are the answer, from 1 to length - 1

    @property
    def predicting(self) -> Tensor:
        """The positions at which the answer is predicted, each one before its token: int64 (answer,)."""
        length = len(self.tokens)
        return torch.arange(length - self.answer - 1, length - 1, device=self.tokens.device)

    @property
    def answer_tokens(self) -> Tensor:
        """The tokens of the answer, int64 (answer,)."""
        return self.tokens[-self.answer :]


def windows(tokens: Tensor, count: int) -> list[AnsweredText]:
    """The first `WINDOW_LENGTH` tokens of the first sequences, of which the last stand for an answer.

    Args:
        tokens: integers (sequences, length).
    """
    cut = tokens[:count, :WINDOW_LENGTH]
    answer = min(WINDOW_ANSWER, cut.shape[1] - 1)
    return [AnsweredText(f"window {number}", each, answer) for number, each in enumerate(cut, 1)]


def answered_texts(prompts: Sequence[Prompt], tokenizer: Tokenizer) -> list[AnsweredText]:
    """The tokens of prompts, prompt and answer each by itself, so that no token is of both.

    They begin as the tokenizer begins a document, and are named by their group and place, from 1.

    Raises:
        UserError: a prompt or an answer has no tokens.
    """
    texts = []
    for number, prompt in enumerate(prompts, 1):
        name = f"{prompt.group}, {number}"
        beginning = [] if tokenizer.bos_id is None else [tokenizer.bos_id]
        before, answer = (
            tokenizer.backend.encode(text, add_special_tokens=False).ids for text in (prompt.prompt, prompt.answer)
        )
        if not before or not answer:
            found = f"{shortened(prompt.prompt)} and {shortened(prompt.answer)}"
            raise UserError(f"{name}: expected a prompt and an answer of at least a token each, found {found}")
        texts.append(AnsweredText(name, torch.tensor([*beginning, *before, *answer]), len(answer)))
    return texts


def token_words(texts: Sequence[AnsweredText], tokenizer: Tokenizer) -> dict[tuple[str, int], str]:
    """What each token says, by the name of its text and its position, for the axes of figures."""
    return {
        (text.name, position): tokenizer.backend.decode([token], skip_special_tokens=False)
        for text in texts
        for position, token in enumerate(text.tokens.tolist())
    }
