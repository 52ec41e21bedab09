"""The schedules against the recipe's own counts."""

import math

import pytest

from perlayer.optim.schedules import schedule_factor


def linear(update, steps=4959, warmup=0, decay=0.8):
    return schedule_factor(update, steps, "linear", warmup, decay)


def test_the_130m_schedule_is_flat_then_linear_to_zero():
    # recipe section 2: constant for the first 992 steps, then linear to zero over 3967
    assert [linear(update) for update in (0, 500, 992)] == [1.0, 1.0, 1.0]
    assert linear(993) == pytest.approx(1 - 1 / 3967)
    assert linear(992 + 1000) == pytest.approx(1 - 1000 / 3967)
    assert linear(4958) == pytest.approx(1 / 3967)
    assert linear(4959) == 0.0


def test_cosine_rises_over_the_warmup_and_falls_over_the_rest():
    def cosine(update):
        return schedule_factor(update, 11444, "cosine", 1000, 0.8)

    assert [cosine(0), cosine(250), cosine(1000)] == [0.0, 0.25, 1.0]
    assert cosine(1000 + 5222) == pytest.approx(0.5)
    assert cosine(1000 + 2611) == pytest.approx(0.5 * (1 + math.cos(math.pi / 4)))
    assert cosine(11444) == pytest.approx(0.0)


def test_linear_with_warmup_and_full_decay_meets_at_the_peak():
    values = [linear(update, steps=100, warmup=10, decay=1.0) for update in range(101)]
    assert values[:11] == pytest.approx([update / 10 for update in range(11)])
    assert values[10:] == pytest.approx([1 - (update - 10) / 90 for update in range(10, 101)])


def test_an_unknown_schedule_is_refused():
    with pytest.raises(ValueError, match="linear or cosine"):
        schedule_factor(0, 10, "step", 0, 0.5)
