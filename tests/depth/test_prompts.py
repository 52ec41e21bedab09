"""Prompts: how they are read, made, put into words and cut into tokens, and depth scores of groups of them."""

import json

import numpy as np
import pytest
import torch
from by_hand import Plain, skipping
from tiny import build, move

from perlayer.data.tokenizer import load_tokenizer
from perlayer.depth.by_group import answer_splits, answers, difficulty, score_groups
from perlayer.depth.prompt_sets import read_prompt_sets, write_prompt_sets
from perlayer.depth.prompts import Prompt, arithmetic_prompts, read_prompts, write_prompts
from perlayer.depth.published_prompts import published_prompts, some_of_each
from perlayer.depth.settings import PromptFile, Sums
from perlayer.depth.texts import AnsweredText, answered_texts
from perlayer.errors import UserError

LAYERS = 3


def test_sums_add_up_and_a_group_has_one_number_of_operands():
    prompts = arithmetic_prompts([2, 5, 1], 20, seed=3)
    assert [prompt.group for prompt in prompts] == ["2 operands"] * 20 + ["5 operands"] * 20 + ["1 operands"] * 20
    for prompt in prompts:
        numbers = prompt.prompt.removesuffix(" = ").split(" + ")
        assert len(numbers) == int(prompt.group.split()[0]) and all(1 <= int(number) <= 9 for number in numbers)
        assert eval(prompt.prompt.removesuffix("= ")) == int(prompt.answer)
    assert len(set(prompts)) > 45
    assert arithmetic_prompts([5], 20, seed=3) == prompts[20:40] != arithmetic_prompts([5], 20, seed=4)


def test_prompts_are_read_as_they_were_written(tmp_path):
    prompts = [Prompt("Größe? \N{GRINNING FACE}\n", "a", "1"), *arithmetic_prompts([2], 2, 0)]
    write_prompts(prompts, tmp_path / "prompts.jsonl")
    assert read_prompts(tmp_path / "prompts.jsonl") == prompts
    assert json.loads((tmp_path / "prompts.jsonl").read_text().splitlines()[1]).keys() == {"prompt", "answer", "group"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "no such file"),
        ("\n", "expected prompts, one JSON object a line, found none"),
        ('{"prompt": "a", "answer": "b", "group": "c"}\n{"prompt"', "line 2: not valid JSON: "),
        ('{"prompt": "a", "answer": "", "group": "c"}', "line 1: answer: expected a text, found ''"),
        ('{"prompt": "a", "answer": "b"}', "line 1: group: expected a text, found None"),
        ("3", "line 1: prompt: expected a text, found None"),
        ("\n\n" + '{"prompt": "a"}', "line 3: answer: expected a text, found None"),
        ("\n" + "[" * 100_000, "line 2: not valid JSON: "),
        (r'{"prompt": "a\ud800", "answer": "b", "group": "c"}', r"line 1: prompt: expected a text, found 'a\ud800'"),
    ],
)
def test_a_wrong_file_of_prompts_is_named_in_one_line(tmp_path, text, said):
    path = tmp_path / "prompts.jsonl"
    if text is not None:
        path.write_text(text)
    with pytest.raises(UserError) as error:
        read_prompts(path)
    assert str(error.value).startswith(f"{path}: {said}") and "\n" not in str(error.value)


def test_published_questions_are_put_into_words(tmp_path):
    rows = {
        "gsm8k": {"question": "How many?", "answer": "One and one.\n#### 2"},
        "math": {"problem": "Find x.", "solution": "It is $1$.", "level": "Level 3"},
        "mquake": {"questions": ["Who?", "Which one?"], "answer": "She", "orig": {"triples": [[1], [2], [3]]}},
    }
    expected = {
        "gsm8k": ("One and one. The final answer is 2", "gsm8k"),
        "math": (" It is $1$.", "level 3"),
        "mquake": (" She", "3 hops"),
    }
    for name, row in rows.items():
        (tmp_path / name).write_text(json.dumps(row) + "\n")
        (prompt,) = published_prompts(name, tmp_path / name)
        assert (prompt.answer, prompt.group) == expected[name]
        assert prompt.prompt.find(row.get("question") or row.get("problem") or "Who?") >= 0
        with pytest.raises(UserError, match="line 1: [a-z]+: expected a "):
            published_prompts(next(other for other in rows if other != name), tmp_path / name)
    with pytest.raises(UserError, match="expected one of gsm8k, math, mquake, found 'other'"):
        published_prompts("other", tmp_path / "math")


