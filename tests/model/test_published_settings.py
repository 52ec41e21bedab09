import subprocess
import sys

import pytest

from perlayer.errors import UserError
from perlayer.model.published_settings import PublishedSettings, parse_published, parse_published_model


def params(published):
    return {"runs": {"baseline": {}}, "published": published}


def test_what_is_not_said_has_a_default():
    found = parse_published(params({"one": {"path": "/a"}, "two": {"path": "b", "tuned_steps": 5, "tuned_batch": 2}}))
    assert found == {
        "one": PublishedSettings("/a", sequence_length=256, sequences=32, tuned_steps=0, tuned_batch=8),
        "two": PublishedSettings("b", sequence_length=256, sequences=32, tuned_steps=5, tuned_batch=2),
    }
    assert parse_published_model(params({"one": {"path": "/a"}}), "one") == found["one"]


@pytest.mark.parametrize("section", [{"published": {}}, {"published": None}, {}])
def test_there_may_be_none(section):
    choices = {"runs": {"baseline": {}}, **section}
    assert parse_published(choices) == {}
    with pytest.raises(UserError, match="^params.yaml: published.one: no such model; models: none$"):
        parse_published_model(choices, "one")


def test_one_model_is_read_alone():
    choices = params({"good": {"path": "/a"}, "bad": {"path": 3}})
    assert parse_published_model(choices, "good").path == "/a"
    with pytest.raises(UserError, match="^params.yaml: published.other: no such model; models: good, bad$"):
        parse_published_model(choices, "other")


@pytest.mark.parametrize(
    ("published", "message"),
    [
        ([], "published: expected a mapping of names, found []"),
        ({"Big": {"path": "a"}}, "published: expected a name of at most 50 lower-case letters, digits and _, starting"),
        (
            {3: {"path": "a"}},
            "published: expected a name of at most 50 lower-case letters, digits and _, starting",
        ),
        ({"baseline": {"path": "a"}}, "published.baseline: expected another name than that of a run"),
        ({"a": None}, "published.a: expected a mapping of keys, found None"),
        ({"a": {}}, "published.a.path: missing"),
        ({"a": {"path": ""}}, "published.a.path: expected the folder of a published model, found ''"),
        ({"a": {"path": 3}}, "published.a.path: expected a text, found 3"),
        ({"a": {"path": "b", "pat": 1}}, "published.a.pat: unknown key; did you mean path?"),
        (
            {"a": {"path": "b", "sequence_length": 0}},
            "published.a.sequence_length: expected from 1 to 1048576, found 0",
        ),
        ({"a": {"path": "b", "sequences": 1}}, "published.a.sequences: expected from 2 to 1048576, found 1"),
        ({"a": {"path": "b", "tuned_steps": -1}}, "published.a.tuned_steps: expected a whole number of at least 0"),
        ({"a": {"path": "b", "tuned_batch": 1.5}}, "published.a.tuned_batch: expected a whole number, found 1.5"),
    ],
)
def test_a_wrong_choice_is_named(published, message):
    with pytest.raises(UserError) as caught:
        parse_published(params(published))
    assert str(caught.value).startswith(f"params.yaml: {message}") and "\n" not in str(caught.value)


def test_checking_it_imports_neither_torch_nor_transformers():
    code = "import sys, perlayer.model.published_settings; print('torch' in sys.modules, 'transformers' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "False False\n"
