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


def test_ways_are_all_runs_that_train_their_layers_to_be_read():
    runs = {
        "mine": made_up.SEPARATE,
        "watched": {**made_up.SHARED, "gradient_cosines": {"every": 10}},
        "shallow": {**made_up.SHARED, "layers": 1},
        "plain": made_up.PLAIN,
        "probes": {**made_up.PLAIN, "readouts": "probes"},
        "dropout": {**made_up.PLAIN, "layer_dropout": {"most": 0.1}},
        "growing": {**made_up.SEPARATE, "growth": {"protocol": "six_stages"}, "steps": 0.5},
        "else": {**made_up.SEPARATE, "multi_token_prediction": {}, "value_residual": "identity"},
    }
    found = made_up.in_memory([], runs, 6).execute("SELECT run, changes, other FROM ways ORDER BY run").fetchall()
    assert found == [
        (
            "else",
            "multi_token_prediction, value_residual",
            "value residual identity, multi-token prediction (sequential, depth 1, weight 0.3)",
        ),
        ("growing", "growth, steps", "growth (six stages), steps 0.5"),
        ("mine", "", ""),
        ("shallow", "", ""),
        ("watched", "", ""),
    ]


def test_supervision_is_what_the_last_layer_pays(connection):
    found = connection.execute("SELECT * FROM supervision").df().set_index("run")
    usual = {"separate", "shared", "shared_stop_gradient"}
    assert set(found.index) == usual | made_up.SUPERVISION.keys() - {"depth_12"}
    floor = 0.005  # seeds add 0, 0.002, -0.003 and 0.001
    for run, way in found.iterrows():
        definition = made_up.SUPERVISION.get(run) or made_up.RUNS[run]
        assert way["changes"] == ", ".join(sorted(definition.keys() - {"residual", "readouts", "seed", "layers"}))
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
            if name in ("gradient_cosines", "design_spread", "depth_regression", *EMPTY):
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
