"""The questions: a folder each, in the order of their keys."""

from __future__ import annotations

import hashlib
import importlib
from importlib import resources
from pathlib import Path

import duckdb

from perlayer.errors import UserError
from perlayer.questions.question import Question, state
from perlayer.warehouse import database

FOLDER = resources.files("perlayer.questions")
SOURCES = "QFDA"  # the letters of keys, in the order in which the page has them; others come after

__all__ = ["QUESTIONS", "Question", "connect", "state"]


def _found() -> tuple[Question, ...]:
    questions = [_question(path) for path in sorted(FOLDER.glob("*/question.py"))]
    order = [*SOURCES, *sorted({question.key[0] for question in questions} - {*SOURCES})]
    return tuple(sorted(questions, key=lambda question: (order.index(question.key[0]), int(question.key[1:]))))


def _question(path: Path) -> Question:
    name = f"{__name__}.{path.parent.name}.question"
    try:
        question = importlib.import_module(name).QUESTION
        if path.parent != question.folder:
            raise ValueError(f"expected a folder that begins with {question.key.lower()}_")
    except Exception as error:  # whatever who writes a question may do
        raise UserError(f"{path}: {type(error).__name__}: {' '.join(str(error).split())}") from error
    return question


QUESTIONS = _found()


def views() -> dict[str, str]:
    """The views that questions have of their own, by name."""
    return {name: text for question in QUESTIONS for name, text in question.views.items()}


def check() -> None:
    """Ask all that questions ask, of a database without results.

    Raises:
        UserError: names the file that DuckDB cannot read, or whose rows are not as `perlayer.comparison` expects them.
    """
    from perlayer.questions.claims import TABLES, rows_of_question
    from perlayer.tables import empty_table

    with duckdb.connect() as connection:
        database.create(connection)
        database.create_views(connection, database.all_views(views()))
        for name, kind in TABLES.items():
            database.create_table(connection, name, empty_table(kind))
        for question in QUESTIONS:
            rows_of_question(connection, question)
            for name in ("runs", "numbers", "published", "further"):
                if question.has(name):
                    question.ask(connection, name)


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
