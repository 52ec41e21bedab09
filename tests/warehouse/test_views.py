"""Every view against a plain reference in pandas or the closed form that the results were made from."""

import statistics
import time

import duckdb
import made_up_results as made_up
import pandas as pd
import pytest

from perlayer.warehouse import database


@pytest.fixture(scope="module")
def connection(warehouse_dir):
    with database.connect(warehouse_dir) as connection:
        yield connection


@pytest.fixture(scope="module")
def losses():
    rows = pd.concat([made_up.layer_metrics(run, definition) for run, definition in made_up.RUNS.items()])
    return rows[(rows["metric"] == "loss") & (rows["split"] == "train")]


def test_final_loss_is_the_mean_of_the_last_50_steps(connection, losses):
    expected = losses[losses["step"] > made_up.STEPS - 50].groupby(["run", "layer", "readout"])["value"].mean()
    found = connection.execute("SELECT * FROM final_loss").df().set_index(["run", "layer", "readout"])["loss"]
    assert len(found) == len(expected)
    pd.testing.assert_series_equal(found.sort_index(), expected.sort_index(), check_names=False, check_index_type=False)


def test_final_loss_takes_training_losses_of_the_next_token_alone():
    right = {"run": "a", "layer": 2, "value": 1.0}
    wrong = [
        {"split": "val"},
        {"ahead": 2},
        {"readout": "logit_lens"},
        {"readout": "multi_token"},
        {"metric": "parameters"},
        {"other_layer": 1},
    ]
    connection = made_up.in_memory([right] + [{**right, "value": 100.0, **change} for change in wrong], {})
    assert connection.execute("FROM final_loss").fetchall() == [("a", 2, "head", 1.0)]
    assert connection.execute("SELECT run, layer, readout, loss FROM curves").fetchall() == [("a", 2, "head", 1.0)]


def test_a_run_shorter_than_50_steps_is_averaged_whole():
    rows = [{"run": "a", "layer": 1, "step": step, "value": float(step)} for step in (1, 2, 3)]
    assert made_up.in_memory(rows, {}).execute("SELECT loss FROM final_loss").fetchone() == (2.0,)


def test_curves_carry_six_n_d(connection, losses):
    found = connection.execute("SELECT * FROM curves").df()
    assert len(found) == len(losses)
    assert (found["tokens"] == made_up.TOKENS * found["step"]).all()
    assert (found["backbone_flops"] == 6.0 * made_up.PARAMETERS * found["layer"] * found["tokens"]).all()
    keys = ["run", "layer", "step"]
    both = found.merge(losses[[*keys, "value"]], on=keys)
    assert len(both) == len(losses) and (both["loss"] == both["value"]).all()


def test_backbone_compute_of_the_largest_size_does_not_overflow():
    rows = [{"run": "a", "layer": 1, "value": 1.0}, {"run": "a", "layer": 1, "metric": "parameters", "value": 1e9}]
    connection = made_up.in_memory(rows, {})
    connection.execute("UPDATE layer_metrics SET tokens = 24000000000")
    assert connection.execute("SELECT backbone_flops FROM curves").fetchone() == (6 * 1e9 * 24e9,)


def test_ordinary_models_by_depth(connection):
    found = connection.execute("SELECT residual, layers, run, loss FROM ordinary ORDER BY layers").fetchall()
    names = [f"depth_{k}" for k in range(1, made_up.LAYERS)] + ["baseline"]
    assert [row[:3] for row in found] == [("sandwich", k, name) for k, name in enumerate(names, 1)]
    assert [row[3] for row in found] == pytest.approx(list(made_up.ORDINARY.values()))


def test_gap_to_an_ordinary_model_of_the_depth(connection):
    found = {
        row[:2]: row[2:]
        for row in connection.execute("SELECT run, layer, loss, ordinary_loss, gap FROM gap").fetchall()
    }
    expected = {}
    for run, definition in made_up.RUNS.items():
        for layer in range(1, made_up.LAYERS + 1):
            if definition["readouts"] != "none":
                loss = made_up.final(definition, layer)
                expected[run, layer] = (loss, made_up.ORDINARY[layer], loss - made_up.ORDINARY[layer])
    assert found.keys() == expected.keys()
    for key, values in expected.items():
        assert found[key] == pytest.approx(values), key


def test_noise_floor_counts_every_plain_backbone_once(connection):
    found = connection.execute("SELECT layer, readout, runs, spread, std FROM noise_floor ORDER BY layer").fetchall()
    assert [row[:3] for row in found] == [(k, "probe", 4) for k in range(1, 6)] + [(6, "head", 4)]
    for layer, _, _, spread, std in found:
        # baseline and probes share seed 0; seeds add SEEDS, and 0.01 a seed to what probes read below the last layer.
        values = [made_up.SEEDS[seed] + (0.01 * seed if layer < made_up.LAYERS else 0) for seed in range(4)]
        assert spread == pytest.approx(max(values) - min(values))
        assert std == pytest.approx(statistics.stdev(values))


def test_no_noise_floor_from_one_backbone():
    runs = {
        "baseline": {"residual": "sandwich", "readouts": "none", "seed": 0},
        "probes": {"residual": "sandwich", "readouts": "probes", "seed": 0},
        "separate": {"residual": "sandwich", "readouts": "separate", "seed": 0},
        "separate_1": {"residual": "sandwich", "readouts": "separate", "seed": 1},
    }
    rows = [{"run": run, "layer": 2, "value": value} for run, value in zip(runs, (1.0, 1.0, 2.0, 2.5))]
    connection = made_up.in_memory(rows, runs)
    assert connection.execute("FROM noise_floor").fetchall() == []
    assert connection.execute("SELECT run, runs, spread FROM seed_spread").fetchall() == [("separate", 2, 0.5)]


