"""Runs at rungs: other sizes beside the one in use."""

import copy

import pytest

from perlayer.errors import UserError
from perlayer.params import load
from perlayer.plan import check_params
from perlayer.runs import parse_recipe, parse_run


@pytest.fixture
def params():
    return copy.deepcopy(load())


def test_a_rung_is_the_recipe_in_use_but_for_what_it_says(params):
    params["rungs"] = {"wide": {"model": {"hidden_size": 64, "attention_heads": 4}, "train": {"steps": 7}}}
    rung, usual = parse_recipe(params, "wide"), params["recipes"]["nano"]
    assert (rung.size, parse_recipe(params).size) == ("nano_wide", "nano")
    assert (rung.model.hidden_size, rung.model.attention_heads, rung.train.steps) == (64, 4, 7)
    assert (rung.model.layers, rung.train.batch) == (usual["model"]["layers"], usual["train"]["batch"])
    assert rung.optimizer.learning_rate == usual["optimizer"]["learning_rate"]


def test_a_run_names_its_rung(params):
    run = parse_run(params, "width_16_multi_token_seed_1")
    assert (run.rung, run.seed, run.size("nano")) == ("width_16", 1, "nano_width_16")
    assert run.algorithms["multi_token_prediction"].weight == 0.3
    assert parse_run(params, "baseline").size("nano") == "nano"


def test_the_default_rungs_keep_the_proportions_and_the_tokens_a_parameter_of_nano(params):
    # matrices of a layer: 4 d^2 of attention and 3 x 3.5 d^2 of the MLP; what is off stands commented in params.yaml
    nano = params["recipes"]["nano"]["model"]
    of_nano = params["recipes"]["nano"]["train"]["steps"] * 32 * 64 / (6 * 14.5 * 32**2)
    for rung in (parse_recipe(params, name) for name in params["rungs"]):
        assert rung.model.hidden_size / rung.model.layers == nano["hidden_size"] / nano["layers"]
        assert rung.model.intermediate_size == 3.5 * rung.model.hidden_size
        tokens = rung.train.steps * rung.train.batch * 64
        parameters = rung.model.layers * 14.5 * rung.model.hidden_size**2
        assert tokens / parameters == pytest.approx(of_nano, rel=0.01)


@pytest.mark.parametrize(
    ("rungs", "message"),
    [
        (None, r"rungs: expected a mapping of names, found None"),
        ({"Wide": {}}, r"rungs: expected a name of .* lower-case letters.*found 'Wide'"),
        ({"nano": {}}, r"rungs: expected names that no size has, found 'nano'"),
        ({"wide": 3}, r"rungs\.wide: expected a mapping of sections, found 3"),
        ({"wide": {"data": {}}}, r"rungs\.wide\.data: unknown key"),
        ({"wide": {"model": None}}, r"rungs\.wide\.model: expected a mapping of keys, found None"),
        ({"wide": {"model": {"layers": 0}}}, r"rungs\.wide\.model\.layers: expected from 1"),
        ({"wide": {"train": {"step": 1}}}, r"rungs\.wide\.train\.step: unknown key"),
        ({"wide": {"optimizer": {"warmup": 5000}}}, r"rungs\.wide\.optimizer\.warmup: expected fewer"),
        ({}, r"runs\.width_16_plain\.rung: expected one of rungs \(there are none\), found 'width_16'"),
        ({"wide": {}}, r"runs\.width_16_plain\.rung: expected one of rungs \(wide\), found 'width_16'"),
    ],
)
def test_what_is_wrong_is_named(params, rungs, message):
    if rungs:
        rungs = {**params["rungs"], **rungs} if "wide" not in rungs or rungs["wide"] else rungs
    params["rungs"] = rungs
    with pytest.raises(UserError, match=message):
        check_params(params)
