"""What a question of one's own needs, and what is said of one that is not as it should be."""

import made_up_results as made_up
import pytest

from perlayer import questions
from perlayer.errors import UserError
from perlayer.questions.question import PublishedClaim, Question
from perlayer.verdicts import VERDICTS

CONTRASTS = """
SELECT 'lower' AS claim, 'all' AS part, 'below' AS side, 0.0 AS threshold, 1.0 AS coefficient, backbone AS "group", run,
    loss - 3.0 AS value, 'last layer' AS pool
FROM recipe_runs JOIN final_loss USING (run)
"""
RUNS = {f"seed_{seed}": {"residual": "sandwich", "readouts": "none", "seed": seed} for seed in range(6)}


@pytest.fixture
def question(tmp_path, monkeypatch):
    (tmp_path / "contrasts.sql").write_text(CONTRASTS)
    monkeypatch.setattr(Question, "folder", property(lambda self: tmp_path))
    claims = (PublishedClaim("lower", "It ends below 3 nats", "no figure"),)
    return Question("X1", "Is it low?", "", claims, dict.fromkeys(VERDICTS, "So it is."), "The loss", ())


def test_contrasts_alone_make_a_question(question):
    rows = [{"run": run, "layer": 2, "value": 2.5 + 0.01 * place} for place, run in enumerate(RUNS)]
    with made_up.in_memory(rows, RUNS, question=question) as connection:
        assert made_up.verdicts(connection) == {"lower": "yes"}
        assert question.ask(connection, "runs").fetchall() == [(run, True) for run in RUNS]
        ((*named, estimate, low, high, seeds),) = question.ask(connection, "numbers").fetchall()
    assert (named, seeds) == (["lower", "all"], 6)
    assert estimate == pytest.approx(2.525 - 3.0) and low < estimate < high  # the mean of 2.50 to 2.55


@pytest.mark.parametrize(
    "sql, said",
    [
        (CONTRASTS.replace("'lower'", "'lowre'"), "contrasts.sql: expected the claims lower, found lowre"),
        (
            CONTRASTS.replace("final_loss", "final_los"),
            "contrasts.sql: Catalog Error: Table with name final_los",
        ),
    ],
)
def test_contrasts_that_are_wrong_are_named(question, sql, said):
    (question.folder / "contrasts.sql").write_text(sql)
    with pytest.raises(UserError, match=said) as error:
        made_up.in_memory([{"run": "seed_0", "layer": 2, "value": 2.5}], RUNS, question=question)
    assert "\n" not in str(error.value)


def test_a_question_that_cannot_be_read_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(questions, "FOLDER", tmp_path)
    (tmp_path / "x1_own").mkdir()
    path = tmp_path / "x1_own/question.py"
    path.touch()
    with pytest.raises(UserError, match=rf"^{path}: ModuleNotFoundError: ") as error:
        questions._found()
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("key", ["q1", "Q", "1", "Q1a", "QQ1"])
def test_a_key_is_a_letter_and_a_number(key):
    with pytest.raises(ValueError, match="expected a capital letter and a number"):
        Question(key, "", "", (), dict.fromkeys(VERDICTS, ""), "", ())


def test_all_questions_can_be_asked_of_nothing(question, monkeypatch):
    questions.check()
    monkeypatch.setattr(questions, "QUESTIONS", (question,))
    (question.folder / "numbers.sql").write_text("SELECT nothing FROM runs")
    with pytest.raises(UserError, match='numbers.sql: Binder Error: Referenced column "nothing" not found'):
        questions.check()
