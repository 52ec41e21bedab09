"""The table of all runs: what params.yaml says of them, in the words by which views group and name them."""

import pytest

from perlayer.catalogue import catalogue
from perlayer.params import load

PLAIN = {"residual": "sandwich", "readouts": "none", "seed": 0}
SEPARATE = {**PLAIN, "readouts": "separate"}


def rows(runs, present=None, rungs=None):
    params = {**load(), "runs": runs, "rungs": rungs or {}}
    return {row.run: row for row in catalogue(params, runs if present is None else present)}


def test_runs_of_a_seed_group_differ_in_seed_or_what_looks_on_alone():
    found = rows(
        {
            "second": {**SEPARATE, "seed": 1},
            "first": {**SEPARATE, "gradient_cosines": {"every": 10}},
            "averaged": {**SEPARATE, "seed": 2, "ema": {"half_life": 10}},
            "named": {**SEPARATE, "seed": 3, "layers": 6},  # the depth of nano
            "shallow": {**SEPARATE, "layers": 2},
            "lighter": {**SEPARATE, "weighting": {"shape": "uniform", "weight": 0.5}},
            "shorter": {**SEPARATE, "steps": 0.5},
        }
    )
    assert {run: row.seed_group for run, row in found.items()} == {
        "averaged": "first",
        "first": "first",
        "lighter": "lighter",
        "named": "first",
        "second": "first",
        "shallow": "shallow",
        "shorter": "shorter",
    }
    assert [run for run, row in found.items() if row.ema] == ["averaged"]


def test_of_runs_of_one_seed_that_differ_in_what_looks_on_one_counts():
    runs = {"long_name": {**SEPARATE, "gradient_cosines": {"every": 10}}, "short": SEPARATE}
    assert {run: row.counts for run, row in rows(runs).items()} == {"long_name": False, "short": True}
    # where one has no results the other counts, and stands for the group
    found = rows(runs, present=["long_name"])
    assert {run: (row.counts, row.seed_group) for run, row in found.items()} == {
        "long_name": (True, "long_name"),
        "short": (False, "long_name"),
    }


def test_labels_say_what_is_not_as_usual():
    runs = {
        "probes": {"residual": "sandwich", "readouts": "probes", "seed": 3},
        "keel": {"residual": "keel", "readouts": "none", "seed": 0},
        "keel_separate": {"residual": "keel", "readouts": "separate", "seed": 0},
        "shallow": {"residual": "sandwich", "readouts": "none", "seed": 0, "layers": 1},
        "own": {"residual": "sandwich", "readouts": "shared", "seed": 0, "gradient_reach": "own_layer"},
    }
    found = {run: (row.label, row.design, row.setup) for run, row in rows(runs).items()}
    assert found == {
        "probes": ("baseline", "Sandwich-LN", "baseline"),
        "keel": ("KEEL", "KEEL", "baseline"),
        "keel_separate": ("KEEL, separate heads", "KEEL", "separate"),
        "shallow": ("baseline, 1 layer", "Sandwich-LN", "baseline"),
        "own": ("shared head, gradient reach (reach own layer)", "Sandwich-LN", "shared"),
    }


