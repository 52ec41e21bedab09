"""What a question is: the runs it reads, its SQL, its figures and its verdict."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import resources

import duckdb


@dataclass(frozen=True)
class Question:
    """One question that the runs answer. All SQL is of the views of the warehouse.

    Attributes:
        key: its short name, as the claims carry it: Q1.
        title: the question.
        background: what is measured and how it is read, in a few sentences.
        runs: SQL of the runs that it reads: run, present.
        numbers: SQL of the table that answers it.
        numbers_title: what that table shows.
        claims: SQL of its published claims: position, quantity, published, measured, holds; one row a claim, always.
        figures: the names of the figures that show it, the most telling first.
        verdict: sentences computed from the numbers; an empty line begins a new paragraph.
        signed: columns of `numbers` that hold differences, which show their sign.
        testing: SQL of one truth value: whether the runs are too few to settle what they measure; None when no number
            of runs was named.
        published: SQL of the published numbers, in columns like those of `numbers`; None when none were published.
        published_title: where those come from, and at what size.
    """

    key: str
    title: str
    background: str
    runs: str
    numbers: str
    numbers_title: str
    claims: str
    figures: tuple[str, ...]
    verdict: Callable[[duckdb.DuckDBPyConnection], str]
    signed: tuple[str, ...] = ()
    testing: str | None = None
    published: str | None = None
    published_title: str | None = None


def sql(name: str) -> str:
    """The text of NAME.sql beside the questions, without a closing semicolon."""
    return resources.files("perlayer.questions").joinpath(f"{name}.sql").read_text(encoding="utf-8").strip().rstrip(";")


def state(connection: duckdb.DuckDBPyConnection, question: Question) -> str:
    """`not yet run` when no claim has been measured, `testing` when the runs that measure them are too few.

    Else `measured` when every claim has been, and `partly measured` when some have. It says that there are numbers, not
    what they decide: a claim that has been measured may lie within the noise.
    """
    holds = [
        row[0] for row in connection.execute("SELECT holds FROM claims WHERE question = ?", [question.key]).fetchall()
    ]
    unmeasured = holds.count("no run")
    if unmeasured == len(holds):
        return "not yet run"
    if question.testing and connection.execute(question.testing).fetchone()[0]:
        return "testing"
    return "partly measured" if unmeasured else "measured"
