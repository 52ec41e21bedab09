"""Does a deeper model stretch the layers of a shallow one, or compute further?"""

from __future__ import annotations

import duckdb

from perlayer.questions.question import Question, sql
from perlayer.questions.wording import claims_fared


def verdict(connection: duckdb.DuckDBPyConnection) -> str:
    """That no pair has been mapped yet."""
    return f"No pair of models has been mapped onto each other yet. {claims_fared(connection, 'D6')}"


QUESTION = Question(
    key="D6",
    title="Does a deeper model stretch the layers of a shallow one, or compute further?",
    background=(
        "A linear map is fitted from the residual after every layer of a shallow model to that after every layer of a "
        "deeper one. Where layers at the same relative depth map best, the deeper model does the same in smaller steps."
    ),
    runs=sql("d6_runs"),
    numbers=sql("d6_numbers"),
    numbers_title="Pairs of models mapped onto each other",
    claims=sql("d6_claims"),
    figures=(),
    verdict=verdict,
)
