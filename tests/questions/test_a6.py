"""The claims of A6 against growth training made so that the answer is known."""

import made_up_growth
import made_up_results as made_up
import pytest

from perlayer.questions.a6_growth.question import QUESTION

ALL = ("equal_steps", "equal_compute", "half_the_budget", "cheaper")
STAGES = [(1, 0.6), (51, 1.0)]  # cost 80 of 100 updates


def judge(steps=-0.2, compute=-0.2, half=-0.2, stages=STAGES, seeds=(0, 1, 2)):
    """The verdicts where growth ends so much above uniform training of as many steps, as much compute, more steps."""
    grown, kinds = made_up_growth.GROWTH, {}
    kinds["uniform"] = ({}, 100, 3.0, [])
    kinds["uniform_compute"] = ({"steps": 80}, 80, 3.0 + steps - compute, [])
    kinds["grown"] = (grown, 100, 3.0 + steps, stages)
    kinds["half"] = (grown | {"steps": 50}, 50, 3.0 + half, [(1, 0.5)])
    runs = {
        f"{name}_{seed}": (None, seed, keys, updates, loss + 0.001 * seed, costs)
        for name, (keys, updates, loss, costs) in kinds.items()
        for seed in seeds
    }
    with made_up_growth.in_memory(runs, QUESTION) as connection:
        return made_up.verdicts(connection)


def test_like_the_published_results():
    assert judge() == dict.fromkeys(ALL, "yes")


@pytest.mark.parametrize(
    "claim, change", [("equal_steps", "steps"), ("equal_compute", "compute"), ("half_the_budget", "half")]
)
@pytest.mark.parametrize("difference, verdict", [(0.2, "no"), (0.0, "no effect")])
def test_growth_ends_above_or_level(claim, change, difference, verdict):
    assert judge(**{change: difference})[claim] == verdict


@pytest.mark.parametrize("cost, verdict", [(1.2, "no"), (1.0, "no effect")])
def test_growth_costs_more_or_as_much(cost, verdict):
    assert judge(stages=[(1, cost)])["cheaper"] == verdict


def test_one_seed_decides_only_what_is_exact():
    assert judge(seeds=(0,)) == dict.fromkeys(ALL, "undecided") | {"cheaper": "yes"}


def test_without_runs_nothing_has_run():
    assert judge(seeds=()) == dict.fromkeys(ALL, "not run")
