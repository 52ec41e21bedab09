"""The views of later tokens and of multi-token prediction, against the closed form of the results."""

import math
import statistics

import made_up_multi_token as multi
import made_up_results as made_up
import pandas as pd
import pytest

from perlayer.algorithms.multi_token_prediction.settings import Settings
from perlayer.warehouse import database

PROBES, PLAIN, DEEPSEEK, GLOECKLE = multi.PROBES, multi.PLAIN, multi.DEEPSEEK, multi.GLOECKLE


@pytest.fixture(scope="module")
def connection(multi_token_dir):
    with database.connect(multi_token_dir) as connection:
        yield connection


def layers_of(runs, **further):
    with multi.in_memory(runs, rungs={}) as connection:
        return connection.execute("FROM multi_token_layers").df().set_index(["way", "ahead", "layer"])


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
        for run, (rung, keys) in multi.every_rung(multi.RUNGS, multi.RUNG_RUNS).items()
        if multi.way(keys)
    }
    assert {row[:3]: row[3] for row in found} == {key: pytest.approx(value) for key, value in expected.items()}


def test_spread_of_later_tokens_counts_a_seed_once():
    runs = {
        "first": {**PROBES, "seed": 0, **multi.FUTURE},
        "first_ema": {**PROBES, "seed": 0, "ema": {"half_life": 1}, **multi.FUTURE},
        "second": {**PROBES, "seed": 3, **multi.FUTURE},
        "third": {**PROBES, "seed": 4, **multi.FUTURE},
        "alone": {**PROBES, "seed": 0, **multi.SEQUENTIAL, **multi.FUTURE},
    }
    values = {"first": 2.0, "first_ema": 2.0, "second": 2.5, "third": 2.25, "alone": 9.0}
    rows = [{"run": run, "layer": 1, "readout": "probe", "ahead": 2, "value": value} for run, value in values.items()]
    found = made_up.in_memory(rows, runs).execute("FROM future_spread").fetchall()
    assert found == [("first", 1, "probe", 2, 3, 0.5, pytest.approx(0.25))]


@pytest.mark.parametrize("size", ["nano", "width_16"])
def test_plain_readings_spread_as_the_noise_floor_does(connection, size):
    found = connection.execute(
        """SELECT layer, readout, count(*), max(loss) - min(loss) FROM plain_readings WHERE size = ? AND ahead = 1
        GROUP BY ALL ORDER BY layer""",
        [size],
    ).fetchall()
    # Seeds 0, 1 and 2 add 0, 0.02 and -0.01; the baseline, two runs with probes and one with more are one seed.
    if size == "width_16":
        assert found == [(3, "head", 3, pytest.approx(0.03))]
    else:
        assert [row[:3] for row in found] == [(k, "probe", 3) for k in range(1, 6)] + [(6, "head", 3)]
        floor = connection.execute("SELECT layer, readout, spread FROM noise_floor ORDER BY layer").fetchall()
        assert [(row[0], row[1], row[3]) for row in found] == floor


def test_ways_are_named_with_what_the_settings_leave_out():
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
        found = dict(connection.execute("SELECT run, way FROM multi_token_runs").fetchall())
    assert found == {
        "empty": DEEPSEEK,
        "weight": DEEPSEEK,
        "deep": "sequential, depth 3, weight 3",
        "parallel": "parallel, depth 1, weight 1",
        "silent": "sequential, depth 1, weight 0",
    }


