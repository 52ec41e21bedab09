"""The questions. A new one is a file of its own and a line in `QUESTIONS`."""

from __future__ import annotations

from pathlib import Path

import duckdb

from perlayer.questions import (
    a1,
    a2,
    a3,
    a4,
    a5,
    a6,
    d1,
    d2,
    d3,
    d4,
    d5,
    d6,
    d9,
    f16,
    q1,
    q2,
    q3,
    q4,
    q5,
    q6,
    q7,
    q8,
    q9,
)
from perlayer.questions.question import Question, sql, state
from perlayer.warehouse import database

QUESTIONS: tuple[Question, ...] = (
    q1.QUESTION,
    q2.QUESTION,
    q3.QUESTION,
    q4.QUESTION,
    q5.QUESTION,
    q6.QUESTION,
    q7.QUESTION,
    q8.QUESTION,
    q9.QUESTION,
    f16.QUESTION,
    d1.QUESTION,
    d2.QUESTION,
    d3.QUESTION,
    d4.QUESTION,
    d5.QUESTION,
    d6.QUESTION,
    d9.QUESTION,
    a1.QUESTION,
    a2.QUESTION,
    a3.QUESTION,
    a4.QUESTION,
    a5.QUESTION,
    a6.QUESTION,
)

__all__ = ["QUESTIONS", "Question", "claims", "connect", "sql", "state"]


def claims(kind: str = "VIEW") -> str:
    """The statements that make `claims` of all questions, in their order.

    Args:
        kind: VIEW, or TABLE, which is worked out once: to plan the view alone takes DuckDB most of a second.
    """
    rows = "\nUNION ALL\n".join(
        f"SELECT {number} AS number, '{question.key}' AS question, * FROM (\n{question.claims}\n)"
        for number, question in enumerate(QUESTIONS)
    )
    return (
        f"CREATE {kind} claims AS SELECT * EXCLUDE (number, position) FROM (\n{rows}\n) ORDER BY number, position;"
        + f"""
COMMENT ON {kind} claims IS 'Every published claim beside what these runs measured';
COMMENT ON COLUMN claims.question IS 'The question it belongs to';
COMMENT ON COLUMN claims.quantity IS 'What is claimed';
COMMENT ON COLUMN claims.published IS 'The published figure, in nats per token where no unit stands';
COMMENT ON COLUMN claims.measured IS 'The same from these runs; null without them';
COMMENT ON COLUMN claims.holds IS 'yes, no, within noise or no run: the sign or order is judged, never the size';
"""
    )


def connect(warehouse_dir: str | Path) -> duckdb.DuckDBPyConnection:
    """Open the database of the warehouse, read-only, with the table `claims` (see `database.connect`)."""
    return database.connect(warehouse_dir, claims("TABLE"))