GSM8K = {"question": "How many?", "answer": "One.\n#### 1"}
MATH = {"problem": "Find x.", "solution": "It is $1$.", "level": "Level 3"}
MQUAKE = {"questions": ["Who?"], "answer": "She", "orig": {"triples": [[1]]}}


@pytest.mark.parametrize(
    ("name", "row", "said"),
    [
        ("gsm8k", {**GSM8K, "answer": "One."}, "answer: expected a solution, #### and the final answer, found 'One.'"),
        ("gsm8k", {**GSM8K, "answer": "One. #### "}, "answer: expected a solution, #### and the final answer, found "),
        ("gsm8k", {**GSM8K, "answer": 1}, "answer: expected a text, found 1"),
        ("gsm8k", {**GSM8K, "question": ""}, "question: expected a text, found ''"),
        ("gsm8k", [GSM8K], "answer: expected a text, found None"),
        ("math", {**MATH, "problem": None}, "problem: expected a text, found None"),
        ("math", {**MATH, "solution": "\ud800"}, r"solution: expected a text, found '\ud800'"),
        ("math", {**MATH, "level": 3}, "level: expected a text, found 3"),
        ("mquake", {**MQUAKE, "questions": "Who?"}, "questions: expected a list that begins with a text, found 'Who?'"),
        ("mquake", {**MQUAKE, "questions": []}, "questions: expected a list that begins with a text, found []"),
        ("mquake", {**MQUAKE, "questions": [None]}, "questions: expected a list that begins with a text, found [None]"),
        ("mquake", {**MQUAKE, "questions": [""]}, "questions: expected a list that begins with a text, found ['']"),
        ("mquake", {**MQUAKE, "answer": None}, "answer: expected a text, found None"),
        ("mquake", {**MQUAKE, "orig": {"triples": []}}, "orig.triples: expected a list of triples, found []"),
        ("mquake", {**MQUAKE, "orig": {"triples": "abc"}}, "orig.triples: expected a list of triples, found 'abc'"),
        ("mquake", {**MQUAKE, "orig": []}, "orig.triples: expected a list of triples, found None"),
    ],
)
def test_what_is_no_text_is_named_with_its_line(tmp_path, name, row, said):
    path = tmp_path / "rows.jsonl"
    usual = {"gsm8k": GSM8K, "math": MATH, "mquake": MQUAKE}[name]
    path.write_text("".join(json.dumps(each) + "\n\n" for each in (usual, row)))
    with pytest.raises(UserError) as error:
        published_prompts(name, path)
    assert str(error.value).startswith(f"{path}: line 3: {said}") and "\n" not in str(error.value)


def test_some_of_each_group_are_drawn_the_same_each_time():
    prompts = [Prompt(str(number), "a", f"level {number % 3}") for number in range(30)]
    some = some_of_each(prompts, 4)
    assert [prompt.group for prompt in some] == ["level 0"] * 4 + ["level 1"] * 4 + ["level 2"] * 4
    assert len(set(some)) == 12 and some == some_of_each(prompts, 4)
    assert sorted(some_of_each(prompts, 99), key=lambda prompt: int(prompt.prompt)) == prompts


