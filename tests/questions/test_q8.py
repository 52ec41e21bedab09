"""The claims of Q8 against results made so that the answer is known."""

import made_up_multi_token as multi
import made_up_results as made_up
import pytest

from perlayer.questions.q8_multi_token_sizes.question import QUESTION


@pytest.fixture
def judge(monkeypatch):
    """The verdicts where multi-token prediction adds to the last layer of each rung."""

    def judge(*changes, runs=multi.LADDER_RUNS):
        rungs = dict(zip(multi.RUNGS, changes))
        monkeypatch.setattr(multi, "RUNG_CHANGES", rungs)
        monkeypatch.setattr(multi, "SEEDS", {0: 0.0, 1: 0.002, 2: -0.001})
        with multi.in_memory({}, {rung: multi.RUNGS[rung] for rung in rungs}, runs, QUESTION) as connection:
            found = made_up.verdicts(connection)
            return found["no_gain"], found["larger_gain"]

    return judge


@pytest.mark.parametrize(
    "changes, verdicts",
    [
        ((0.3, 0.2, 0.1), ("yes", "yes")),
        ((0.1, 0.2, 0.3), ("yes", "no")),
        ((0.3, -0.2, 0.3), ("no", "no effect")),
        ((0.0, 0.0, 0.0), ("no effect", "no effect")),
        ((0.3,), ("yes", "not run")),
        ((), ("not run", "not run")),
    ],
)
def test_sizes_gain_or_not(judge, changes, verdicts):
    assert judge(*changes) == verdicts


def test_one_seed_decides_nothing(judge):
    first = {run: keys for run, keys in multi.LADDER_RUNS.items() if keys["seed"] == 0}
    assert judge(0.3, 0.2, 0.1, runs=first) == ("undecided", "undecided")
