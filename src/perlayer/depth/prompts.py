"""Prompts with an answer, in groups of one difficulty: read from a file, or made of arithmetic."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from perlayer.errors import InvalidValue, UserError, require


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
    return made_prompts(path, lambda row: Prompt(*(text_of(row, key) for key in ("prompt", "answer", "group"))))


def made_prompts(path: str | Path, make: Callable[[Any], Prompt]) -> list[Prompt]:
    """The prompts that `make` makes of the values of a file of one JSON value a line.

    Raises:
        UserError: there is no such file, it is empty, or a line is not JSON or nothing that `make` knows.
    """
    prompts = []
    for number, row in json_lines(path):
        try:
            prompts.append(make(row))
        except (InvalidValue, RecursionError) as error:  # a value may be too deep to be shown
            raise UserError(f"{path}: line {number}: {error}") from None
    return prompts


def held(row: Any, key: str) -> Any:
    """What a JSON value holds under a key; None where it is no object or has no such key."""
    return row.get(key) if isinstance(row, dict) else None


def text_of(row: Any, key: str) -> str:
    """The text that a JSON value holds under a key.

    Raises:
        InvalidValue: it holds none, an empty one, or one that is not Unicode.
    """
    value = held(row, key)
    require(is_text(value), key, "a text", value)
    return value


def is_text(value: Any) -> bool:
    """Whether a value is a text that is not empty and can be written: JSON may hold half a character, a surrogate."""
    return isinstance(value, str) and value != "" and not re.search(r"[\ud800-\udfff]", value)


def write_prompts(prompts: Iterable[Prompt], path: str | Path) -> None:
    """Write prompts as `read_prompts` reads them."""
    lines = (json.dumps(asdict(prompt), ensure_ascii=False) + "\n" for prompt in prompts)
    Path(path).write_text("".join(lines), encoding="utf-8")


def json_lines(path: str | Path) -> Iterator[tuple[int, Any]]:
    """The lines of a file of one JSON value a line, from 1, and their values; empty lines are passed over.

    Raises:
        UserError: there is no such file, it cannot be read or is empty, or a line is not JSON.
    """
    try:
        lines = Path(path).read_text(encoding="utf-8").split("\n")
    except FileNotFoundError:
        raise UserError(f"{path}: no such file; expected prompts, one JSON object a line") from None
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise UserError(f"{path}: expected UTF-8, found {error.reason} at byte {error.start}") from None
    empty = True
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                value = json.loads(line)
            except (ValueError, RecursionError) as error:
                raise UserError(f"{path}: line {number}: not valid JSON: {error}") from None
            yield number, value
            empty = False
    if empty:
        raise UserError(f"{path}: expected prompts, one JSON object a line, found none")


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