def test_layers_are_compared_in_pairs_of_one_seed(connection):
    table = connection.execute("FROM multi_token_layers WHERE NOT at_rung").df().set_index(["way", "ahead", "layer"])
    assert len(table) == 2 * 2 * multi.LAYERS
    for (way, ahead, layer), row in table.iterrows():
        seeds = (0, 1) if way == DEEPSEEK else (0,)
        pairs = [multi.CHANGES[way][ahead][layer - 1] + multi.PAIRS[seed] for seed in seeds]
        plain = multi.LOSS[ahead][layer - 1] + statistics.mean(multi.SEEDS[seed] for seed in seeds)
        assert row["run"] == ("multi_token" if way == DEEPSEEK else "multi_token_parallel")
        assert row["readout"] == ("head" if (ahead, layer) == (1, 6) else "probe")
        assert row["seeds"] == len(seeds) and row["plain"] == pytest.approx(plain)
        assert row["difference"] == pytest.approx(statistics.mean(pairs))
        assert row["loss"] == pytest.approx(plain + statistics.mean(pairs))
        # Three plain seeds are read for the next token, and two for the one after.
        assert (row["plain_runs"], row["floor"]) == (
            (3, pytest.approx(0.03)) if ahead == 1 else (2, pytest.approx(0.02))
        )
        assert row["noise"] == row["floor"]  # more than three standard errors: those of two pairs are 3 * 0.002
        if way == DEEPSEEK:
            assert row["standard_error"] == pytest.approx(0.002)
        else:
            assert math.isnan(row["standard_error"])
        if (ahead, layer) == (2, 6):
            assert row["module"] == pytest.approx(multi.MODULE + statistics.mean(multi.SEEDS[seed] for seed in seeds))
        else:
            assert math.isnan(row["module"])


def test_pairs_are_of_one_size_design_depth_seed_and_readout():
    runs = {
        "plain": {**PROBES, "seed": 0},
        "other_seed": {**PROBES, "seed": 1},
        "pre_ln": {**PROBES, "residual": "pre_ln", "seed": 2},
        "shallow": {**PROBES, "layers": 1, "seed": 3},
        "weighted": {**PROBES, "seed": 4, "value_residual": "identity"},
        "heads": {**PROBES, "readouts": "separate", "seed": 5},
        **{f"multi_{seed}": {**PROBES, "seed": seed, **multi.SEQUENTIAL} for seed in (0, 2, 3, 4, 5, 6)},
    }
    rows = [{"run": run, "layer": 2, "value": float(number)} for number, run in enumerate(runs)]
    rows += [{"run": "plain", "layer": 1, "readout": "probe", "value": 1.0}]
    rows += [{"run": "multi_0", "layer": 1, "readout": "separate", "value": 2.0}]
    with made_up.in_memory(rows, runs) as connection:
        found = connection.execute("SELECT run, baseline, layer, difference FROM multi_token_pairs").fetchall()
        assert found == [("multi_0", "plain", 2, 6.0)]
    runs["plain"]["rung"] = "width_16"
    with made_up.in_memory(rows, runs, rungs={"width_16": {}}) as connection:
        assert connection.execute("FROM multi_token_pairs").fetchall() == []


def test_noise_is_three_standard_errors_from_three_pairs_on():
    runs = multi.RUNS | {
        "multi_token_seed_2": {**PROBES, "seed": 2, **multi.SEQUENTIAL, **multi.FUTURE},
        "multi_token_again": {**PROBES, "seed": 2, "multi_token_prediction": {}},  # spelled otherwise: the same seed
    }
    table = layers_of(runs)
    error = statistics.stdev(multi.PAIRS.values()) / math.sqrt(3)
    row = table.loc[(DEEPSEEK, 1, 6)]
    assert (row["seeds"], row["standard_error"], row["noise"]) == (3, pytest.approx(error), pytest.approx(3 * error))
    assert table.loc[(DEEPSEEK, 2, 6), "seeds"] == 2  # no plain run of seed 2 reads the token after next


def test_two_pairs_that_disagree_are_noisier_than_the_floor(monkeypatch):
    monkeypatch.setattr(multi, "PAIRS", {0: 0.0, 1: 0.1})
    row = layers_of({run: keys for run, keys in multi.RUNS.items() if keys["seed"] < 2}).loc[(DEEPSEEK, 1, 6)]
    assert row["floor"] == pytest.approx(0.02)
    assert row["noise"] == pytest.approx(3 * statistics.stdev([0.0, 0.1]) / math.sqrt(2))  # 0.15


