"""Does a deeper network benefit from supervising its shallow layers?"""

from __future__ import annotations

import math
from collections.abc import Sequence

import duckdb

from perlayer.questions.question import Question, sql
from perlayer.questions.wording import beyond, claims_fared, listed, noise_of, signed


def verdict(connection: duckdb.DuckDBPyConnection) -> str:
    """What separate heads cost the last layer at every depth, and how that goes with depth."""
    rows = connection.execute(
        """SELECT layers, difference, noise FROM supervision
        WHERE residual = 'sandwich' AND readouts = 'separate' AND standard AND difference IS NOT NULL
        ORDER BY layers"""
    ).fetchall()
    if not rows:
        return "No model with separate heads stands beside a plain model of its depth yet."
    costs = [f"{signed(cost)} at {depth} layer{'' if depth == 1 else 's'}" for depth, cost, _ in rows]
    text = (
        "Minus the plain model of the same depth, the last layer of a model with separate heads ends, in nats, at "
        f"{listed(costs)} ({_noises([noise for _, _, noise in rows])})."
    )
    return " ".join([text, _benefit(rows), *_trend(rows), claims_fared(connection, "Q2")])


def _noises(noises: list[float | None]) -> str:
    """The noise of every depth, from the least to the greatest."""
    known = sorted(noise for noise in noises if noise is not None)
    if not known:
        return noise_of(None)
    text = f"noise {' to '.join(dict.fromkeys([f'{known[0]:.3f}', f'{known[-1]:.3f}']))}"
    return text if len(known) == len(noises) else f"{text}, not known at some depths"


def _benefit(rows: list[tuple[int, float, float | None]]) -> str:
    if all(noise is None for _, _, noise in rows):
        return "So whether it gains or pays cannot be told."
    gains = [str(depth) for depth, cost, noise in rows if cost < 0 and beyond(cost, noise)]
    pays = [str(depth) for depth, cost, noise in rows if cost > 0 and beyond(cost, noise)]
    if not gains and not pays:
        return "At none of these depths does the last layer gain or pay more than the noise."
    parts = [f"gains at {listed(gains)} layers"] if gains else []
    if pays:
        where = "every depth" if len(pays) == len(rows) else f"{listed(pays)} layers"
        parts.append(f"pays at {where}" + ("" if gains else " and gains at none"))
    return f"Beyond the noise the last layer {' and '.join(parts)}."


def _trend(rows: list[tuple[int, float, float | None]]) -> list[str]:
    if len(rows) < 2:
        return ["One depth says nothing of a trend."]
    change, noise = by_doubling(*zip(*rows))
    if beyond(change, noise):
        words = "it grows" if change > 0 else "it shrinks"
    else:
        words = "no trend beyond the noise" if noise is not None else "whether there is a trend cannot be told"
    return [
        f"With each doubling of the depth the cost changes by {signed(change)} nats ({noise_of(noise)}): {words}. No "
        "figure of a trend is published."
    ]


def by_doubling(
    depths: Sequence[int], costs: Sequence[float], noises: Sequence[float | None]
) -> tuple[float, float | None]:
    """The least-squares slope of `costs` against the binary logarithm of two or more depths, and its noise.

    The noise of a sum of independent costs is the root of the sum of squares; None where one of them is not known.
    """
    places = [math.log2(depth) for depth in depths]
    mean = sum(places) / len(places)
    shares = [place - mean for place in places]
    square = sum(share**2 for share in shares)
    slope = sum(share * cost for share, cost in zip(shares, costs)) / square
    if None in noises:
        return slope, None
    return slope, math.sqrt(sum((share * noise) ** 2 for share, noise in zip(shares, noises))) / square


QUESTION = Question(
    key="Q2",
    title="Does a deeper network benefit from supervising its shallow layers?",
    background=(
        "Models of growing depth are trained twice, plain and with a separate head after every layer, on the same "
        "batches and from the same seed. What the last layer ends above the plain model of the same depth is the price "
        "of supervision; below zero it would be a benefit. Where fewer than three seeds are trained, what counts as "
        "noise is how far plain runs of the recipe's depth end apart."
    ),
    runs=sql("q2_runs"),
    numbers=sql("q2_numbers"),
    numbers_title="Final training loss of the last layer by depth",
    signed=("difference",),
    claims=sql("q2_claims"),
    figures=("depth_cost",),
    verdict=verdict,
)
