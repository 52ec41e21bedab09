"""The questions: a folder each, in the order of their keys."""

from __future__ import annotations

import hashlib
import importlib
from importlib import resources
from pathlib import Path

import duckdb

from perlayer.questions.question import Question, state
from perlayer.warehouse import database

FOLDER = resources.files("perlayer.questions")
SOURCES = "QFDA"  # the letters of keys, in the order in which the page has them

__all__ = ["QUESTIONS", "Question", "connect", "state"]


def _found() -> tuple[Question, ...]:
    folders = sorted(path.parent.name for path in FOLDER.glob("*/question.py"))
    questions = [importlib.import_module(f"{__name__}.{folder}.question").QUESTION for folder in folders]
    return tuple(sorted(questions, key=lambda question: (SOURCES.index(question.key[0]), int(question.key[1:]))))


QUESTIONS = _found()


def views() -> dict[str, str]:
    """The views that questions have of their own, by name."""
    return {name: text for question in QUESTIONS for name, text in question.views.items()}


def every_view() -> list[str]:
    """The names of all views, and of the tables that claims are judged in."""
    return [*database.all_views(views()), "claims", "contrasts", "more_seeds"]


def connect(warehouse_dir: str | Path) -> duckdb.DuckDBPyConnection:
    """Open the database of the warehouse, read-only, with the tables that `write_claims` makes."""

    def complete(connection: duckdb.DuckDBPyConnection) -> None:
        from perlayer.questions.claims import write_claims  # what only asks imports no numpy

        write_claims(connection, QUESTIONS)

    digest = hashlib.blake2b(digest_size=16)
    files = sorted(path for path in FOLDER.rglob("*") if path.suffix in (".py", ".sql"))
    for path in (FOLDER.parent / "comparison.py", *files):
        digest.update(path.read_bytes())
    return database.connect(warehouse_dir, views(), complete, digest.hexdigest())