def test_paired_differences_and_their_standard_error(connection):
    found = {row[0]: row[1:] for row in connection.execute("FROM paired").fetchall()}
    assert {run: row[:4] for run, row in found.items()} == {
        "probes": ("baseline", 6, "head", 1),
        "separate": ("baseline", 6, "head", 3),
        "shared": ("baseline", 6, "head", 3),
        "shared_stop_gradient": ("baseline", 6, "head", 1),
    }
    for setup in ("separate", "shared"):
        pairs = [made_up.GAPS[setup][6] + made_up.SETUP_SEEDS.get((setup, seed), 0.0) for seed in (0, 1, 2)]
        difference, error = found[setup][4:]
        assert difference == pytest.approx(statistics.mean(pairs))
        assert error == pytest.approx(statistics.stdev(pairs) / 3**0.5)
    assert found["probes"][4:] == (0.0, None)
    assert found["shared_stop_gradient"][4:] == (pytest.approx(0.12), None)


def test_paired_compares_the_same_design_depth_seed_and_readout():
    plain = {"residual": "sandwich", "readouts": "none", "seed": 0}
    runs = {
        "baseline": plain,
        "probes": {**plain, "readouts": "probes"},
        "shallow": {**plain, "layers": 1},
        "pre_ln": {**plain, "residual": "pre_ln"},
        "deep_probes": {**plain, "readouts": "probes", "layers": 3},
        "weighted": {**plain, "readouts": "probes", "algorithms": '{"weighting":"linear"}'},
        "other_seed": {**plain, "readouts": "probes", "algorithms": '{"weighting":"linear"}', "seed": 7},
        "pre_ln_separate": {**plain, "residual": "pre_ln", "readouts": "separate"},
        "shallow_shared": {**plain, "readouts": "shared", "layers": 1},
    }
    head = {"baseline": 1.0, "probes": 1.0, "pre_ln": 3.0, "weighted": 1.25, "other_seed": 9.0, "pre_ln_separate": 3.5}
    probe = {"probes": 2.0, "deep_probes": 8.0, "weighted": 2.75, "other_seed": 9.0}
    rows = [{"run": run, "layer": 2, "value": value} for run, value in head.items()]
    rows += [{"run": run, "layer": 1, "readout": "probe", "value": value} for run, value in probe.items()]
    rows += [{"run": "shallow", "layer": 1, "value": 5.0}, {"run": "shallow_shared", "layer": 1, "value": 5.125}]
    rows += [{"run": "pre_ln_separate", "layer": 1, "readout": "separate", "value": 4.0}]
    found = (
        made_up.in_memory(rows, runs)
        .execute("SELECT run, baseline, layer, readout, difference FROM paired ORDER BY ALL")
        .fetchall()
    )
    assert found == [
        ("pre_ln_separate", "pre_ln", 2, "head", 0.5),
        ("probes", "baseline", 2, "head", 0.0),
        ("shallow_shared", "shallow", 1, "head", 0.125),
        ("weighted", "baseline", 2, "head", 0.25),
        ("weighted", "probes", 1, "probe", 0.75),
    ]


def test_ordinary_models_keep_to_their_design():
    plain = {"residual": "sandwich", "readouts": "none", "seed": 0}
    runs = {
        "baseline": plain,
        "shallow": {**plain, "layers": 1},
        "shallow_seed_1": {**plain, "layers": 1, "seed": 1},
        "pre_ln_probes": {"residual": "pre_ln", "readouts": "probes", "seed": 4},
        "weighted": {**plain, "layers": 1, "algorithms": '{"weighting":"linear"}'},
    }
    rows = [{"run": run, "layer": definition.get("layers", 2), "value": 1.0} for run, definition in runs.items()]
    found = made_up.in_memory(rows, runs).execute("SELECT residual, layers, run FROM ordinary ORDER BY ALL").fetchall()
    assert found == [("pre_ln", 2, "pre_ln_probes"), ("sandwich", 1, "shallow"), ("sandwich", 2, "baseline")]


def test_a_million_rows_answer_in_seconds(tmp_path):
    folder = tmp_path / "warehouse"
    folder.mkdir()
    with duckdb.connect() as connection:
        connection.execute(f"COPY (SELECT * FROM ({million_rows(1)})) TO '{folder}/layer_metrics.parquet'")
        connection.execute(database.sql("tables"))
        connection.execute(f"COPY runs TO '{folder}/runs.parquet'")
    start = time.perf_counter()
    with database.connect(folder) as connection:
        found = connection.execute("SELECT run, layer, loss FROM final_loss ORDER BY ALL").fetchall()
    assert time.perf_counter() - start < 10
    # value is the step: the mean of steps 4951 to 5000
    assert len(found) == 200 and {row[2] for row in found} == {4975.5}


def million_rows(millions):
    """SQL of layer_metrics: 20 runs for each million, ten layers, 5000 steps."""
    return f"""SELECT 'run_' || (i // 50000) AS run, 'nano' AS size, i % 5000 + 1 AS step, 0 AS tokens,
        (i // 5000) % 10 + 1 AS layer, NULL::SMALLINT AS other_layer, 'separate' AS readout, 1 AS ahead,
        'train' AS split, 'loss' AS metric, (i % 5000 + 1)::DOUBLE AS value FROM range({millions} * 1000000) AS t(i)"""
