"""Spearman's rank correlation, and how likely chance makes one as high or as low."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import permutations

import numpy as np

MOST_ORDERS = 50_000  # that are all tried; of more, as many are drawn
SEED = 0


def rank_correlation(one: Sequence[float], two: Sequence[float]) -> tuple[float, float, float] | None:
    """Spearman's rho, ties at their mean rank, and how likely it is at least so high if the order of `two` is random.

    The probability is exact up to eight values: over all their orders. Beyond, it is estimated from 50,000 of them, the
    order found counted as one more, so that it is never 0 (Phipson and Smyth 2010).

    Returns:
        rho from -1 to 1, the probability, and that of one at most so high; None where one of the two has no two
        different values.
    """
    mine, theirs = _centred_ranks(one), _centred_ranks(two)
    size = math.sqrt((mine @ mine) * (theirs @ theirs))
    if size == 0:
        return None
    rho = (mine @ theirs) / size
    exact = math.factorial(len(mine)) <= MOST_ORDERS
    if exact:
        orders = np.array(list(permutations(range(len(mine)))))
    else:
        draw = np.random.Generator(np.random.PCG64(SEED))
        orders = draw.permuted(np.tile(np.arange(len(mine)), (MOST_ORDERS, 1)), axis=1)
    by_chance, found = theirs[orders] @ mine / size, int(not exact)

    def probability(hits: np.ndarray) -> float:
        return float((hits.sum() + found) / (len(orders) + found))

    return float(rho), probability(by_chance >= rho - 1e-9), probability(by_chance <= rho + 1e-9)


def _centred_ranks(values: Sequence[float]) -> np.ndarray:
    _, place, count = np.unique(np.asarray(values, dtype=float), return_inverse=True, return_counts=True)
    ranks = (count.cumsum() - (count - 1) / 2)[place]
    return ranks - ranks.mean()
