"""Intervals of one model's numbers, held against scipy and the normal distribution."""

import math

import numpy as np
import pytest
from scipy import stats

from perlayer.intervals import beyond_controls, over_documents


def test_the_bootstrap_by_document_is_that_of_scipy():
    draw = np.random.default_rng(0)
    targets = draw.integers(50, 500, 60).astype(float)
    nats = targets * draw.normal(3.0, 0.4, 60)
    expected = stats.bootstrap(
        (nats, targets), lambda nats, targets, axis: nats.sum(axis) / targets.sum(axis), paired=True,
        method="percentile", confidence_level=0.99, n_resamples=20_000, rng=1,
    ).confidence_interval  # fmt: skip
    found = over_documents(lambda counts: counts @ nats / (counts @ targets), 60, 0.99, resamples=20_000)
    assert found.value == pytest.approx(nats.sum() / targets.sum())
    assert (found.low, found.high) == pytest.approx(tuple(expected), abs=0.01 * (expected.high - expected.low) * 2)
    assert found == over_documents(lambda counts: counts @ nats / (counts @ targets), 60, 0.99, resamples=20_000)


def test_a_choice_is_as_sure_as_the_share_of_resamples_that_make_it():
    # Layer 0 has the lower loss in every document; layer 2 has that of layer 0 but for chance.
    draw = np.random.default_rng(0)
    losses = np.stack([np.zeros(40), np.full(40, 1.0), draw.normal(0.0, 1.0, 40) - 0.05], axis=1)

    def chosen(layers):
        return over_documents(lambda counts: (np.argmin((counts @ losses)[:, layers], axis=1) == 0) * 1.0, 40, 0.99)

    assert chosen([0, 1]) == (1.0, 1.0, 1.0)
    assert chosen([1, 0]) == (0.0, 0.0, 0.0)
    assert chosen([0, 2])[1:] == (0.0, 1.0)


def test_controls_are_taken_away():
    controls = stats.norm.ppf((np.arange(100_000) + 0.5) / 100_000)  # the standard normal distribution itself
    end = stats.norm.ppf(0.995)
    assert beyond_controls(3.0, controls, 0.99) == pytest.approx((3.0, 3.0 - end, 3.0 + end), abs=1e-3)
    assert beyond_controls(3.0, controls + 2.0, 0.99) == pytest.approx((1.0, 1.0 - end, 1.0 + end), abs=1e-3)


def test_too_little_tells_no_interval():
    assert over_documents(lambda counts: counts.mean(axis=1), 19, 0.99) == (1.0, -math.inf, math.inf)
    assert beyond_controls(3.0, np.ones(199), 0.99) == (2.0, -math.inf, math.inf)
    assert beyond_controls(3.0, np.ones(200), 0.99) == (2.0, 2.0, 2.0)
    assert beyond_controls(3.0, np.ones(0), 0.99) == (3.0, -math.inf, math.inf)
