"""The claims of A1 to A5: each plainly true, plainly false and plainly nil, and where too little is known."""

import made_up_anatomy
import made_up_results as made_up
import pytest
from made_up_anatomy import KINDS, PROFILE, anatomy

from perlayer.questions.a1_predictability.question import QUESTION as A1
from perlayer.questions.a2_ablation.question import QUESTION as A2
from perlayer.questions.a3_recovery.question import QUESTION as A3
from perlayer.questions.a4_manipulations.question import QUESTION as A4
from perlayer.questions.a5_weight_structure.question import QUESTION as A5

ANATOMY = (A1, A2, A3, A4, A5)
PLAIN = {"residual": "sandwich", "readouts": "none", "seed": 0}
TRUE = {
    "predicted": "yes", "gate_best": "yes", "one_replaced": "yes", "three_of_ten_replaced": "yes", "span": "yes",
    "first_half": "yes", "harm": "yes", "order": "undecided", "scaling": "yes", "structure": "yes", "negative": "yes",
}  # fmt: skip


def verdicts(runs=("a",), further=(), orders=None, **estimates):
    """Of the baseline with some of the estimates of `PROFILE` changed, by their names or those and their parts."""
    changed = {
        key: estimates.get(f"{key[1]}_{key[2]}", estimates.get(key[1], known))
        for key, known in PROFILE["estimates"].items()
    }
    every = {run: {**PLAIN, "seed": seed} for seed, run in enumerate(runs)} | dict(further)
    orders = orders or [0.99] * len(runs)
    tables = [
        anatomy(run, estimates=changed, rank_correlation=rho and (rho, 0.01, 0.99)) for run, rho in zip(runs, orders)
    ]
    tables += [anatomy(run) for run in further]
    with made_up.in_memory(made_up.together(*tables), every, made_up_anatomy.LAYERS, ANATOMY) as connection:
        return made_up.verdicts(connection)


def test_all_claims_of_one_run_may_hold_but_that_over_seeds():
    assert verdicts() == TRUE


@pytest.mark.parametrize(
    "claim, estimates, verdict",
    [
        ("predicted", {"r2_beyond_chance": (-0.2, 0.01)}, "no"),
        ("predicted", {"r2_beyond_chance": (0.001, 0.004)}, "no effect"),
        ("predicted", {"r2_beyond_chance": (0.01, 0.05)}, "undecided"),
        ("predicted", {"r2_beyond_chance": (0.3, None)}, "undecided"),  # too few controls
        ("gate_best", {"gate_lead_up_proj": (-0.2, 0.02)}, "no"),
        ("gate_best", {"gate_lead": (0.0, 0.005)}, "no effect"),
        ("gate_best", {"gate_lead_q_proj": (0.0, 0.05)}, "undecided"),
        ("one_replaced", {"one_replaced": (-0.2, 0.05)}, "no"),
        ("one_replaced", {"one_replaced": (0.0, 0.01)}, "no effect"),
        ("one_replaced", {"one_replaced": (0.2, None)}, "undecided"),  # too few documents
        ("three_of_ten_replaced", {"three_of_ten_over_one": (-0.2, 0.05)}, "no"),
        ("three_of_ten_replaced", {"three_of_ten_over_one": (0.0, 0.01)}, "no effect"),
        ("span", {"importance_span": (1.0, 0.1)}, "no"),
        ("span", {"importance_span": (2.3, 0.02)}, "no effect"),  # ln 10 = 2.303
        ("span", {"importance_span": (2.3, 0.5)}, "undecided"),
        ("first_half", {"most_important_early": (0.0, 0.0)}, "no"),
        ("first_half", {"most_important_early": (0.5, 0.5)}, "undecided"),  # the resamples choose both
        ("harm", {"least_importance": (0.1, 0.05)}, "no"),
        ("harm", {"least_importance": (0.0, 0.01)}, "no effect"),
        ("scaling", {"over_scaling_noise": (-1.0, 0.2)}, "no"),
        ("scaling", {"over_scaling": (0.0, 0.01)}, "no effect"),
        ("scaling", {"over_scaling_noise": (0.1, 0.2)}, "undecided"),
        ("structure", {"delta_excess": (0.1, 0.01)}, "no"),
        ("structure", {"delta_excess": (0.0, 0.01)}, "no effect"),
        ("structure", {"delta_excess": (0.0, 0.05)}, "undecided"),
        ("negative", {"delta_correlation": (0.4, 0.01)}, "no"),
        ("negative", {"delta_correlation": (0.0, 0.01)}, "no effect"),
    ],
)
def test_claims_about_one_run(claim, estimates, verdict):
    assert verdicts(**estimates) == TRUE | {claim: verdict}


@pytest.mark.parametrize(
    "orders, verdict",
    [
        ([0.99, 0.94, 0.89, 0.94, 0.99], "yes"),
        ([-0.99, -0.94, -0.89, -0.94, -0.99], "no"),
        ([0.0, 0.03, -0.03, 0.06, 0.0, -0.06, 0.03, -0.03, 0.0, 0.0], "no effect"),
        ([None] * 10, "no effect"),  # layers that all recover alike have no order
        ([0.9, -0.5, 0.3, 0.6, -0.1], "undecided"),
        ([0.99, 0.94, 0.89], "undecided"),  # two degrees of freedom
    ],
)
def test_recovery_is_judged_over_seeds(orders, verdict):
    assert verdicts([f"seed_{seed}" for seed in range(len(orders))], orders=orders)["order"] == verdict


def test_claims_are_about_the_baseline_in_its_run_of_the_lowest_seed():
    others = {
        "other": {**PLAIN, "seed": 1},
        "separate": {**PLAIN, "readouts": "separate"},
        "shallow": {**PLAIN, "layers": 2},
    }
    changed = {"r2_beyond_chance": (-0.2, 0.01), "delta_excess": (0.1, 0.01)}
    assert verdicts(further=others, **changed) == TRUE | {"predicted": "no", "structure": "no"}


def test_without_models_nothing_has_been_run():
    assert verdicts(runs=()) == dict.fromkeys(TRUE, "not run")
    separate = {"separate": {**PLAIN, "readouts": "separate"}}
    assert verdicts(runs=(), further=separate) == dict.fromkeys(TRUE, "not run")


def test_parts_are_all_kinds_of_manipulation_and_matrix():
    with made_up.in_memory(anatomy("a"), {"a": PLAIN}, made_up_anatomy.LAYERS, ANATOMY) as connection:
        parts = connection.execute("SELECT part FROM contrasts WHERE claim IN ('gate_best', 'scaling')").fetchall()
        numbers = [connection.execute(question.sql("numbers")).fetchall() for question in ANATOMY]
    found = {part.replace("gate_proj over ", "").replace(" ", "_") for (part,) in parts}
    assert found == {*KINDS, *made_up_anatomy.MANIPULATIONS} - {"gate_proj"} and all(numbers)
