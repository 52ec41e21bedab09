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


OTHERS = {
    "heads": (None, 0, made_up_growth.GROWTH | {"readouts": "separate"}, 100, 2.0, []),
    "dropping": (None, 0, made_up_growth.GROWTH | {"layer_dropout": {"most": 0.1}}, 100, 2.0, []),
    "pre_ln": (None, 0, {"residual": "pre_ln", "readouts": "probes"}, 100, 4.0, []),
    "pre_ln_grown": (None, 0, made_up_growth.GROWTH | {"residual": "pre_ln"}, 100, 4.5, [(1, 0.6), (51, 1.0)]),
}


def test_growth_stands_beside_uniform_training_of_its_design():
    with made_up_growth.in_memory(made_up_growth.RUNS | OTHERS, QUESTION) as connection:
        spent = dict(connection.execute("SELECT run, compute FROM growth_runs").fetchall())
        effects = connection.execute(
            """SELECT budget, method, "group", uniform_group, seeds, uniform_seeds, round(val_loss - uniform_loss, 6)
            FROM growth_effects ORDER BY ALL"""
        ).fetchall()
    assert spent == {
        "baseline": 100, "probes_seed_1": 100, "short": 80, "grown": 80, "grown_seed_1": 80, "grown_half": 30,
        "pre_ln": 100, "pre_ln_grown": 80,
    }  # fmt: skip
    assert effects == [
        ("equal compute", "six stages", "grown", "short", 2, 1, 0.18),
        ("equal steps", "six stages", "grown", "baseline", 2, 2, 0.18),
        ("equal steps", "six stages, Pre-LN", "pre_ln_grown", "pre_ln", 1, 1, 0.5),
        ("half the budget", "six stages", "grown_half", "baseline", 1, 2, 0.35),
    ]


@pytest.mark.parametrize(("steps", "half"), [(34, False), (35, True), (65, True), (66, False)])
def test_half_the_budget_is_about_half(steps, half):
    runs = {
        "baseline": made_up_growth.RUNS["baseline"],
        "grown": (None, 0, made_up_growth.GROWTH | {"steps": steps}, steps, 3.4, []),
    }
    with made_up_growth.in_memory(runs, QUESTION) as connection:
        assert connection.execute("SELECT budget FROM growth_effects").fetchall() == [("half the budget",)] * half
