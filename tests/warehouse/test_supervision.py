"""The views of every way to supervise the layers, against their definitions and the closed form of the results."""

import json
import math

import made_up_results as made_up
import pytest

from perlayer.warehouse import database


@pytest.fixture(scope="module")
def connection(supervision_dir):
    with database.connect(supervision_dir) as connection:
        yield connection


# At six layers the five weights below the last are 1 (usual); 0.2 each; 0.2 times k/3, which is k/15; as listed.
@pytest.mark.parametrize(
    "keys, weighting, total",
    [
        ({}, "uniform 1", 5.0),
        ({"weighting": {"shape": "uniform"}}, "uniform 1", 5.0),
        ({"weighting": {"shape": "uniform", "weight": 1.0}}, "uniform 1", 5.0),
        ({"weighting": {"shape": "uniform", "weight": 0.2}}, "uniform 0.2", 1.0),
        ({"weighting": {"shape": "linear", "weight": 0.2}}, "linear 0.2", sum(0.2 * 2 * k / 6 for k in range(1, 6))),
        ({"weighting": {"shape": "linear"}}, "linear 1", 5.0),
        ({"weighting": {"shape": "list", "weights": [0.1, 0, 0.25, 0, 1]}}, "list 0.1 0 0.25 0 1", 1.35),
        ({"weighting": {"shape": "single", "at": 2, "weight": 0.1}}, "0.1 at layer 2", 0.1),
        ({"weighting": {"shape": "sum", "scale": 0.5}}, "sum 0.5", None),
        ({"weighting": {"shape": "sqrt"}}, "sqrt 1", None),
        ({"weighting": {"shape": "layerskip"}}, "layerskip 0.2", None),
        # Shapes and arguments that the view does not know are spelled out.
        ({"weighting": {"shape": "few"}}, "few", None),
        ({"weighting": {"shape": "few", "few": 1}}, "few few 1", None),
        ({"weighting": {"shape": "few", "few": 2, "weight": 0.5}}, "few few 2, weight 0.5", None),
        ({"weighting": {"shape": "few", "weights": {"first": [1, 2]}}}, "few weights (first [1, 2])", None),
        ({"weighting": {"shape": "uniform", "weight": 0.5, "power": 2}}, "uniform power 2, weight 0.5", None),
    ],
)
def test_weights_are_named_and_summed(keys, weighting, total):
    runs = {"mine": {**made_up.SEPARATE, **keys}}
    runs["mine"] |= {"algorithms": json.dumps(keys, sort_keys=True)}  # as `collect` writes it
    found = made_up.in_memory([], runs, 6).execute("SELECT weighting, total FROM ways").fetchone()
    assert found == (weighting, total if total is None else pytest.approx(total))


@pytest.mark.parametrize(
    "keys, schedule",
    [
        ({}, "constant"),
        ({"schedule": {"kind": "constant"}}, "constant"),
        ({"schedule": {"kind": "off", "step": 20}}, "off 20"),
        ({"schedule": {"kind": "linear_to_zero", "steps": 38}}, "linear to zero 38"),
        ({"schedule": {"kind": "rotational", "every": 5}}, "rotational 5"),
        ({"schedule": {"kind": "gradual"}}, "gradual"),
        ({"schedule": {"kind": "threshold", "loss": 3.5}}, "threshold 3.5"),
        ({"schedule": {"kind": "mine", "step": 0.5}}, "mine step 0.5"),
        ({"schedule": {"kind": "threshold", "loss": 3.5, "once": True}}, "threshold 3.5, once true"),
    ],
)
def test_schedules_are_named(keys, schedule):
    runs = {"mine": {**made_up.SHARED, **keys}}
    assert made_up.in_memory([], runs, 6).execute("SELECT schedule FROM ways").fetchone() == (schedule,)


