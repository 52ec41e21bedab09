"""Rank correlation, held against scipy."""

import numpy as np
import pytest
from scipy.stats import permutation_test, rankdata, spearmanr

from perlayer.anatomy.rank_correlation import rank_correlation
from perlayer.anatomy.recovery_order import measure_recovery_order
from perlayer.anatomy.tables import Ablation, Recovery

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


def test_recovery_is_ordered_by_importance():
    ablations = [
        Ablation("mine", layer, sublayer, "neighbour_average", percent, 0.0, 0.0, "minor")
        for layer, percent, sublayer in (
            (1, 5.0, None),
            (2, 80.0, None),
            (3, 3.0, None),
            (4, 1.0, None),
            (1, 9.0, "mlp"),
        )
    ]

    def recoveries(steps, recovered, remaining):
        found = enumerate(zip(steps, remaining), 1)
        return [Recovery("mine", layer, step, recovered, 0.0, percent) for layer, (step, percent) in found]

    (found,) = measure_recovery_order("mine", ablations, recoveries([10, 60, 0, 5], True, [3.0] * 4))
    assert found.run == "mine" and found.rho == pytest.approx(0.8)  # 1 - 6 x 2 / (4 x 15)
    assert found.p_high == pytest.approx(4 / 24)  # itself, and three of one swap
    assert found.p_low == pytest.approx(23 / 24)  # all but the order itself
    # Of layers that are not back, those of which more remains come later.
    (found,) = measure_recovery_order("mine", ablations, recoveries([60] * 4, False, [30.0, 40.0, 20.0, 10.0]))
    assert found.rho == pytest.approx(1.0)
    assert measure_recovery_order("mine", ablations, recoveries([60] * 4, True, [1.0, 2.0, 3.0, 4.0])) == []
    assert measure_recovery_order("mine", ablations, []) == []
