"""The claims of Q6 against retraining made so that the answer is known."""

import made_up_results as made_up
import pytest

from perlayer.questions.q6_heads_or_features.question import QUESTION

LAYERS = 4
ALL = ("features", "probes_worse", "probes_barely_move", "separate_higher")


def judge(gap=0.4, probes=-0.01, separate=0.03, seeds=(0, 1, 2)):
    """The verdicts where probes below the last layer begin `gap` above separate heads, and retraining changes both."""
    rows, runs = [], {}
    for setup in ("probes", "separate"):
        for seed in seeds:
            run = f"{setup}_{seed}"
            runs[run] = {"residual": "sandwich", "readouts": setup, "seed": seed}
            for layer in range(1, LAYERS + 1):
                below = gap if setup == "probes" and layer < LAYERS else 0.0
                before, change = 3.0 + 0.001 * seed + below, probes if setup == "probes" else separate
                row = {"run": run, "layer": layer, "readout": "retrained", "split": "val"}
                rows += [
                    {**row, "step": 0, "value": before},
                    {**row, "step": 10, "value": before + change},
                    {**row, "step": 10, "metric": "change", "value": change},
                    {**row, "step": 10, "metric": "change_standard_error", "value": 0.001},
                ]
    with made_up.in_memory(rows, runs, LAYERS, QUESTION) as connection:
        return made_up.verdicts(connection)


def test_like_the_published_results():
    assert judge() == dict.fromkeys(ALL, "yes")


@pytest.mark.parametrize(
    "claim, changes, verdict",
    [
        ("features", {"probes": -0.25}, "no"),  # 0.28 nearer, of 0.4
        ("features", {"probes": -0.17}, "no effect"),  # half of it
        ("probes_worse", {"probes": -0.6}, "no"),
        ("probes_worse", {"probes": -0.37}, "no effect"),
        ("probes_barely_move", {"probes": -0.6}, "no"),
        ("probes_barely_move", {"probes": 0.6}, "no"),
        ("probes_barely_move", {"gap": 0.0, "probes": 0.0}, "no effect"),
        ("separate_higher", {"separate": -0.03}, "no"),
        ("separate_higher", {"separate": 0.0}, "no effect"),
    ],
)
def test_a_claim_can_fail_and_come_to_nothing(claim, changes, verdict):
    assert judge(**changes)[claim] == verdict


def test_one_seed_decides_only_what_is_of_one_model():
    found = judge(seeds=(0,))
    assert found.pop("separate_higher") == "yes"
    assert set(found.values()) == {"undecided"}


def test_without_retraining_nothing_has_run():
    assert judge(seeds=()) == dict.fromkeys(ALL, "not run")
