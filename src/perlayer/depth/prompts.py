"""Prompts with an answer, in groups of one difficulty: read from a file, or made of arithmetic."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from perlayer.errors import UserError

KEYS = ("prompt", "answer", "group")


@dataclass(frozen=True)
class Prompt:
    """A prompt, the answer that follows it, and what it is compared with: prompts of the same group are alike."""

    prompt: str
    answer: str
    group: str


def read_prompts(path: str | Path) -> list[Prompt]:
    """Read prompts from a file of one JSON object a line, with the texts `prompt`, `answer` and `group`.

    Raises:
        UserError: there is no such file, it is empty, or a line is not such an object.
    """
    prompts = []
    for number, found in enumerate(json_lines(path), 1):
        for key in KEYS:
            value = found.get(key) if isinstance(found, dict) else None
            if not isinstance(value, str) or not value:
                raise UserError(f"{path}: line {number}: {key}: expected a text, found {value!r}"[:300])
        prompts.append(Prompt(*(found[key] for key in KEYS)))
    return prompts


def write_prompts(prompts: Iterable[Prompt], path: str | Path) -> None:
    """Write prompts as `read_prompts` reads them."""
    lines = (json.dumps(asdict(prompt), ensure_ascii=False) + "\n" for prompt in prompts)
    Path(path).write_text("".join(lines), encoding="utf-8")


def json_lines(path: str | Path) -> list[Any]:
    """The values of a file of one JSON value a line; empty lines are passed over.

    Raises:
        UserError: there is no such file, it is empty, or a line is not JSON.
    """
    try:
        lines = Path(path).read_text(encoding="utf-8").split("\n")
    except FileNotFoundError:
        raise UserError(f"{path}: no such file; expected prompts, one JSON object a line") from None
    except UnicodeDecodeError as error:
        raise UserError(f"{path}: expected UTF-8, found {error.reason} at byte {error.start}") from None
    values = []
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                values.append(json.loads(line))
            except ValueError as error:
                raise UserError(f"{path}: line {number}: not valid JSON: {error}") from None
    if not values:
        raise UserError(f"{path}: expected prompts, one JSON object a line, found none")
    return values


def arithmetic_prompts(operands: Sequence[int], each: int, seed: int) -> list[Prompt]:
    """Sums of digits from 1 to 9, as in "5 + 7 + 5 + 3 + 1 + 7 = " and "28"; a group for each number of operands.

    Args:
        operands: numbers of operands, at least 1.
        each: how many prompts a group.
        seed: of the digits; a group's prompts do not depend on what other groups there are.
    """
    prompts = []
    for count in operands:
        draw = random.Random(f"{seed} {count}")
        for _ in range(each):
            digits = [draw.randint(1, 9) for _ in range(count)]
            text = " + ".join(map(str, digits)) + " = "
            prompts.append(Prompt(text, str(sum(digits)), f"{count} operands"))
    return prompts
