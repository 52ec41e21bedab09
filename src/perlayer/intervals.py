"""Intervals of one finished model's numbers: over its text, and beside random controls.

Each gives the value with the ends that `perlayer.comparison` takes as `low` and `high`. Where there is too little to
tell an interval from, it is all numbers: nothing fails, and nothing is decided.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

LEAST_DOCUMENTS = 20  # that a bootstrap is made of
LEAST_CONTROLS = 200  # one of them lies beyond each end of an interval at 0.99
RESAMPLES = 2000
SEED = 0


class Interval(NamedTuple):
    """A number, and the ends between which it lies."""

    value: float
    low: float
    high: float


def over_documents(
    statistic: Callable[[np.ndarray], np.ndarray], documents: int, confidence: float, resamples: int = RESAMPLES
) -> Interval:
    """The percentile interval of a bootstrap by document (Efron and Tibshirani 1993, chapter 13).

    A choice, such as the layer that matters most, is judged by how often the resamples make it: `statistic` is then 1
    where the choice is one of those claimed and else 0, and the threshold of the claim is one half.

    Args:
        statistic: from how often each document counts, float64 (resamples, documents), to the number in each resample,
            (resamples,): `lambda counts: counts @ nats / (counts @ targets)`.
        documents: how many there are; fewer than 20 tell no interval.
        confidence: which share of the resamples lies between the ends.
        resamples: how often as many documents are drawn, with replacement, always the same ones.
    """
    value = float(statistic(np.ones((1, documents)))[0])
    if documents < LEAST_DOCUMENTS:
        return Interval(value, -np.inf, np.inf)
    draw = np.random.Generator(np.random.PCG64(SEED))
    counts = draw.multinomial(documents, np.full(documents, 1 / documents), resamples).astype(float)
    return Interval(value, *_ends(statistic(counts), confidence))


def beyond_controls(value: float, controls: np.ndarray, confidence: float) -> Interval:
    """How far a number lies beyond what random controls give: less their median, upper quantile and lower quantile.

    Args:
        controls: the same number of random controls, (controls,); fewer than 200 tell no interval.
    """
    if len(controls) < LEAST_CONTROLS:
        return Interval(float(value - np.median(controls)) if len(controls) else value, -np.inf, np.inf)
    low, high = _ends(controls, confidence)
    return Interval(float(value - np.median(controls)), value - high, value - low)


def _ends(numbers: np.ndarray, confidence: float) -> tuple[float, float]:
    low, high = np.quantile(numbers, [(1 - confidence) / 2, (1 + confidence) / 2])
    return float(low), float(high)
