"""Runs that one question is about change no other question's answer."""

import pytest

from perlayer import questions


@pytest.mark.parametrize("key", ["Q1", "Q6", "F16"])
def test_other_ways_to_supervise_change_nothing(warehouse_dir, supervision_dir, key):
    question = next(one for one in questions.QUESTIONS if one.key == key)
    with questions.connect(warehouse_dir) as alone, questions.connect(supervision_dir) as beside:
        for sql in (question.runs, question.numbers, question.claims):
            assert alone.execute(sql).fetchall() == beside.execute(sql).fetchall()
        assert question.verdict(alone) == question.verdict(beside)