# Of 1200 updates: 19.32, 33.84, 36.24 and 133.2, rounded as Python rounds; and one at least.
@pytest.mark.parametrize(
    "schedule, unknown, known, ends",
    [
        ({"kind": "off", "step": 0.0161}, "off 1.61 %", "off 19", 19),
        ({"kind": "off", "step": 0.0282}, "off 2.82 %", "off 34", 34),
        ({"kind": "linear_to_zero", "steps": 0.0302}, "linear to zero 3.02 %", "linear to zero 36", 36),
        ({"kind": "linear_to_zero", "steps": 0.111}, "linear to zero 11.1 %", "linear to zero 133", 133),
        ({"kind": "off", "step": 0.0001}, "off 0.01 %", "off 1", 1),
        ({"kind": "off", "step": 20}, "off 20", "off 20", 20),
        ({"kind": "rotational", "every": 5}, "rotational 5", "rotational 5", None),
        ({"kind": "constant"}, "constant", "constant", None),
    ],
)
def test_durations_are_updates_once_the_steps_are_known(schedule, unknown, known, ends):
    with made_up.in_memory([], {"mine": {**made_up.SHARED, "schedule": schedule}}, 6) as connection:
        whole = ends if unknown == known else None
        assert connection.execute("SELECT schedule, ends FROM ways").fetchone() == (unknown, whole)
        connection.execute("UPDATE runs SET steps = 1200")
        assert connection.execute("SELECT schedule, ends FROM ways").fetchone() == (known, ends)


@pytest.mark.parametrize(
    "keys, named",
    [
        ({}, ("all below", "none", "none")),
        ({"gradient_reach": "own_layer"}, ("own layer", "none", "none")),
        ({"gradient_reach": {"reach": "own_layer"}}, ("own layer", "none", "none")),
        ({"gradient_reach": {"reach": "own_layer", "of": 2}}, ("own layer, of 2", "none", "none")),
        ({"gradient_surgery": "per_token"}, ("all below", "per token", "none")),
        ({"gradient_surgery": {"kind": "per_token"}}, ("all below", "per token", "none")),
        ({"layer_dropout": {"most": 0.1, "over_training": "constant"}}, ("all below", "none", "0.1 constant")),
        ({"layer_dropout": {"most": 0.1}}, ("all below", "none", "0.1 exponential")),
    ],
)
def test_reach_surgery_and_dropout_are_named(keys, named):
    runs = {"mine": {**made_up.SEPARATE, **keys}}
    assert made_up.in_memory([], runs, 6).execute("SELECT reach, surgery, layer_dropout FROM ways").fetchone() == named


@pytest.mark.parametrize(
    "keys, other",
    [
        ({}, ""),
        ({"weighting": made_up.FIFTH, "gradient_reach": "own_layer"}, ""),
        ({"mine": 2, "gradient_reach": "own_layer"}, "mine 2"),
        (
            {"mine": {"share_of": 0.5, "kind": "own_kind"}, "more": True},
            "mine (share of 0.5, kind own kind), more true",
        ),
    ],
)
def test_keys_that_the_view_does_not_know_are_told(keys, other):
    runs = {"mine": {**made_up.SEPARATE, **keys}}
    assert made_up.in_memory([], runs, 6).execute("SELECT other FROM ways").fetchone() == (other,)


def test_ways_are_all_runs_that_train_their_layers_to_be_read():
    runs = {
        "mine": made_up.SEPARATE,
        "watched": {**made_up.SHARED, "gradient_cosines": {"every": 10}},
        "shallow": {**made_up.SHARED, "layers": 1},
        "plain": made_up.PLAIN,
        "probes": {**made_up.PLAIN, "readouts": "probes"},
        "dropout": {**made_up.PLAIN, "layer_dropout": {"most": 0.1}},
        "else": {**made_up.SEPARATE, "multi_token": {"modules": 1}},
    }
    found = made_up.in_memory([], runs, 6).execute("SELECT run, algorithms, other FROM ways ORDER BY run").fetchall()
    further = ("else", '{"multi_token": {"modules": 1}}', "multi token (modules 1)")
    assert found == [further, ("mine", "{}", ""), ("shallow", "{}", ""), ("watched", "{}", "")]


