"""Prompts from the files of GSM8K, MATH and MQuAKE, put into words as Csordas, Manning, Potts 2025 have them.

A file has one JSON object a line, as their publishers' tables give it (arXiv 2505.13898 and its code). The frame of
GSM8K's prompts is theirs, its words are ours.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from perlayer.depth.prompts import Prompt, held, is_text, made_prompts, text_of
from perlayer.errors import UserError, require

SEED = 42  # by which the source draws the prompts of a group


def gsm8k(row: Any) -> Prompt:
    """A problem of GSM8K (`question`, `answer`); all are one group."""
    answer = text_of(row, "answer")
    solution, _, final = answer.partition("####")
    require(final.strip() != "", "answer", "a solution, #### and the final answer", answer)
    prompt = (
        "Solve the following problem step by step.\n"
        f"Problem: {text_of(row, 'question')}\n"
        'End with "The final answer is" and the answer.\n'
    )
    return Prompt(prompt, f"{solution.strip()} The final answer is {final.strip()}", "gsm8k")


def math(row: Any) -> Prompt:
    """A problem of MATH (`problem`, `solution`, `level`); a group for each level."""
    problem, solution, level = (text_of(row, key) for key in ("problem", "solution", "level"))
    return Prompt(f"Problem: {problem}\nAnswer:", f" {solution}", level.lower())


def mquake(row: Any) -> Prompt:
    """The first of a fact's questions in MQuAKE (`questions`, `answer`, `orig.triples`); a group for each hop count."""
    questions, triples = held(row, "questions"), held(held(row, "orig"), "triples")
    asked = isinstance(questions, list) and questions != [] and is_text(questions[0])
    require(asked, "questions", "a list that begins with a text", questions)
    require(isinstance(triples, list) and triples != [], "orig.triples", "a list of triples", triples)
    return Prompt(questions[0], f" {text_of(row, 'answer')}", f"{len(triples)} hops")


WRAPPINGS: dict[str, Callable[[Any], Prompt]] = {"gsm8k": gsm8k, "math": math, "mquake": mquake}


def published_prompts(name: str, path: str | Path) -> list[Prompt]:
    """The prompts of one of `WRAPPINGS`, in the order of its file.

    Raises:
        UserError: there is no such wrapping or file, or a line is not a row of it.
    """
    if name not in WRAPPINGS:
        raise UserError(f"expected one of {', '.join(WRAPPINGS)}, found {name!r}")
    return made_prompts(path, WRAPPINGS[name])


def some_of_each(prompts: Sequence[Prompt], each: int) -> list[Prompt]:
    """At most so many prompts of each group, groups in the order of their names."""
    chosen = []
    for group in sorted({prompt.group for prompt in prompts}):
        alike = [prompt for prompt in prompts if prompt.group == group]
        chosen += random.Random(SEED).sample(alike, min(each, len(alike)))
    return chosen
