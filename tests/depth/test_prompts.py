"""Prompts: how they are read, made, put into words and cut into tokens, and depth scores of groups of them."""

import json

import numpy as np
import pytest
import torch
from by_hand import Plain, skipping
from tiny import build, move

from perlayer.data.tokenizer import load_tokenizer
from perlayer.depth.by_group import answer_splits, score_groups
from perlayer.depth.prompts import Prompt, answered_texts, arithmetic_prompts, read_prompts, write_prompts
from perlayer.depth.published_prompts import published_prompts, some_of_each
from perlayer.depth.texts import AnsweredText
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
    prompts = [Prompt("Größe?\n", "a", "1"), *arithmetic_prompts([2], 2, 0)]
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
        with pytest.raises(UserError, match="line 1: expected a row of "):
            published_prompts(next(other for other in rows if other != name), tmp_path / name)
    with pytest.raises(UserError, match="expected one of gsm8k, math, mquake, found 'other'"):
        published_prompts("other", tmp_path / "math")


def test_some_of_each_group_are_drawn_the_same_each_time():
    prompts = [Prompt(str(number), "a", f"level {number % 3}") for number in range(30)]
    some = some_of_each(prompts, 4)
    assert [prompt.group for prompt in some] == ["level 0"] * 4 + ["level 1"] * 4 + ["level 2"] * 4
    assert len(set(some)) == 12 and some == some_of_each(prompts, 4)
    assert sorted(some_of_each(prompts, 99), key=lambda prompt: int(prompt.prompt)) == prompts


def test_prompt_and_answer_are_tokens_of_their_own(small_shards):
    tokenizer = load_tokenizer(small_shards.parent / "tokenizer")
    (text,) = answered_texts([Prompt("Document 5 te", "lls of it", "a")], tokenizer)
    before, answer = text.tokens[: -text.answer], text.answer_tokens
    assert text.name == "a, 1" and before[0] == tokenizer.bos_id
    assert tokenizer.backend.decode(before[1:].tolist()) == "Document 5 te"
    assert tokenizer.backend.decode(answer.tolist()) == "lls of it"
    with pytest.raises(UserError, match="prompt 1: expected a prompt and an answer of at least a token each"):
        answered_texts([Prompt("a", "", "b")], tokenizer)


def test_splits_lie_four_tokens_apart_from_where_the_answer_begins():
    def splits(length, answer, count):
        return sorted(answer_splits(AnsweredText("a", torch.zeros(length), answer), count).tolist())

    assert splits(30, 13, 9) == [17, 21, 25]  # the last is at least four from the end
    assert len(splits(30, 13, 2)) == 2 and set(splits(30, 13, 2)) < {17, 21, 25}
    assert splits(30, 4, 4) == [26] and splits(30, 1, 4) == [29]


def test_depth_scores_of_groups(small_shards):
    tokenizer = load_tokenizer(small_shards.parent / "tokenizer")
    prompts = [
        Prompt("Document 7 tells", " of the number 49 and of", "easy"),
        Prompt("The letter h", " is", "hard"),
        Prompt("Document", " 3", "easy"),
    ]
    decoder = move(build("pre_ln", layers=LAYERS, sequence_length=40, vocab_size=300)).freeze()
    found = score_groups(decoder, prompts, tokenizer, splits=2, tokens_at_once=200)
    scores = {(one.text, one.layer, one.sublayer, one.metric, one.stat): one.value for one in found}
    assert {one.text for one in found} == {"easy", "hard"} and len(scores) == len(found)
    for group in ("easy", "hard"):
        effects = {}  # by the layer that is skipped and a later one
        outputs = {}
        for text in answered_texts([prompt for prompt in prompts if prompt.group == group], tokenizer):
            one = Plain(decoder, text.tokens)
            one.sees = torch.ones_like(one.sees).tril()
            _, usual, probabilities = one.run()
            places = torch.arange(len(text.tokens))
            for split in answer_splits(text, 2).tolist():
                for layer in range(1, LAYERS + 1):
                    _, changed, output = one.run(skipping("layer", layer, (places > 0) & (places < split)))
                    outputs.setdefault(layer, []).extend((output - probabilities)[split:].norm(dim=-1).tolist())
                    for later in range(layer + 1, LAYERS + 1):
                        change = (changed[later, "layer"] - usual[later, "layer"]).norm(dim=-1)
                        change = (change / usual[later, "layer"].norm(dim=-1))[split:]
                        effects.setdefault((layer, later), []).extend(change.tolist())
        for stat, over in (("mean", np.mean), ("max", np.max)):
            first = (over(effects[1, 2]) + over(effects[1, 3])) / 2
            second = over(effects[2, 3])
            expected = (first + 2 * second) / (first + second)
            assert scores[group, LAYERS, None, "depth_score", stat] == pytest.approx(expected, rel=1e-8)
            each = [over(outputs[layer]) for layer in (1, 2, 3)]
            expected = np.dot(each, (1, 2, 3)) / np.sum(each)
            assert scores[group, LAYERS, None, "output_depth_score", stat] == pytest.approx(expected, rel=1e-8)
