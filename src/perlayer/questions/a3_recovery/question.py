"""Do layers that matter more take longer to recover?"""

from __future__ import annotations

from typing import NamedTuple

import duckdb

from perlayer.questions.made_of import ABOUT_BASELINE, beside
from perlayer.questions.question import Question, sql
from perlayer.questions.wording import claims_fared, layers, listed

UNTRAINED = "No layer of a finished model of the recipe's depth has been trained back yet."


class Recovery(NamedTuple):
    """How the layers of one model recover."""

    run: str
    layers: int
    updates: int  # the most that any layer took
    at_once: list[int] | None  # layers that needed no update
    never: list[int] | None  # layers that had not recovered at the end
    rho: float | None  # rank correlation of recovery with importance; None where all layers recover alike
    p: float | None


def verdict(connection: duckdb.DuckDBPyConnection) -> str:
    """How recovery goes with importance in each model, and which layers recover at once or never."""
    found = [
        Recovery(*row)
        for row in connection.execute(
            """SELECT run, count(*), max(steps),
                list(recoveries.layer ORDER BY recoveries.layer) FILTER (steps = 0),
                list(recoveries.layer ORDER BY recoveries.layer) FILTER (NOT recovered),
                any_value(rho), any_value(p)
            FROM recoveries JOIN anatomy_runs USING (run) LEFT JOIN recovery_orders USING (run)
            WHERE full_depth GROUP BY run, place, seed ORDER BY place, seed"""
        ).fetchall()
    ]
    if not found:
        return UNTRAINED
    sentences = [*_correlations(found), *_ends(found[0])]
    sentences += beside(connection, "recovery_rank_correlation", "the mean rank correlation is", "{:+.2f}".format)
    return " ".join([*sentences, claims_fared(connection, "A3")])


def _correlations(found: list[Recovery]) -> list[str]:
    parts = [f"{one.rho:+.2f} in {one.run} (p {one.p:.3f})" for one in found if one.rho is not None]
    alike = [one.run for one in found if one.rho is None]
    sentences = []
    if parts:
        sentences.append(
            "The rank correlation of how late a layer recovers with its importance is "
            f"{listed(parts)}; p is how often an order by chance gives one as high."
        )
    if alike:
        sentences.append(f"All layers of {listed(alike)} recover alike, which is no order.")
    return sentences


def _ends(one: Recovery) -> list[str]:
    sentences = []
    if one.never:
        sentences.append(
            f"In {one.run}, {layers(one.never)} of {one.layers} had not recovered after {one.updates} updates."
        )
    if one.at_once:
        sentences.append(f"In {one.run}, {layers(one.at_once)} needed none.")
    return sentences


QUESTION = Question(
    key="A3",
    title="Do layers that matter more take longer to recover?",
    background=(
        "Noise of half the standard deviation of each matrix, unless params.yaml says otherwise, is added to attention "
        "and MLP of one layer. Then that layer alone is trained until perplexity on held-out text is nearly that of "
        "the untouched model again, or a cap is reached; of layers that are not back, those of which more remains "
        "count as later. Importance is that of A2. The noise formula, AdamW, its rate and when a layer counts as "
        "recovered are ours, as the source does not publish its own. With six layers only an almost perfect order is "
        "beyond chance. "
        f"{ABOUT_BASELINE}"
    ),
    runs=sql("anatomy_runs"),
    numbers=sql("a3_numbers"),
    numbers_title="Recovery of every layer beside its importance",
    signed=("importance", "perturbation", "remaining"),
    testing=sql("anatomy_testing"),
    claims=sql("a3_claims"),
    figures=("recovery",),
    verdict=verdict,
)
