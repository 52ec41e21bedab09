"""The claims of Q4 against results made so that the answer is known."""

import made_up_results as made_up
import pytest

from perlayer.questions.q4_hyper_connections.question import QUESTION

SCATTER = (-0.003, 0.0, 0.003)


def judge(costs, seeds=(0, 1, 2), plain=0.0):
    """The verdicts, where separate heads cost designs so much; Hyper-Connections ends `plain` above the baseline."""
    rows, runs = [], {}
    for residual, cost in costs.items():
        for readouts, more in (("none", 0.0), ("separate", cost)):
            for seed in seeds:
                run = f"{residual}_{readouts}_{seed}"
                runs[run] = {"residual": residual, "readouts": readouts, "seed": seed}
                value = 3.0 + more + SCATTER[seed] + (plain if residual == "hyper_connections" else 0.0)
                rows.append({"run": run, "layer": 2, "value": value})
    with made_up.in_memory(rows, runs, 2, QUESTION) as connection:
        return tuple(made_up.verdicts(connection)[claim] for claim in ("less", "pays"))


@pytest.mark.parametrize(
    "baseline, streams, verdicts",
    [
        (0.10, 0.05, ("yes", "yes")),
        (0.05, 0.10, ("no", "yes")),
        (0.05, 0.05, ("no effect", "yes")),
        (0.05, 0.0, ("yes", "no effect")),
        (0.05, -0.05, ("yes", "no")),
    ],
)
def test_the_claims(baseline, streams, verdicts):
    costs = {"sandwich": baseline, "hyper_connections": streams}
    assert judge(costs) == judge(costs, plain=-0.2) == verdicts
    assert judge(costs, seeds=(1,)) == ("undecided", "undecided")


def test_what_has_not_run():
    assert judge({"hyper_connections": 0.05}) == ("not run", "yes")
    assert judge({"sandwich": 0.05}) == judge({}) == ("not run", "not run")