def test_sets_are_written_and_read_by_name(tmp_path):
    rows = [{"problem": str(number), "solution": "x", "level": f"Level {number % 2}"} for number in range(6)]
    (tmp_path / "math.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    write_prompts([Prompt("a", "b", "mine")] * 3, tmp_path / "own.jsonl")
    asked = {
        "sums": Sums([3, 2], each=4),
        "levels": PromptFile(str(tmp_path / "math.jsonl"), "math", each=2),
        "mine": PromptFile(str(tmp_path / "own.jsonl"), "prompts"),
    }
    written = write_prompt_sets(asked, tmp_path / "sets")
    found = read_prompt_sets(tmp_path / "sets")
    assert found == written and list(found) == ["levels", "mine", "sums"]
    assert [prompt.group for prompt in found["sums"]] == ["3 operands"] * 4 + ["2 operands"] * 4
    assert [prompt.group for prompt in found["levels"]] == ["level 0"] * 2 + ["level 1"] * 2
    assert found["mine"] == [Prompt("a", "b", "mine")] * 3
    assert write_prompt_sets({}, tmp_path / "none") == {} == read_prompt_sets(tmp_path / "none")


def test_prompt_and_answer_are_tokens_of_their_own(small_shards):
    tokenizer = load_tokenizer(small_shards.parent / "tokenizer")
    (text,) = answered_texts([Prompt("Document 5 te", "lls of it", "a")], tokenizer)
    before, answer = text.tokens[: -text.answer], text.answer_tokens
    assert text.name == "a, 1" and before[0] == tokenizer.bos_id
    assert tokenizer.backend.decode(before[1:].tolist()) == "Document 5 te"
    assert tokenizer.backend.decode(answer.tolist()) == "lls of it"
    said = "b, 2: expected a prompt and an answer of at least a token each, found 'a' and ''"
    prompts = [Prompt("a", "c", "b"), Prompt("a", "", "b")]
    with pytest.raises(UserError, match=f"^{said}$"):
        answered_texts(prompts, tokenizer)
    with pytest.raises(UserError, match=f"^prompts mine: {said}$"):
        score_groups("", move(build("pre_ln", layers=LAYERS)).freeze(), {"mine": prompts}, tokenizer, 1, 200)


def test_splits_lie_four_tokens_apart_from_where_the_answer_begins():
    def splits(length, answer, count):
        return sorted(answer_splits(AnsweredText("a", torch.zeros(length), answer), count).tolist())

    assert splits(30, 13, 9) == [17, 21, 25]  # the last is at least four from the end
    assert len(splits(30, 13, 2)) == 2 and set(splits(30, 13, 2)) < {17, 21, 25}
    assert splits(30, 4, 4) == [26] and splits(30, 1, 4) == [29]


def plain_model(decoder, text):
    """A text's model by hand; a prompt is one document."""
    one = Plain(decoder, text.tokens)
    one.sees = torch.ones_like(one.sees).tril()
    return one


def effects_of(decoder, text, splits):
    """By the layer that is skipped and a later one, and by the first alone for predictions: a value a token."""
    one, effects, outputs = plain_model(decoder, text), {}, {}
    _, usual, probabilities = one.run()
    places = torch.arange(len(text.tokens))
    for split in answer_splits(text, splits).tolist():
        for layer in range(1, LAYERS + 1):
            _, changed, output = one.run(skipping("layer", layer, (places > 0) & (places < split)))
            outputs.setdefault(layer, []).extend((output - probabilities)[split:].norm(dim=-1).tolist())
            for later in range(layer + 1, LAYERS + 1):
                change = (changed[later, "layer"] - usual[later, "layer"]).norm(dim=-1)
                change = (change / usual[later, "layer"].norm(dim=-1))[split:]
                effects.setdefault((layer, later), []).extend(change.tolist())
    return effects, outputs


def scores_of(found, over):
    """The two depth scores of the effects in some prompts, from their definition."""
    effects = {key: over(sum((one[key] for one, _ in found), [])) for key in found[0][0]}
    outputs = [over(sum((one[layer] for _, one in found), [])) for layer in range(1, LAYERS + 1)]
    first, second = (effects[1, 2] + effects[1, 3]) / 2, effects[2, 3]
    return (first + 2 * second) / (first + second), np.dot(outputs, (1, 2, 3)) / np.sum(outputs)


def test_depth_scores_of_groups(small_shards):
    tokenizer = load_tokenizer(small_shards.parent / "tokenizer")
    prompts = [
        Prompt("Document 7 tells", " of the number 49 and of", "easy"),
        Prompt("The letter h", " is", "hard"),
        Prompt("Document", " 3", "easy"),
        Prompt("The letter q", " is " + "q" * 40, "hard"),
        Prompt("Document 1", " tells", "easy"),
        Prompt("Document", "d" * 50, "hardest"),
    ]
    decoder = move(build("pre_ln", layers=LAYERS, sequence_length=40, vocab_size=300)).freeze()
    sets = {"mine": prompts, "other": prompts[:1]}
    rows = score_groups("a", decoder, sets, tokenizer, splits=2, tokens_at_once=200)
    groups = [(row.run, row.prompts, row.prompt_group, row.layers) for row in rows]
    assert groups == [
        *(("a", "mine", group, LAYERS) for group in ("easy", "hard", "hardest")),
        ("a", "other", "easy", LAYERS),
    ]
    easy, hard, hardest, _ = rows
    for row, count, too_long in ((easy, 3, 0), (hard, 1, 1), (hardest, 0, 1)):
        assert (row.prompts_read, row.too_long) == (count, too_long)
    assert [*vars(hardest).values()][7:] == [None] * 6
    assert hard.standard_error is hard.output_standard_error is None
    for row, kept in ((easy, (0, 2, 4)), (hard, (1,))):
        texts = answered_texts([prompts[place] for place in kept], tokenizer)
        each = [effects_of(decoder, text, 2) for text in texts]
        means, greatest = scores_of(each, np.mean), scores_of(each, np.max)
        assert (row.depth_score, row.output_depth_score) == pytest.approx(means, rel=1e-8)
        assert row.depth_score_by_max == pytest.approx(greatest[0], rel=1e-8)
        if len(each) > 1:  # Efron and Stein: (n - 1) / n times the squares around their mean, each left out once
            left = np.array([scores_of(each[:n] + each[n + 1 :], np.mean) for n in range(3)])
            errors = np.sqrt(2 / 3 * ((left - left.mean(0)) ** 2).sum(0))
            assert (row.standard_error, row.output_standard_error) == pytest.approx(tuple(errors), rel=1e-6)


@pytest.mark.parametrize(
    "group, expected",
    [("level 3", 3), ("4 hops", 4), ("10 operands", 10), ("2.5 of 7", 2.5), ("gsm8k", None), ("easy", None)],
)
def test_a_group_is_as_hard_as_the_first_number_that_is_a_word(group, expected):
    assert difficulty(group) == expected


def test_an_answer_is_that_of_the_model_when_each_of_its_tokens_is_the_likeliest():
    decoder = move(build("pre_ln", layers=LAYERS, sequence_length=40, vocab_size=300)).freeze()
    tokens = [0, 5, 9, 7]
    for _ in range(2):  # what greedy decoding says, from logits in float64
        text = AnsweredText("", torch.tensor(tokens), 1)
        tokens.append(plain_model(decoder, text).run()[2][-1].argmax().item())
    right = torch.tensor(tokens)
    assert answers(decoder, AnsweredText("", right, 2)) and not answers(decoder, AnsweredText("", right, 3))
    wrong = right.clone()
    wrong[-1] = (wrong[-1] + 1) % 300
    assert not answers(decoder, AnsweredText("", wrong, 2))
    assert score_answers(decoder, right) == 1.0


def score_answers(decoder, tokens):
    """`answered` of a prompt whose tokenizer gives these tokens, the last two being the answer."""

    class Backend:
        def encode(self, text, add_special_tokens):
            return type("Encoding", (), {"ids": tokens[-2:].tolist() if text == "answer" else tokens[:-2].tolist()})

    tokenizer = type("Tokenizer", (), {"bos_id": None, "backend": Backend()})
    (row,) = score_groups("", decoder, {"mine": [Prompt("prompt", "answer", "a")]}, tokenizer, 1, 200)
    return row.answered
