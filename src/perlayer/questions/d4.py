"""Are later steps of a computation done in deeper layers?"""

from __future__ import annotations

import duckdb

from perlayer.questions.question import Question, sql
from perlayer.questions.wording import claims_fared


def verdict(connection: duckdb.DuckDBPyConnection) -> str:
    """That nothing measures it yet."""
    return f"No model has been asked yet at which depth it is done with each token. {claims_fared(connection, 'D4')}"


QUESTION = Question(
    key="D4",
    title="Are later steps of a computation done in deeper layers?",
    background=(
        "Residual erasure replaces the residual of one token after one layer by its mean, and integrated gradients "
        "share the probability of the answer out among tokens and layers: both say until which depth a token still "
        "matters. Where a model composes, later operands matter until deeper layers."
    ),
    runs=sql("d4_runs"),
    numbers=sql("d4_numbers"),
    numbers_title="How far predictions move when one token is forgotten after a layer",
    claims=sql("d4_claims"),
    figures=(),
    verdict=verdict,
)
