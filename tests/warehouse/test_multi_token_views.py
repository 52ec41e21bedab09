"""The views of later tokens and of multi-token prediction, against the closed form of the results."""

import math
import statistics

import made_up_multi_token as multi
import made_up_results as made_up
import pytest

from perlayer.algorithms.multi_token_prediction.settings import Settings

PROBES, PLAIN, DEEPSEEK, GLOECKLE = multi.PROBES, multi.PLAIN, multi.DEEPSEEK, multi.GLOECKLE


@pytest.fixture(scope="module")
def connection():
    with multi.in_memory() as connection:
        yield connection


def test_future_is_the_mean_of_the_last_50_steps_of_later_tokens():
    steps = [{"run": "a", "layer": 1, "readout": "probe", "ahead": 2, "step": step} for step in range(1, 81)]
    rows = [{**row, "value": 100.0 if row["step"] <= 30 else float(row["step"])} for row in steps]
    rows += [{**row, "layer": 2, "readout": "multi_token", "ahead": 3, "value": 5.0} for row in steps]
    wrong = [{"ahead": 1}, {"split": "val"}, {"metric": "gradient_norm"}, {"other_layer": 1}, {"readout": "retrained"}]
    rows += [{**steps[-1], "value": 1000.0, "layer": 1, **change} for change in wrong]
    found = made_up.in_memory(rows, {}).execute("FROM future ORDER BY layer").fetchall()
    assert found == [("a", 1, "probe", 2, statistics.mean(range(31, 81))), ("a", 2, "multi_token", 3, 5.0)]


def test_future_of_every_run_that_reads_it(connection):
    found = connection.execute("SELECT run, layer, readout, loss FROM future WHERE ahead = 2").fetchall()
    expected = {
        (run, layer, "probe"): multi.final(keys, layer, 2)
        for run, keys in multi.RUNS.items()
        if "future_probes" in keys
        for layer in range(1, multi.LAYERS + 1)
    }
    expected |= {
        (run, multi.LAYERS, "multi_token"): multi.MODULE + multi.SEEDS[keys["seed"]]
        for run, keys in multi.RUNS.items()
        if multi.way(keys)
    }
    expected |= {
        (run, multi.RUNGS[rung], "multi_token"): multi.MODULE + multi.SEEDS[keys["seed"]]
        for run, (rung, keys) in multi.ladder(multi.RUNGS, multi.LADDER_RUNS).items()
        if multi.way(keys)
    }
    assert {row[:3]: row[3] for row in found} == {key: pytest.approx(value) for key, value in expected.items()}


def test_methods_are_named_with_what_the_settings_leave_out():
    usual = Settings()
    assert f"{usual.form}, depth {usual.depth}, weight {usual.weight:g}" == DEEPSEEK
    keys = {
        "empty": {},
        "weight": {"weight": 0.3},
        "deep": {"depth": 3, "weight": 3.0},
        "parallel": {"form": "parallel", "weight": 1},
        "silent": {"weight": 0},
    }
    runs = {name: {**PLAIN, "seed": 0, "multi_token_prediction": section} for name, section in keys.items()}
    runs["heads"] = {**multi.PLAIN, "readouts": "separate", "seed": 0, **multi.SEQUENTIAL}
    runs["mixed"] = {**PLAIN, "seed": 0, **multi.SEQUENTIAL, "value_residual": "identity"}
    runs["plain"] = {**PLAIN, "seed": 0}
    with made_up.in_memory([], runs) as connection:
        assert connection.execute("SELECT deepseek_v3()").fetchone() == (DEEPSEEK,)
        found = dict(
            connection.execute(
                """SELECT run, multi_token FROM runs
                WHERE changes = 'multi_token_prediction' AND readouts IN ('none', 'probes')"""
            ).fetchall()
        )
    assert found == {
        "empty": DEEPSEEK,
        "weight": DEEPSEEK,
        "deep": "sequential, depth 3, weight 3",
        "parallel": "parallel, depth 1, weight 1",
        "silent": "sequential, depth 1, weight 0",
    }


