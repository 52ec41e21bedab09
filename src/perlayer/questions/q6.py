"""Is the gap between probes and separate heads in the heads or in the features?"""

from __future__ import annotations

from typing import NamedTuple

import duckdb

from perlayer.questions.question import Question, sql
from perlayer.questions.wording import claims_fared, percent, signed


class Layer(NamedTuple):
    """What retraining changes at one layer of one setup."""

    layer: int
    last: bool
    change: float
    standard_error: float
    noise: float


def verdict(connection: duckdb.DuckDBPyConnection) -> str:
    """By how much retraining moves each setup, against the noise and the gap, and hence where the gap is."""
    moves = [*_moves(connection, "separate", "separate heads"), *_moves(connection, "probes", "probes")]
    if not moves:
        return "No readouts have been retrained yet."
    moves = [f"Retrained on their frozen layers, {moves[0]}", *(move.capitalize() for move in moves[1:])]
    return " ".join([*moves, *_gap(connection), claims_fared(connection, "Q6")])


def _moves(connection: duckdb.DuckDBPyConnection, setup: str, name: str) -> list[str]:
    rows = connection.execute(
        f"""SELECT layer, last, {setup}_change, {setup}_standard_error, {setup}_noise FROM retrained_gap
        WHERE residual = 'sandwich' AND {setup} IS NOT NULL ORDER BY layer"""
    ).fetchall()
    if not rows:
        return []
    every = [Layer(*row) for row in rows]
    below = [one for one in every if not one.last] or every
    mean = sum(one.change for one in below) / len(below)
    most = max(every, key=lambda one: abs(one.change))
    # A change of exactly nothing has no error to be held against.
    certain = [one.layer for one in every if abs(one.change) > 3 * one.standard_error]
    beyond = [one.layer for one in every if abs(one.change) > one.noise]
    return [
        f"{name} end {signed(mean)} nats from where training left them, on average below the last layer, and most at "
        f"layer {most.layer} ({signed(most.change)}): at {len(certain)} of {len(every)} layers by more than three "
        f"standard errors of the held-out text, and at {len(beyond) or 'none'} by more than what seeds change."
    ]


def _gap(connection: duckdb.DuckDBPyConnection) -> list[str]:
    before, after, noise = connection.execute(
        """SELECT avg(gap_before), avg(gap_after), avg(noise) FROM retrained_gap
        WHERE residual = 'sandwich' AND NOT last AND gap_after IS NOT NULL"""
    ).fetchone()
    if before is None:
        return []
    if before <= noise:
        return [
            f"Below the last layer probes end {signed(before)} nats from separate heads on average, which is no more "
            f"than what seeds change ({noise:.3f}): there is no gap to look for."
        ]
    closed = 1 - after / before
    what = f"closes {percent(closed)} of" if closed >= 0 else f"adds {percent(-closed)} to"
    text = (
        f"Below the last layer probes end {before:.3f} nats above separate heads on average, and {after:.3f} once "
        f"both are retrained: that {what} the gap (seeds change {noise:.3f})"
    )
    margin = after - before / 2
    if margin > noise:
        return [f"{text}. The gap is in the features, not in the heads."]
    if margin < -noise:
        return [f"{text}. The gap is in the heads more than in the features."]
    return [f"{text}, too near to one half to say whether it is in the heads or in the features."]


QUESTION = Question(
    key="Q6",
    title="Is the gap in the heads or in the features?",
    background=(
        "Probes read early layers far worse than separate heads do. Either their heads are worse, or what the layers "
        "hold is. So every readout of a finished run, the last norm and head too, is trained once more, from where it "
        "was, on layers that no longer change, and held-out losses are compared before and after."
    ),
    runs=sql("q6_runs"),
    numbers=sql("q6_numbers"),
    numbers_title="Held-out loss by layer before and after retraining",
    signed=("probes_change", "separate_change", "gap_before", "gap_after"),
    claims=sql("q6_claims"),
    figures=("retrained_heads", "retraining_curves"),
    verdict=verdict,
)
