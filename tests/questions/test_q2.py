"""The claim of Q2 against results made so that the answer is known."""

import made_up_results as made_up
import pytest

from perlayer.questions.q2_deeper.question import QUESTION

SCATTER = (-0.003, 0.0, 0.003)  # of the seeds of every group


def judge(costs, seeds=(0, 1, 2), plain=True):
    """The claim, where separate heads cost the last layer so much at some depths, and the numbers."""
    rows, runs = [], {}
    for depth, cost in costs.items():
        for kind, more in ((made_up.PLAIN, 0.0), (made_up.SEPARATE, cost)):
            for seed in seeds if plain or kind is made_up.SEPARATE else ():
                run = f"{kind['readouts']}_{depth}_{seed}"
                runs[run] = {**kind, "seed": seed, "layers": depth}
                rows.append({"run": run, "layer": depth, "value": 3.0 + more + SCATTER[seed]})
    with made_up.in_memory(rows, runs, 4, QUESTION) as connection:
        return made_up.verdicts(connection)["every_depth"], connection.execute(QUESTION.sql("numbers")).fetchall()


# The standard error is sqrt(2 / 3) 0.003, with 8 degrees of freedom: the interval reaches 0.0082 to both sides.
@pytest.mark.parametrize(
    "costs, verdict",
    [
        ({2: 0.02, 4: 0.05}, "yes"),
        ({2: 0.02, 4: -0.05}, "no"),
        ({2: 0.02, 4: 0.0}, "no effect"),
        ({2: 0.02, 4: 0.005}, "no effect"),
        ({2: 0.02, 4: -0.015}, "no"),
        ({4: 0.05}, "not run"),  # it takes two depths
        ({}, "not run"),
    ],
)
def test_the_claim(costs, verdict):
    assert judge(costs)[0] == verdict


def test_one_seed_decides_nothing():
    assert judge({2: 0.1, 4: 0.1}, seeds=(1,))[0] == "undecided"


def test_without_plain_models_nothing_has_run():
    assert judge({2: 0.1, 4: 0.1}, plain=False)[0] == "not run"


def test_numbers_are_means_with_their_interval():
    (depth, *losses, low, high, seeds), _ = judge({2: 0.02, 4: 0.05})[1]
    assert (depth, seeds) == (2, 3) and losses == pytest.approx([3.0, 3.02, 0.02])
    half = 3.3554 * 0.003 * (2 / 3) ** 0.5  # Student's t of 8 degrees of freedom at 0.995
    assert (low, high) == pytest.approx((0.02 - half, 0.02 + half), abs=1e-6)