def test_without_seeds_the_noise_is_not_known():
    table = layers_of({run: keys for run, keys in multi.RUNS.items() if keys["seed"] == 0})
    assert (table["seeds"] == 1).all() and table["noise"].isna().all() and table["difference"].notna().all()


def test_other_depths_have_pairs_of_their_own():
    shallow = {run: {**keys, "layers": multi.LAYERS} for run, keys in multi.RUNS.items()}
    with multi.in_memory(shallow, rungs={}, depth=multi.LAYERS + 1) as connection:
        rows = connection.execute("SELECT DISTINCT full_depth FROM multi_token_layers").fetchall()
        assert rows == [(False,)]
        assert connection.execute("FROM multi_token_sizes").fetchall() == []


def test_sizes_are_one_row_each(connection):
    table = connection.execute("FROM multi_token_sizes ORDER BY backbone_parameters").df()
    assert list(table["size"][table["way"] == DEEPSEEK]) == ["width_16", "nano", "width_48", "width_64"]
    assert list(table["size"][table["way"] == GLOECKLE]) == ["nano"]
    rows = table[table["way"] == DEEPSEEK].set_index("size")
    assert rows["backbone_parameters"].to_dict() == multi.PARAMETERS and (rows["tokens"] == 10).all()
    assert rows["at_rung"].to_dict() == {size: size != "nano" for size in multi.PARAMETERS}
    error = statistics.stdev(multi.PAIRS.values()) / math.sqrt(3)
    for rung, layers in multi.RUNGS.items():
        row = rows.loc[rung]
        difference = multi.RUNG_CHANGES[rung] + statistics.mean(multi.PAIRS.values())
        assert row["plain"] == pytest.approx(multi.RUNG_LOSS[rung] + statistics.mean(multi.SEEDS.values()))
        assert row["loss"] == pytest.approx(row["plain"] + difference) and row["layers"] == layers
        assert (row["seeds"], row["difference"]) == (3, pytest.approx(difference))
        assert (row["plain_runs"], row["floor"]) == (3, pytest.approx(0.03))
        assert (row["standard_error"], row["noise"]) == (pytest.approx(error), pytest.approx(3 * error))
    nano = rows.loc["nano"]
    assert (nano["seeds"], nano["difference"], nano["noise"]) == (2, pytest.approx(0.012), pytest.approx(0.03))
    (floor,) = connection.execute("SELECT spread FROM noise_floor WHERE readout = 'head'").fetchone()
    assert nano["floor"] == pytest.approx(floor)


def test_nothing_is_compared_without_its_plain_run():
    only = {run: keys for run, keys in multi.RUNS.items() if multi.way(keys)}
    rung_runs = {run: keys for run, keys in multi.RUNG_RUNS.items() if multi.way(keys)}
    with multi.in_memory(only, rung_runs=rung_runs) as connection:
        for view in ("multi_token_pairs", "multi_token_layers", "multi_token_sizes"):
            assert connection.execute(f"FROM {view}").fetchall() == []
        assert len(connection.execute("FROM multi_token_runs").fetchall()) == 3 + 9


def test_absent_runs_are_named_and_not_read():
    with multi.in_memory() as connection:
        connection.execute("UPDATE runs SET present = false WHERE run IN ('multi_token', 'width_16_multi_token')")
        seeds = connection.execute(
            "SELECT size, seeds FROM multi_token_sizes WHERE way = deepseek_v3() ORDER BY backbone_parameters"
        ).fetchall()
        present = pd.DataFrame(connection.execute("SELECT run, present FROM multi_token_runs").fetchall())
    assert seeds == [("width_16", 2), ("nano", 1), ("width_48", 3), ("width_64", 3)]
    assert set(present[0][~present[1]]) == {"multi_token", "width_16_multi_token"}