def test_a_seed_counts_once_in_the_pools_of_all_losses(connection):
    """Seeds 0, 1 and 2; the baseline, the probes and those with more are one seed."""
    query = 'SELECT "group", layer, readout, list(seed ORDER BY seed), any_value(pool) FROM token_losses'
    where = "WHERE size = 'nano' AND ahead = 1 AND method IS NULL GROUP BY ALL ORDER BY layer"
    found = connection.execute(f"{query} {where}").fetchall()
    query = "SELECT layer, any_value(pool) FROM losses_by_seed WHERE plain AND rung IS NULL GROUP BY ALL"
    pools = dict(connection.execute(query).fetchall())
    assert [row[:4] for row in found] == [
        ("probes" if layer < 6 else "baseline", layer, "probe" if layer < 6 else "head", [0, 1, 2])
        for layer in range(1, 7)
    ]
    assert {row[1]: row[4] for row in found} == {layer: pools[layer] for layer in range(1, 7)}


def test_layers_are_means_over_seeds_beside_plain_ones(connection):
    table = (
        connection.execute("FROM multi_token_layers WHERE rung IS NULL").df().set_index(["method", "ahead", "layer"])
    )
    assert len(table) == 2 * 2 * multi.LAYERS
    for (method, ahead, layer), row in table.iterrows():
        mine, theirs = ((0, 1) if method == DEEPSEEK else (0,)), ((0, 1, 2) if ahead == 1 else (0, 1))
        change = multi.CHANGES[method][ahead][layer - 1]
        loss = multi.LOSS[ahead][layer - 1] + change + statistics.mean(multi.SEEDS[s] + multi.PAIRS[s] for s in mine)
        plain = multi.LOSS[ahead][layer - 1] + statistics.mean(multi.SEEDS[s] for s in theirs)
        assert row["group"] == ("multi_token" if method == DEEPSEEK else "multi_token_parallel")
        assert row["readout"] == ("head" if (ahead, layer) == (1, 6) else "probe")
        assert (row["seeds"], row["plain_seeds"]) == (len(mine), len(theirs))
        assert row[["loss", "plain", "difference"]].tolist() == pytest.approx([loss, plain, loss - plain])
        module = multi.MODULE + statistics.mean(multi.SEEDS[s] for s in mine) if (ahead, layer) == (2, 6) else math.nan
        assert row["module"] == pytest.approx(module, nan_ok=True)


def test_only_plain_runs_of_the_same_size_design_and_depth_stand_beside():
    runs = {
        "plain": {**PROBES, "seed": 0},
        "shallow": {**PROBES, "layers": 1, "seed": 3},
        "weighted": {**PROBES, "seed": 4, "value_residual": "identity"},
        "heads": {**PROBES, "readouts": "separate", "seed": 5},
        "multi": {**PROBES, "seed": 6, **multi.SEQUENTIAL},
        "multi_pre_ln": {**PROBES, "residual": "pre_ln", "seed": 6, **multi.SEQUENTIAL},
        "multi_wide": {**PROBES, "rung": "wide", "seed": 6, **multi.SEQUENTIAL},
    }
    rows = [
        {"run": run, "layer": 2, "size": "wide" if "wide" in run else "nano", "value": float(number)}
        for number, run in enumerate(runs)
    ]
    with made_up.in_memory(rows, runs, rungs={"wide": {}}) as connection:
        found = connection.execute('SELECT "group", layer, difference FROM multi_token_layers').fetchall()
    assert found == [("multi", 2, 4.0)]


def test_absent_runs_are_not_read():
    with multi.in_memory() as connection:
        connection.execute("UPDATE runs SET present = false WHERE run IN ('multi_token', 'width_16_multi_token')")
        seeds = connection.execute(
            """SELECT size, seeds FROM multi_token_layers
            WHERE method = deepseek_v3() AND readout = 'head' ORDER BY ALL"""
        ).fetchall()
    assert seeds == [("nano", 1), ("width_16", 2), ("width_48", 3), ("width_64", 3)]
