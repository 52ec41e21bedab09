"""The claims of Q5 against results made so that the answer is known."""

import made_up_results as made_up
import pytest

from perlayer.questions.q5_why_it_hurts.question import QUESTION

STEPS = 100
SCATTER = (-0.003, 0.0, 0.003)
WAYS = {
    "baseline": made_up.PLAIN,
    "separate": made_up.SEPARATE,
    "shared": made_up.SHARED,
    "off": {**made_up.SHARED, "schedule": {"kind": "off", "step": 5}},
    "fade": {**made_up.SHARED, "schedule": {"kind": "linear_to_zero", "steps": 5}},
    "llal": {
        **made_up.SHARED,
        "weighting": {"shape": "single", "at": 1, "weight": 0.1},
        "schedule": {"kind": "linear_to_zero", "steps": 11},
    },
    "supervised": {**made_up.SEPARATE, "schedule": {"kind": "threshold", "loss": 3.0}},
    # These are no part of any claim.
    "late": {**made_up.SHARED, "schedule": {"kind": "off", "step": 6}},
    "own_layer": {**made_up.SEPARATE, "gradient_reach": "own_layer"},
}
COSTS = {"separate": 0.06, "shared": 0.1, "llal": -0.05, "supervised": -0.05, "late": 0.1, "own_layer": 0.1}
GROWTH = {"separate": 0.03, "shared": 0.04}  # of the cost, over the last four fifths of the training
COSINES = {"baseline": 0.1, "separate": 0.8, "shared": 0.9}
LIKE_PUBLISHED = dict.fromkeys([claim.name for claim in QUESTION.claims], "yes")


def judge(ways=WAYS, seeds=(0, 1, 2), costs=COSTS, growth=GROWTH, cosines=COSINES):
    """The verdicts of ways that cost so much, and whose gradients lie so to that of the final loss."""
    rows, runs = [], {}
    for way in ways:
        for seed in seeds:
            run = f"{way}_{seed}"
            runs[run] = {**WAYS[way], "seed": seed, "gradient_cosines": {"every": 50}}
            end = 3.0 + costs.get(way, 0.0) + SCATTER[seed]
            for step in range(1, STEPS + 1):
                loss = end - (growth.get(way, 0.0) if step <= STEPS // 5 else 0.0)
                rows.append({"run": run, "layer": 3, "step": step, "value": loss})
            for step in (1, 51) if way in cosines else ():
                row = {"run": run, "layer": 3, "step": step, "metric": "summed_gradient_cosine"}
                rows.append({**row, "value": cosines[way] + SCATTER[seed]})
    ends = {run: {"steps": STEPS} for run in runs}
    with made_up.in_memory(rows, runs, 3, QUESTION, ends=ends) as connection:
        return made_up.verdicts(connection)


def test_like_the_published_results():
    assert judge() == LIKE_PUBLISHED


@pytest.mark.parametrize(
    "claim, changes, verdict",
    [
        ("gradients", {"cosines": {**COSINES, "shared": -0.5}}, "no"),
        ("gradients", {"cosines": {**COSINES, "shared": 0.0}}, "no effect"),
        ("counterfactual", {"cosines": {**COSINES, "baseline": 0.95}}, "no"),
        ("counterfactual", {"cosines": dict.fromkeys(COSINES, 0.9)}, "no effect"),
        ("cost", {"costs": {**COSTS, "separate": -0.05}}, "no"),
        ("cost", {"costs": {**COSTS, "separate": 0.0}}, "no effect"),
        ("growth", {"growth": {**GROWTH, "shared": -0.04}}, "no"),
        ("growth", {"growth": {**GROWTH, "shared": 0.0}}, "no effect"),
        ("switched_off", {"costs": {**COSTS, "off": 0.05}}, "no"),
        ("switched_off", {"costs": {**COSTS, "fade": -0.05}}, "no"),
        ("switched_off", {"costs": {**COSTS, "shared": 0.0}}, "no effect"),
        ("llal", {"costs": {**COSTS, "llal": 0.05}}, "no"),
        ("llal", {"costs": {**COSTS, "llal": 0.0}}, "no effect"),
        ("deeply_supervised", {"costs": {**COSTS, "supervised": 0.05}}, "no"),
        ("deeply_supervised", {"costs": {**COSTS, "supervised": 0.0}}, "no effect"),
    ],
)
def test_a_claim_fails_or_comes_to_nothing(claim, changes, verdict):
    assert judge(**changes)[claim] == verdict


def test_what_has_run():
    assert judge(seeds=(1,)) == dict.fromkeys(LIKE_PUBLISHED, "undecided")
    assert (
        judge(ways=())
        == judge(ways=[way for way in WAYS if way != "baseline"], cosines={})
        == dict.fromkeys(LIKE_PUBLISHED, "not run")
    )
    missing = {"switched_off": "not run", "llal": "not run", "deeply_supervised": "not run"}
    assert judge(ways=("baseline", "separate", "shared", "late", "own_layer")) == LIKE_PUBLISHED | missing
