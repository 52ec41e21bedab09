"""Is the gap between probes and separate heads in the heads or in the features?"""

from __future__ import annotations

from typing import NamedTuple

import duckdb

from perlayer.questions.question import Question, sql
from perlayer.questions.wording import beyond, claims_fared, listed, percent, signed


class Layer(NamedTuple):
    """What retraining changes at one layer of one setup."""

    layer: int
    last: bool
    change: float
    standard_error: float
    noise: float | None


def verdict(connection: duckdb.DuckDBPyConnection) -> str:
    """By how much retraining moves each setup, against the noise and the gap, and hence where the gap is."""
    moves = [*_moves(connection, "separate", "separate heads"), *_moves(connection, "probes", "probes")]
    if not moves:
        return "No readouts have been retrained yet."
    moves = [f"Retrained on their frozen layers, {moves[0]}", *(move.capitalize() for move in moves[1:])]
    return " ".join([*moves, *_gap(connection), *_settled(connection), claims_fared(connection, "Q6")])


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
    moved = [one.layer for one in every if beyond(one.change, one.noise)]
    seeds = f"at {len(moved) or 'none'} by more than what seeds change"
    if all(one.noise is None for one in every):
        seeds = "what seeds change is not known: there is one"
    return [
        f"{name} end {signed(mean)} nats from where training left them, on average below the last layer, and most at "
        f"layer {most.layer} ({signed(most.change)}): at {len(certain)} of {len(every)} layers by more than three "
        f"standard errors of the held-out text, and {seeds}."
    ]


def _gap(connection: duckdb.DuckDBPyConnection) -> list[str]:
    before, after, noise = connection.execute(
        """SELECT avg(gap_before), avg(gap_after), CASE WHEN count(noise) = count(*) THEN avg(noise) END
        FROM retrained_gap WHERE residual = 'sandwich' AND NOT last AND gap_after IS NOT NULL"""
    ).fetchone()
    if before is None:
        return []
    if noise is not None and before <= noise:
        return [
            f"Below the last layer probes end {signed(before)} nats from separate heads on average, which is no more "
            f"than what seeds change ({noise:.3f}): there is no gap to look for."
        ]
    if noise is None:
        return [
            f"Below the last layer probes end {signed(before)} nats from separate heads on average, and "
            f"{signed(after)} once both are retrained; what seeds change is not known, so where the gap is cannot be "
            "told."
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


def _settled(connection: duckdb.DuckDBPyConnection) -> list[str]:
    """How far the last evaluations still moved: whether retraining was long enough is for the reader to judge."""
    rows = connection.execute(
        """SELECT setup, avg(last_move), any_value(last_steps) FROM retraining JOIN setups USING (run)
        WHERE last_move IS NOT NULL AND run IN (
            SELECT unnest([probes, separate]) FROM retrained_gap WHERE residual = 'sandwich'
        )
        GROUP BY setup ORDER BY setup DESC"""
    ).fetchall()
    if not rows:
        return []
    names = {"separate": "separate heads", "probes": "probes"}
    moves = [f"{move + 0.0:+.4f} nats for {names[setup]}" for setup, move, _ in rows]
    steps = " or ".join(dict.fromkeys(str(steps) for *_, steps in rows))
    return [
        f"Whether they were retrained for long enough: between the last two evaluations, {steps} updates apart, the "
        f"held-out loss still moved by {listed(moves)}, on average over the layers."
    ]


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
