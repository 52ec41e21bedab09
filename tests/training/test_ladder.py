"""The ladder's section of params.yaml."""

import copy

import pytest

from perlayer.errors import UserError
from perlayer.params import load
from perlayer.plan import check_params
from perlayer.training.ladder import check_ladder, ladder_run, parse_rung


@pytest.fixture
def params():
    return copy.deepcopy(load())


def test_a_rung_is_the_recipe_in_use_but_for_what_it_says(params):
    params["ladder"]["rungs"] = {"wide": {"model": {"hidden_size": 64, "attention_heads": 4}, "train": {"steps": 7}}}
    rung, usual = parse_rung(params, "wide"), params["recipes"]["nano"]
    assert (rung.model.hidden_size, rung.model.attention_heads, rung.train.steps) == (64, 4, 7)
    assert (rung.model.layers, rung.train.batch) == (usual["model"]["layers"], usual["train"]["batch"])
    assert rung.optimizer.learning_rate == usual["optimizer"]["learning_rate"]


def test_a_run_of_the_ladder_is_named_after_its_rung(params):
    run = ladder_run(params, "width_16", "multi_token_seed_1")
    assert (run.name, run.seed) == ("width_16_multi_token_seed_1", 1)
    assert run.algorithms["multi_token_prediction"].weight == 0.3


def test_the_default_ladder_keeps_the_proportions_and_the_tokens_a_parameter_of_nano(params):
    # matrices of a layer: 4 d^2 of attention and 3 x 3.5 d^2 of the MLP; what is off stands commented in params.yaml
    nano = params["recipes"]["nano"]["model"]
    of_nano = params["recipes"]["nano"]["train"]["steps"] * 32 * 64 / (6 * 14.5 * 32**2)
    for rung in (parse_rung(params, name) for name in params["ladder"]["rungs"]):
        assert rung.model.hidden_size / rung.model.layers == nano["hidden_size"] / nano["layers"]
        assert rung.model.intermediate_size == 3.5 * rung.model.hidden_size
        tokens = rung.train.steps * rung.train.batch * 64
        parameters = rung.model.layers * 14.5 * rung.model.hidden_size**2
        assert tokens / parameters == pytest.approx(of_nano, rel=0.01)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"ladder": None}, r"ladder: expected a mapping of names, found None"),
        ({"ladder": {"runs": {}}}, r"ladder\.rungs: missing"),
        ({"ladder": {"runs": {}, "rungs": []}}, r"ladder\.rungs: expected a mapping of names, found \[\]"),
        ({"rungs": {"Wide": {}}}, r"ladder\.rungs: expected a name of .* lower-case letters.*found 'Wide'"),
        ({"rungs": {"nano": {}}}, r"ladder\.rungs: expected names that no size has, found 'nano'"),
        ({"rungs": {"wide": 3}}, r"ladder\.rungs\.wide: expected a mapping of sections, found 3"),
        ({"rungs": {"wide": {"data": {}}}}, r"ladder\.rungs\.wide\.data: unknown key"),
        ({"rungs": {"wide": {"model": None}}}, r"ladder\.rungs\.wide\.model: expected a mapping of keys, found None"),
        ({"rungs": {"wide": {"model": {"layers": 0}}}}, r"ladder\.rungs\.wide\.model\.layers: expected from 1"),
        ({"rungs": {"wide": {"train": {"step": 1}}}}, r"ladder\.rungs\.wide\.train\.step: unknown key"),
        (
            {"rungs": {"wide": {"optimizer": {"warmup": 5000}}}},
            r"ladder\.rungs\.wide\.optimizer\.warmup: expected fewer",
        ),
        ({"runs": {"one": {"residual": "sandwich"}}}, r"ladder\.runs\.one\.readouts: missing"),
        ({"rungs": {"base": {}}, "runs": {"line": {"residual": "sandwich", "readouts": "none", "seed": 0}}}, "twice"),
    ],
)
def test_what_is_wrong_is_named(params, change, message):
    params["runs"]["base_line"] = params["runs"]["baseline"]
    if "ladder" in change:
        params.update(change)
    else:
        params["ladder"].update(change)
    with pytest.raises(UserError, match=message):
        check_params(params)


@pytest.mark.parametrize(("rung", "run"), [("width_17", "plain"), ("width_16", "plane")])
def test_unknown_names_are_named(params, rung, run):
    with pytest.raises(UserError, match="no such r"):
        parse_rung(params, rung)
        ladder_run(params, rung, run)


def test_each_run_is_planned_once(params):
    assert [run.name for run in check_ladder(params)] == list(params["ladder"]["runs"])
