"""Prompts from the files of GSM8K, MATH and MQuAKE, put into words as Csordas, Manning, Potts 2025 have them.

A file has one JSON object a line, as their publishers' tables give it (arXiv 2505.13898 and its code). The frame of
GSM8K's prompts is theirs, its words are ours.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from perlayer.depth.prompts import Prompt, json_lines
from perlayer.errors import UserError

SEED = 42  # by which the source draws the prompts of a group


def gsm8k(row: Mapping[str, Any]) -> Prompt:
    """A problem of GSM8K (`question`, `answer`); all are one group."""
    solution, _, final = row["answer"].partition("####")
    prompt = (
        "Solve the following problem step by step.\n"
        f"Problem: {row['question']}\n"
        'End with "The final answer is" and the answer.\n'
    )
    return Prompt(prompt, f"{solution.strip()} The final answer is {final.strip()}", "gsm8k")


def math(row: Mapping[str, Any]) -> Prompt:
    """A problem of MATH (`problem`, `solution`, `level`); a group for each level."""
    return Prompt(f"Problem: {row['problem']}\nAnswer:", f" {row['solution']}", row["level"].lower())


def mquake(row: Mapping[str, Any]) -> Prompt:
    """The first of a fact's questions in MQuAKE (`questions`, `answer`, `orig.triples`); a group for each hop count."""
    return Prompt(row["questions"][0], f" {row['answer']}", f"{len(row['orig']['triples'])} hops")


WRAPPINGS: dict[str, Callable[[Mapping[str, Any]], Prompt]] = {"gsm8k": gsm8k, "math": math, "mquake": mquake}


def published_prompts(name: str, path: str | Path) -> list[Prompt]:
    """The prompts of one of `WRAPPINGS`, in the order of its file.

    Raises:
        UserError: there is no such wrapping or file, or a line is not a row of it.
    """
    if name not in WRAPPINGS:
        raise UserError(f"expected one of {', '.join(WRAPPINGS)}, found {name!r}")
    prompts = []
    for number, row in enumerate(json_lines(path), 1):
        try:
            prompts.append(WRAPPINGS[name](row))
        except (KeyError, IndexError, TypeError, AttributeError) as error:
            raise UserError(f"{path}: line {number}: expected a row of {name}, found no {error}") from None
    return prompts


def some_of_each(prompts: Sequence[Prompt], each: int) -> list[Prompt]:
    """At most so many prompts of each group, groups in the order of their names."""
    chosen = []
    for group in sorted({prompt.group for prompt in prompts}):
        alike = [prompt for prompt in prompts if prompt.group == group]
        chosen += random.Random(SEED).sample(alike, min(each, len(alike)))
    return chosen
