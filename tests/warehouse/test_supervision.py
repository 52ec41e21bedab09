"""The views of every way to supervise the layers, against their definitions and the closed form of the results."""

import json

import made_up_results as made_up
import pytest

from perlayer.warehouse import database


@pytest.fixture(scope="module")
def connection(supervision_dir):
    with database.connect(supervision_dir) as connection:
        yield connection


def test_supervision_is_what_the_last_layer_pays(connection):
    found = connection.execute("SELECT * FROM supervision").df().set_index("run")
    usual = {"separate", "shared", "shared_stop_gradient"}
    assert set(found.index) == usual | made_up.SUPERVISION.keys() - {"depth_12"}
    for run, way in found.iterrows():
        definition = made_up.SUPERVISION.get(run) or made_up.RUNS[run]
        assert way["first_layer_loss"] == pytest.approx(made_up.final(definition, 1), abs=0.002)  # of seeds, the mean
        assert way["measured_on"] == ("held out" if run == "layerskip" else "train")
        if run in made_up.SUPERVISION:
            loss = (made_up.held_out if run == "layerskip" else made_up.final)(definition, way["layers"])
            assert way[["seeds", "loss", "cost"]].tolist() == pytest.approx([1, loss, made_up.COSTS[run][0]])
    # Seeds of the baseline add 0, 0.002, -0.003 and 0.001, their mean 0; those of separate heads 0, 0.006 and -0.005.
    assert found.loc["separate", ["seeds", "cost"]].tolist() == pytest.approx([3, 0.06 + 0.001 / 3])


def last_layers(losses):
    """Runs by name and seed, and the loss of the last of two layers."""
    kinds = {"base": made_up.PLAIN, "sep": made_up.SEPARATE, "watched": {**made_up.PLAIN, "readouts": "probes"}}
    runs = {f"{name}_{seed}": {**kinds[name], "seed": seed} for name, seed in losses}
    rows = [{"run": f"{name}_{seed}", "layer": 2, "value": value} for (name, seed), value in losses.items()]
    return made_up.in_memory(rows, runs)


def test_costs_are_differences_of_means_where_a_seed_counts_once():
    losses = {("base", 0): 2.0, ("watched", 0): 2.0, ("watched", 1): 2.5, ("sep", 1): 2.5, ("sep", 7): 3.0}
    with last_layers(losses) as connection:
        found = connection.execute("SELECT run, baseline, seeds, loss, baseline_loss, cost FROM costs").fetchall()
        assert found == [("sep_1", "base_0", 2, 2.75, 2.25, 0.5)]
        rows = connection.execute("SELECT * EXCLUDE (pool) FROM cost_terms ORDER BY ALL").fetchall()
    plain = [("base", 0, 2.0), ("watched", 0, 2.0), ("watched", 1, 2.5)]
    assert rows == [
        *(("sep_1", -1, "base_0", f"{name}_{seed}", loss) for name, seed, loss in plain),
        ("sep_1", 1, "sep_1", "sep_1", 2.5),
        ("sep_1", 1, "sep_1", "sep_7", 3.0),
    ]


def test_runs_that_drop_layers_are_measured_by_held_out_loss():
    kinds = {"base": made_up.PLAIN, "usual": made_up.SHARED, "skip": {**made_up.SHARED, "layer_dropout": {"most": 0.1}}}
    losses = {"train": {"base": 2.0, "usual": 2.5, "skip": 3.0}, "val": {"base": 2.25, "usual": 3.5, "skip": 2.75}}
    rows = [
        {"run": run, "layer": 2, "value": value, "split": split}
        for split, mine in losses.items()
        for run, value in mine.items()
    ]
    found = made_up.in_memory(rows, kinds).execute("SELECT run, measured_on, loss, cost FROM supervision ORDER BY run")
    assert found.fetchall() == [("skip", "held out", 2.75, 0.5), ("usual", "train", 2.5, 0.5)]


def test_without_a_baseline_there_is_a_loss_and_no_cost():
    with last_layers({("sep", 0): 2.5}) as connection:
        assert connection.execute("SELECT run, loss, cost FROM supervision").fetchall() == [("sep_0", 2.5, None)]
        assert connection.execute("SELECT coefficient, run FROM cost_terms ORDER BY 1").fetchall() == [
            (-1, None), (1, "sep_0")
        ]  # fmt: skip


EMPTY = (*made_up.OF_LATER_TOKENS, *made_up.OF_GROWTH, *made_up.OF_PROMPTS)


def test_other_ways_and_depths_leave_what_is_said_of_the_usual_runs(connection, warehouse_dir):
    """Nor do runs that look on at gradients count as anything else."""
    with database.connect(warehouse_dir) as alone:
        for name in ("runs", *database.all_views({})):
            # empty in one of them, or a regression that rightly reads models of further depths
            if name in ("gradient_cosines", "cost_terms", "depth_regression", *EMPTY):
                continue
            columns = {column[0] for column in alone.execute(f"FROM {name} LIMIT 0").description}
            where = "run NOT IN (SELECT unnest($more))" if "run" in columns else "$more IS NOT NULL"
            query = f"FROM {name} WHERE {where} ORDER BY ALL"
            rows = alone.execute(query, {"more": list(made_up.SUPERVISION)}).fetchall()
            assert rows and connection.execute(query, {"more": list(made_up.SUPERVISION)}).fetchall() == rows, name


def test_deeper_models_are_depth_matched_baselines(connection):
    depths = connection.execute(
        "SELECT layers, run FROM depth_matched WHERE residual = 'sandwich' ORDER BY layers"
    ).fetchall()
    assert depths == [*((depth, f"depth_{depth}") for depth in range(1, 6)), (6, "baseline"), (12, "depth_12")]
    pairs = dict(connection.execute("SELECT run, baseline FROM costs WHERE run LIKE 'separate_depth_%'").fetchall())
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
