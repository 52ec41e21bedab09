"""Rank correlation, held against scipy."""

import numpy as np
import pytest
from scipy.stats import permutation_test, rankdata, spearmanr

from perlayer.anatomy.rank_correlation import rank_correlation

EXAMPLES = [
    ([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [1.0, 3.0, 2.0, 4.0, 6.0, 5.0]),
    ([5.0, 100.0, 5.0, 0.1, 3.0, 70.0], [0.0, 200.0, 0.0, 0.0, 10.0, 200.0]),  # ties in both
    ([1.0, 2.0, 3.0, 4.0], [4.0, 3.0, 2.0, 1.0]),
]


@pytest.mark.parametrize("one, two", EXAMPLES)
def test_rho_and_its_exact_probability_are_those_of_scipy(one, two):
    rho, p = rank_correlation(one, two)
    assert rho == pytest.approx(spearmanr(one, two).statistic)
    ranks = rankdata(two)
    expected = permutation_test(
        (rankdata(one),), lambda some: np.corrcoef(some, ranks)[0, 1], permutation_type="pairings",
        alternative="greater", n_resamples=np.inf,
    )  # fmt: skip
    assert p == pytest.approx(expected.pvalue)


def test_many_values_have_an_estimate():
    draw = np.random.default_rng(1)
    one = draw.normal(size=30)
    two = one + 3 * draw.normal(size=30)
    rho, p = rank_correlation(one, two)
    expected = spearmanr(one, two, alternative="greater")  # from the t distribution, which is close at 30
    assert rho == pytest.approx(expected.statistic) and p == pytest.approx(expected.pvalue, abs=0.01)
    assert rank_correlation(one, two) == (rho, p)


def test_no_order_has_no_correlation():
    assert rank_correlation([1.0, 2.0, 3.0], [0.0, 0.0, 0.0]) is None
