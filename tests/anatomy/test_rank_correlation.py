"""Rank correlation, held against scipy."""

import numpy as np
import pytest
from scipy.stats import permutation_test, rankdata, spearmanr

from perlayer.anatomy.rank_correlation import rank_correlation
from perlayer.anatomy.recovery_order import measure_recovery_order
from perlayer.depth.tables import Number

EXAMPLES = [
    ([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [1.0, 3.0, 2.0, 4.0, 6.0, 5.0]),
    ([5.0, 100.0, 5.0, 0.1, 3.0, 70.0], [0.0, 200.0, 0.0, 0.0, 10.0, 200.0]),  # ties in both
    ([1.0, 2.0, 3.0, 4.0], [4.0, 3.0, 2.0, 1.0]),
]


@pytest.mark.parametrize("one, two", EXAMPLES)
def test_rho_and_its_exact_probabilities_are_those_of_scipy(one, two):
    rho, p, p_low = rank_correlation(one, two)
    assert rho == pytest.approx(spearmanr(one, two).statistic)
    ranks = rankdata(two)
    for found, alternative in ((p, "greater"), (p_low, "less")):
        expected = permutation_test(
            (rankdata(one),), lambda some: np.corrcoef(some, ranks)[0, 1], permutation_type="pairings",
            alternative=alternative, n_resamples=np.inf,
        )  # fmt: skip
        assert found == pytest.approx(expected.pvalue)


def test_the_lowest_possible_order_is_as_unlikely_as_the_highest():
    # One of the 720 orders of six gives it, and all give one at least as high.
    rising = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    assert rank_correlation(rising, rising[::-1]) == pytest.approx((-1.0, 1.0, 1 / 720))
    assert rank_correlation(rising, rising) == pytest.approx((1.0, 1 / 720, 1.0))


def test_many_values_have_an_estimate():
    draw = np.random.default_rng(1)
    one = draw.normal(size=30)
    two = one + 3 * draw.normal(size=30)
    rho, p, p_low = rank_correlation(one, two)
    expected = spearmanr(one, two, alternative="greater")  # from the t distribution, which is close at 30
    assert rho == pytest.approx(expected.statistic) and p == pytest.approx(expected.pvalue, abs=0.01)
    assert p_low == pytest.approx(1 - expected.pvalue, abs=0.01)
    assert rank_correlation(one, two) == (rho, p, p_low)


def test_no_order_of_those_drawn_leaves_one_in_all_of_them():
    # None of 50,000 random orders of 30 values is as high as the order itself, which counts as one of 50,001.
    values = np.arange(30.0)
    assert rank_correlation(values, values) == (pytest.approx(1.0), pytest.approx(1 / 50_001), 1.0)


def test_no_order_has_no_correlation():
    assert rank_correlation([1.0, 2.0, 3.0], [0.0, 0.0, 0.0]) is None


def numbers(metric, values, stat="single"):
    return [Number(layer, None, metric, stat, value) for layer, value in enumerate(values, 1)]


def test_recovery_is_ordered_by_importance():
    importance = [5.0, 80.0, 3.0, 1.0]
    ablation = numbers("neighbour_average", importance, "mean") + numbers("neighbour_average", [0.0] * 4, "low")

    def recovery(steps, recovered, remaining):
        return numbers("recovery_steps", steps) + numbers("recovered", recovered) + numbers("remaining", remaining)

    rho, p, p_low = measure_recovery_order(ablation, recovery([10.0, 60.0, 0.0, 5.0], [1.0] * 4, [3.0] * 4))
    assert (rho.layer, rho.metric, rho.value) == (4, "rank_correlation", pytest.approx(0.8))  # 1 - 6 x 2 / (4 x 15)
    assert (p.metric, p.value) == ("rank_correlation_p", pytest.approx(4 / 24))  # itself, and three of one swap
    assert (p_low.metric, p_low.value) == ("rank_correlation_p_low", pytest.approx(23 / 24))  # all but the order itself
    # Of layers that are not back, those of which more remains come later.
    rho, *_ = measure_recovery_order(ablation, recovery([60.0] * 4, [0.0] * 4, [30.0, 40.0, 20.0, 10.0]))
    assert rho.value == pytest.approx(1.0)
    assert measure_recovery_order(ablation, recovery([60.0] * 4, [1.0] * 4, [1.0, 2.0, 3.0, 4.0])) == []
    assert measure_recovery_order(ablation, []) == []
