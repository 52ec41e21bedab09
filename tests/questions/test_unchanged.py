"""Runs that no question names change no verdict."""

import made_up_results as made_up
import pytest

from perlayer.questions import QUESTIONS, connect

OWN = {"mine": {**made_up.SEPARATE, "weighting": {"shape": "list", "weights": [0.5, 0, 0.1, 0, 0.2]}, "ema": 10}}


@pytest.fixture
def judged(tmp_path):
    def judged(runs):
        metrics = tmp_path / str(len(runs))
        made_up.write(metrics, runs)
        made_up.collect(made_up.params(runs), metrics, metrics / "warehouse")
        with connect(metrics / "warehouse") as connection:
            return connection.execute("FROM contrasts").fetchall(), connection.execute("FROM claims").fetchall()

    return judged


def test_an_own_run_changes_no_verdict(judged):
    contrasts, claims = judged(made_up.RUNS)
    assert judged(made_up.RUNS | OWN) == (contrasts, claims)
    assert len(claims) == sum(len(question.claims) for question in QUESTIONS)
