"""The errors that people read: one line that says what was expected, what was found, and where."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

LONGEST = 120


class UserError(Exception):
    """Something the user can mend. A stage or a command prints it as one line, without a traceback."""


def left_out() -> str:
    """What helps, in brackets, where something is not there and the working folder is that of an experiment of DVC."""
    experiment = ".dvc/tmp/" in f"{os.getcwd()}/"
    return " (an experiment's folder has what git tracks: `git add` first, or an absolute path)" if experiment else ""


def is_interruption(error: BaseException) -> bool:
    """Whether this process was asked to end, of which DuckDB makes an error of its own."""
    return isinstance(error, KeyboardInterrupt) or str(error) == "Query interrupted"


class InvalidValue(ValueError):
    """A value that its own section knows to be impossible; `perlayer.params.parse` adds where it stands."""

    def __init__(self, key: str, expected: str, found: object):
        super().__init__(f"{key}: expected {expected}, found {shortened(found)}")
        self.key, self.expected, self.found = key, expected, found


@contextmanager
def at(where: str) -> Iterator[None]:
    """Say of an `InvalidValue` raised in this block that its key stands at `where` in params.yaml."""
    try:
        yield
    except InvalidValue as error:
        raise UserError(f"params.yaml: {where}.{error}") from None


def shortened(value: object) -> str:
    """How an error shows a value: as Python writes it, cut where that is long."""
    text = repr(value)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}... ({len(text)} characters)"


def require(condition: bool, key: str, expected: str, found: object) -> None:
    """Raise `InvalidValue` unless `condition` holds."""
    if not condition:
        raise InvalidValue(key, expected, found)
