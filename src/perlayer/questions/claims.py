"""The tables `contrasts`, `claims` and `more_seeds`: all claims of all questions, judged by the one rule."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb

from perlayer.comparison import Claim, Contrast, Judged, MoreSeeds, Row, Rule, by_chance, judge, rows_of
from perlayer.errors import UserError
from perlayer.questions.question import Question
from perlayer.questions.wording import measured
from perlayer.tables import Int32, table_of
from perlayer.verdicts import NOT_RUN
from perlayer.warehouse import database


@dataclass(frozen=True)
class ClaimRow:
    """A row of the table `claims`."""

    question: str
    claim: str
    statement: str
    published: str
    measured: str | None
    verdict: str
    small: bool
    more_seeds: Int32 | None
    by_chance: float


TABLES = {"contrasts": Contrast, "more_seeds": MoreSeeds, "claims": ClaimRow}


def write_claims(connection: duckdb.DuckDBPyConnection, questions: Sequence[Question]) -> None:
    """Judge the claims of some questions together, and write the tables that tell of them.

    Raises:
        UserError: the rows of a `contrasts.sql` contradict each other, or are of a claim that its question has not.
    """
    rows = [row for question in questions for row in rows_of_question(connection, question)]
    seeds = dict(connection.execute("SELECT run, seed FROM runs").fetchall())
    judged = judge(rows, seeds, rule(connection))
    chance = by_chance(rows, seeds, rule(connection))
    found = (judged.contrasts, judged.more_seeds, claim_rows(questions, judged, chance))
    for (name, kind), some in zip(TABLES.items(), found):
        database.create_table(connection, name, table_of(kind, some))
    connection.execute(Path(__file__).with_name("claims.sql").read_text(encoding="utf-8"))


def rule(connection: duckdb.DuckDBPyConnection) -> Rule:
    """How claims are judged, as params.yaml said when the warehouse was collected."""
    (said,) = connection.execute("SELECT confidence, smallest_effect FROM rule").fetchall()
    return Rule(*said)


def rows_of_question(connection: duckdb.DuckDBPyConnection, question: Question) -> list[Row]:
    """What a question's claims are judged by."""
    result = question.ask(connection, "contrasts")
    rows = rows_of(question.key, [column[0] for column in result.description], result.fetchall())
    claims = [claim.name for claim in question.claims]
    unknown = sorted({row.claim for row in rows} - {*claims})
    if unknown:
        raise UserError(f"{question.folder}/contrasts.sql: expected the claims {', '.join(claims)}, found {unknown[0]}")
    return sorted(rows, key=lambda row: (row.claim, _in_order(row.part), str(row.group), str(row.run)))


def _in_order(part: str) -> list[tuple[int, str]]:
    """By which parts are sorted: layer 10 comes after layer 9."""
    return [(int(digits or 0), text) for text, digits in re.findall(r"(\D+)(\d*)|^$", part)]


def claim_rows(
    questions: Sequence[Question], judged: Judged, chance: Mapping[tuple[str, str], float]
) -> list[ClaimRow]:
    """The claims of questions, in their order; `chance` is how often each would be decided without any effect."""
    found = {(claim.question, claim.claim): claim for claim in judged.claims}
    parts = defaultdict(list)
    for contrast in judged.contrasts:
        parts[contrast.question, contrast.claim].append(contrast)
    rows = []
    for question in questions:
        for claim in question.claims:
            key = (question.key, claim.name)
            judgement = found.get(key, Claim(*key, NOT_RUN, False, None))
            numbers = measured(parts[key], claim.unit)
            said = (judgement.verdict, judgement.small, judgement.more_seeds, chance.get(key, 0.0))
            rows.append(ClaimRow(*key, claim.statement, claim.published, numbers, *said))
    return rows