def test_supervision_is_what_the_last_layer_pays(connection):
    found = connection.execute("SELECT * FROM supervision").df().set_index("run")
    usual = {"separate", "shared", "shared_stop_gradient"}
    assert set(found.index) == usual | made_up.SUPERVISION.keys() - {"depth_12"}
    floor = 0.005  # seeds add 0, 0.002, -0.003 and 0.001
    for run, way in found.iterrows():
        definition = made_up.SUPERVISION.get(run) or made_up.RUNS[run]
        assert json.loads(way["algorithms"]) == {
            key: value for key, value in definition.items() if key not in ("residual", "readouts", "seed", "layers")
        }
        dropout = run == "layerskip"
        assert way["measured_on"] == ("held out" if dropout else "train")
        assert way["loss"] == pytest.approx((made_up.held_out if dropout else made_up.final)(definition, way["layers"]))
        assert way["first_layer_loss"] == pytest.approx(made_up.final(definition, 1))
        if run in made_up.SUPERVISION:
            assert way["difference"] == pytest.approx(made_up.COSTS[run][0])
            assert (way["seeds"], way["noise"]) == (1, pytest.approx(floor))
        if run in usual or not way["full_depth"]:
            assert math.isnan(way["saved"]) and math.isnan(way["saved_noise"]) and math.isnan(way["removed"])
        else:
            paid = made_up.GAPS[way["readouts"]][6]  # at seed 0
            assert way["saved"] == pytest.approx(paid - way["difference"])
            assert way["saved_noise"] == pytest.approx(floor)
            assert way["removed"] == pytest.approx(1 - way["difference"] / paid)
    # The pairs of seeds 0, 1 and 2 differ by 0.06 + (0, 0.004, -0.002); their standard error is sqrt(28e-6 / 9).
    assert found.loc["separate", "difference"] == pytest.approx(0.06 + 0.002 / 3)
    assert found.loc["separate", "noise"] == pytest.approx(3 * (28e-6 / 9) ** 0.5)


def last_layers(losses):
    """Runs by name and seed, and the loss of the last of two layers."""
    kinds = {"base": made_up.PLAIN, "sep": made_up.SEPARATE, "fix": {**made_up.SEPARATE, "weighting": made_up.FIFTH}}
    runs = {f"{name}_{seed}": {**kinds[name], "seed": seed} for name, seed in losses}
    rows = [{"run": f"{name}_{seed}", "layer": 2, "value": value} for (name, seed), value in losses.items()]
    return made_up.in_memory(rows, runs)


def test_savings_are_taken_on_the_same_seeds():
    # What separate heads cost is 1 on average, but on the seed of the fix 0.4, of which it leaves 0.1.
    losses = {("base", 0): 2.0, ("base", 1): 2.2, ("sep", 0): 3.6, ("sep", 1): 2.6, ("fix", 1): 2.3}
    found = last_layers(losses).execute(
        "SELECT difference, saved, saved_noise, removed FROM supervision WHERE run = 'fix_1'"
    )
    assert found.fetchone() == pytest.approx((0.1, 0.3, 0.2, 0.75))


def test_three_seeds_are_judged_by_their_standard_error():
    losses = {(name, seed): 2.0 for name in ("base", "sep", "fix") for seed in (0, 1, 2)}
    for seed in (0, 1, 2):
        losses["sep", seed] += 0.5
        losses["fix", seed] += (0.1, 0.2, 0.3)[seed]
    found = last_layers(losses).execute(
        "SELECT seeds, noise, saved, saved_noise, removed FROM supervision WHERE run = 'fix_0'"
    )
    error = 3 * 0.1 / 3**0.5  # the standard deviation of 0.1, 0.2 and 0.3 is 0.1
    assert found.fetchone() == (3, *[pytest.approx(value) for value in (error, 0.3, error, 0.6)])


@pytest.mark.parametrize("cost", [-0.1, 0.0, 0.15, 0.2])
def test_no_share_is_removed_of_a_cost_within_the_noise(cost):
    losses = {("base", 0): 2.0, ("base", 1): 2.2, ("sep", 0): 2.0 + cost, ("fix", 0): 2.0}
    found = last_layers(losses).execute("SELECT saved, removed FROM supervision WHERE run = 'fix_0'").fetchone()
    assert found == (pytest.approx(cost), None)