def test_the_depth_matched_baseline_is_plain_and_of_the_same_design_depth_and_rung():
    found = rows(
        {
            "probes": {**PLAIN, "readouts": "probes"},
            "baseline": PLAIN,
            "shallow": {**PLAIN, "layers": 2},
            "separate": SEPARATE,
            "separate_shallow": {**SEPARATE, "layers": 2},
            "separate_shallower": {**SEPARATE, "layers": 1},
            "at_rung": {**SEPARATE, "rung": "wide", "layers": 6},
            "plain_at_rung": {**PLAIN, "rung": "wide", "layers": 6},
            "other": {**SEPARATE, "residual": "pre_ln"},
        },
        rungs={"wide": {"model": {"layers": 3}}},
    )
    assert {run: row.baseline for run, row in found.items()} == {
        "at_rung": "plain_at_rung",
        "baseline": "baseline",
        "other": None,
        "plain_at_rung": "plain_at_rung",
        "probes": "baseline",
        "separate": "baseline",
        "separate_shallow": "shallow",
        "separate_shallower": None,
        "shallow": "shallow",
    }
    assert (found["at_rung"].size, found["at_rung"].full_depth, found["separate"].full_depth) == ("wide", False, True)


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ({}, {"changes": "", "training": "", "standard": True, "plain": False, "weighting": "uniform 1", "total": 5.0}),
        ({"readouts": "probes"}, {"standard": True, "plain": True, "weighting": None, "schedule": None}),
        ({"weighting": {"shape": "uniform", "weight": 0.2}}, {"weighting": "uniform 0.2", "total": 1.0}),
        ({"weighting": {"shape": "linear"}}, {"weighting": "linear 1", "total": 5.0}),
        (
            {"weighting": {"shape": "linear", "weight": 0.2}, "schedule": {"kind": "off", "step": 0.1}},
            # weights 0.2 * 2k/6 for k = 1 to 5 sum to one; a tenth of the 1110 updates of nano
            {"weighting": "linear 0.2", "total": pytest.approx(1.0), "schedule": "off 111", "ends": 111}
            | {"changes": "schedule, weighting", "schedule_kind": "off", "standard": False}
            | {"training": "schedule (kind off, step 0.1), weighting (shape linear, weight 0.2)"},
        ),
        (
            {"weighting": {"shape": "single", "at": 2, "weight": 0.5}, "schedule": {"kind": "rotational", "every": 5}},
            {"weighting": "single at 2, weight 0.5", "total": 0.5, "weighted_layers": 1}
            | {"schedule": "rotational 5", "ends": None},
        ),
        (
            {"weighting": {"shape": "list", "weights": [0.1, 0, 0.25, 0, 1]}},
            {"weighting": "list 0.1 0 0.25 0 1", "total": pytest.approx(1.35), "weighted_layers": 3},
        ),
        # normalised with the last layer's
        ({"weighting": {"shape": "layerskip"}}, {"weighting": "layerskip 0.2", "total": None, "weighted_layers": 4}),
        ({"weighting": {"shape": "sum", "scale": 0.5}}, {"weighting": "sum 0.5", "total": None}),
        ({"weighting": {"shape": "sqrt"}}, {"weighting": "sqrt 1", "total": None}),
        ({"schedule": {"kind": "constant"}}, {"schedule": "constant", "schedule_kind": "constant", "ends": None}),
        ({"schedule": {"kind": "off", "step": 20}}, {"schedule": "off 20", "ends": 20}),
        ({"schedule": {"kind": "off", "step": 0.0001}}, {"schedule": "off 1", "ends": 1}),
        # 0.0302 of 1110 updates are 33.5, and of half as many 16.8
        (
            {"schedule": {"kind": "linear_to_zero", "steps": 0.0302}},
            {"schedule": "linear to zero 34", "schedule_kind": "linear_to_zero", "ends": 34},
        ),
        ({"schedule": {"kind": "linear_to_zero", "steps": 0.0302}, "steps": 0.5}, {"ends": 17}),
        ({"schedule": {"kind": "gradual"}}, {"schedule": "gradual", "ends": None}),
        ({"schedule": {"kind": "threshold", "loss": 3.5}}, {"schedule": "threshold 3.5", "ends": None}),
        ({"layers": 1}, {"weighting": "uniform 1", "total": 0.0, "weighted_layers": 0}),
        ({"gradient_reach": "own_layer"}, {"reach": "own layer", "changes": "gradient_reach", "other": ""}),
        ({"gradient_reach": {"reach": "own_layer"}}, {"reach": "own layer", "surgery": "none"}),
        ({"gradient_surgery": "per_token"}, {"surgery": "per token", "reach": "all below", "layer_dropout": "none"}),
        ({"layer_dropout": {"most": 0.25}}, {"layer_dropout": "0.25 exponential"}),
        ({"layer_dropout": {"most": 0.1, "over_training": "constant"}}, {"layer_dropout": "0.1 constant"}),
        ({"multi_token_prediction": {"depth": 2}}, {"multi_token": "sequential, depth 2, weight 0.3"}),
        ({"growth": {"protocol": "six_stages", "outside": "frozen"}}, {"growth": "six stages, outside frozen"}),
        (
            {"growth": {"stages": [{"layers": [1, 2], "share": 0.3}], "excluded": [3]}},
            {"growth": "stages 1 2 (0.3), excluded 3"},
        ),
        ({"steps": 0.5, "value_residual": "learnable"}, {"other": "steps 0.5", "changes": "steps, value_residual"}),
        ({"future_probes": 2, "ema": 10}, {"changes": "", "ema": True, "other": ""}),
    ],
)
def test_what_a_run_says_stands_in_columns(keys, expected):
    (row,) = rows({"mine": {**SEPARATE, **keys}}).values()
    assert {name: getattr(row, name) for name in expected} == expected


def test_an_algorithm_without_a_column_of_its_own_stands_under_other(monkeypatch):
    from perlayer.algorithms.gradient_reach.settings import Settings

    monkeypatch.delattr(Settings, "described")
    (row,) = rows({"mine": {**SEPARATE, "gradient_reach": "own_layer"}}).values()
    assert row.other == "gradient reach (reach own layer)"
