"""The claims of Q7 against results made so that the answer is known."""

import made_up_multi_token as multi
import made_up_results as made_up
import pytest

from perlayer.questions.q7_multi_token.question import QUESTION
from perlayer.questions.wording import further

ALL = ("next_below", "next_last", "after_below", "after_last")
RUNS = {
    f"{name}_{seed}": {**multi.PROBES, "seed": seed, **multi.FUTURE, **keys}
    for name, keys in (("probes", {}), ("multi", multi.SEQUENTIAL))
    for seed in (0, 1, 2)
}


@pytest.fixture
def judge(monkeypatch):
    """The verdicts where multi-token prediction adds to each layer below the last and to the last, for each token."""

    def judge(next_below=0.0, next_last=0.0, after_below=0.0, after_last=0.0, runs=RUNS):
        changes = {1: [next_below] * 5 + [next_last], 2: [after_below] * 5 + [after_last]}
        monkeypatch.setattr(multi, "CHANGES", {multi.DEEPSEEK: changes})
        monkeypatch.setattr(multi, "SEEDS", {0: 0.0, 1: 0.002, 2: -0.001})
        with multi.in_memory(runs, {}, question=QUESTION) as connection:
            return made_up.verdicts(connection), further(connection, QUESTION)

    return judge


@pytest.mark.parametrize("claim", ALL)
@pytest.mark.parametrize("change", [0.3, -0.3])
def test_a_change_to_either_side_counts(judge, claim, change):
    assert judge(**{claim: change})[0] == dict.fromkeys(ALL, "no effect") | {claim: "yes"}


def test_what_the_module_reaches_stands_beside_the_probe(judge):
    # The mean over seeds is that of the probe, 4.1, but for what a pair adds: 0.002 / 3.
    assert "The module ends at 3.600 nats for the token after next, 0.501 below the probe" in judge()[1]


def test_without_runs_nothing_has_run(judge):
    plain = {run: keys for run, keys in RUNS.items() if run.startswith("probes")}
    for runs in ({}, plain):
        assert judge(runs=runs) == (dict.fromkeys(ALL, "not run"), "")
    assert judge(runs={run: keys for run, keys in RUNS.items() if keys["seed"] == 0})[0]["next_last"] == "undecided"
