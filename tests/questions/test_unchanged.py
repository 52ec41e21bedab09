"""Runs that one question is about change no other question's answer."""

import made_up_multi_token as multi
import made_up_results as made_up
import pytest

from perlayer import questions


@pytest.mark.parametrize("key", ["Q1", "Q6", "F16"])
def test_other_ways_to_supervise_change_nothing(warehouse_dir, supervision_dir, key):
    question = next(one for one in questions.QUESTIONS if one.key == key)
    with questions.connect(warehouse_dir) as alone, questions.connect(supervision_dir) as beside:
        for sql in (question.runs, question.numbers, question.claims):
            assert alone.execute(sql).fetchall() == beside.execute(sql).fetchall()
        assert question.verdict(alone) == question.verdict(beside)


def test_multi_token_prediction_and_the_ladder_change_nothing():
    plain = {run: keys for run, keys in multi.RUNS.items() if not multi.way(keys)}
    heads = {f"separate_{seed}": {**multi.PROBES, "readouts": "separate", "seed": seed} for seed in (0, 1, 2)}
    with multi.in_memory(plain | heads, rungs={}) as connection:
        alone = answers(connection)
    with multi.in_memory(multi.RUNS | heads) as connection:
        assert answers(connection) == alone


def answers(connection):
    """What the questions say that are not about multi-token prediction or the ladder."""
    others = tuple(question for question in questions.QUESTIONS if question.key not in ("Q7", "Q8", "D9"))
    made_up.work_out(connection, others)
    said = {
        question.key: (
            [connection.execute(sql).fetchall() for sql in (question.runs, question.numbers)],
            question.verdict(connection),
        )
        for question in others
    }
    return connection.execute("FROM claims").fetchall(), said