def test_runs_that_drop_layers_are_judged_by_held_out_loss():
    kinds = {"base": made_up.PLAIN, "usual": made_up.SHARED, "skip": {**made_up.SHARED, "layer_dropout": {"most": 0.1}}}
    train = {("base", 0): 2.0, ("base", 1): 2.1, ("usual", 0): 2.6, ("skip", 0): 3.0}
    held_out = {("base", 0): 2.5, ("base", 1): 2.7, ("usual", 0): 3.5, ("skip", 0): 2.75}
    runs = {f"{name}_{seed}": {**kinds[name], "seed": seed} for name, seed in train}
    rows = [
        {"run": f"{name}_{seed}", "layer": 2, "value": value, "split": split}
        for split, losses in (("train", train), ("val", held_out))
        for (name, seed), value in losses.items()
    ]
    found = made_up.in_memory(rows, runs).execute(
        "SELECT run, measured_on, loss, difference, noise, saved, saved_noise, removed FROM supervision ORDER BY run"
    )
    # 2.75 - 2.5 against 2.7 - 2.5; 3.5 - 2.75 of 3.5 - 2.5; and 2.6 - 2.0 against 2.1 - 2.0.
    expected = [("held out", 2.75, 0.25, 0.2, 0.75, 0.2, 0.75), ("train", 2.6, 0.6, 0.1, None, None, None)]
    for (run, *numbers), mine, name in zip(found.fetchall(), expected, ("skip_0", "usual_0"), strict=True):
        assert run == name and numbers == [mine[0], *(value and pytest.approx(value) for value in mine[1:])]


def test_without_a_baseline_there_is_a_loss_and_no_difference():
    found = last_layers({("sep", 0): 2.5, ("fix", 0): 2.25}).execute(
        "SELECT run, loss, difference, saved FROM supervision"
    )
    assert sorted(found.fetchall()) == [("fix_0", 2.25, None, None), ("sep_0", 2.5, None, None)]


EMPTY = (*made_up.OF_LATER_TOKENS, *made_up.OF_GROWTH, *made_up.OF_PROMPTS)


def test_other_ways_and_depths_leave_what_is_said_of_the_usual_runs(connection, warehouse_dir):
    """Nor do runs that look on at gradients count as anything else."""
    with database.connect(warehouse_dir) as alone:
        for name in ("runs", *database.VIEWS):
            # empty in one of them, or a regression that rightly reads models of further depths
            if name in ("gradient_cosines", "design_spread", *EMPTY):
                continue
            columns = {column[0] for column in alone.execute(f"FROM {name} LIMIT 0").description}
            where = "run NOT IN (SELECT unnest($more))" if "run" in columns else "$more IS NOT NULL"
            query = f"FROM {name} WHERE {where} ORDER BY ALL"
            rows = alone.execute(query, {"more": list(made_up.SUPERVISION)}).fetchall()
            assert rows and connection.execute(query, {"more": list(made_up.SUPERVISION)}).fetchall() == rows, name


def test_deeper_models_are_ordinary_models_of_another_depth(connection):
    depths = connection.execute(
        "SELECT layers, run FROM ordinary WHERE residual = 'sandwich' ORDER BY layers"
    ).fetchall()
    assert depths == [*((depth, f"depth_{depth}") for depth in range(1, 6)), (6, "baseline"), (12, "depth_12")]
    pairs = dict(connection.execute("SELECT run, baseline FROM paired WHERE run LIKE 'separate_depth_%'").fetchall())
    assert pairs == {f"separate_depth_{depth}": f"depth_{depth}" for depth in (2, 4, 12)}


def test_headline_of_other_ways(supervision_dir, warehouse_dir):
    found, alone = (
        json.loads((folder.parent / "headline.json").read_text()) for folder in (supervision_dir, warehouse_dir)
    )
    names = {f"separate_depth_{depth}": f"separate_{depth}_layers" for depth in (2, 4, 12)}
    costs = {names.get(run, run): cost for run, (cost, _) in made_up.COSTS.items() if run != "depth_12"}
    assert found.pop("supervision") == pytest.approx(costs, abs=1e-6)
    # Each of three measurements is 0.01 more than the one before.
    assert found.pop("gradients") == pytest.approx({"baseline": 0.11, "separate": 0.86, "shared": 0.81}, abs=1e-6)
    assert found == alone
