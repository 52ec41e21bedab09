"""Every view against a plain reference in pandas or the closed form that the results were made from."""

import json
import statistics
import time

import duckdb
import made_up_results as made_up
import pandas as pd
import pytest

from perlayer.store import fresh_folder
from perlayer.warehouse import database
from perlayer.warehouse.tables import TABLES


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


def test_depth_matched_baselines_by_depth(connection):
    found = connection.execute("SELECT residual, layers, run, loss FROM depth_matched ORDER BY layers").fetchall()
    names = [f"depth_{k}" for k in range(1, made_up.LAYERS)] + ["baseline"]
    assert [row[:3] for row in found] == [("sandwich", k, name) for k, name in enumerate(names, 1)]
    assert [row[3] for row in found] == pytest.approx(list(made_up.DEPTH_MATCHED.values()))


def test_gap_to_the_depth_matched_baseline(connection):
    found = {
        row[:2]: row[2:]
        for row in connection.execute("SELECT run, layer, loss, depth_matched_loss, gap FROM gap").fetchall()
    }
    expected = {}
    for run, definition in made_up.RUNS.items():
        for layer in range(1, made_up.LAYERS + 1):
            if definition["readouts"] != "none":
                loss = made_up.final(definition, layer)
                expected[run, layer] = (loss, made_up.DEPTH_MATCHED[layer], loss - made_up.DEPTH_MATCHED[layer])
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


def test_no_spread_from_one_backbone():
    average = {"ema": {"half_life": 100}}  # of the weights: those that are trained stay as they are
    runs = {
        "baseline": {"residual": "sandwich", "readouts": "none", "seed": 0},
        "probes": {"residual": "sandwich", "readouts": "probes", "seed": 0},
        "probes_ema": {"residual": "sandwich", "readouts": "probes", "seed": 0, **average},
        "separate": {"residual": "sandwich", "readouts": "separate", "seed": 0},
        "separate_ema": {"residual": "sandwich", "readouts": "separate", "seed": 0, **average},
        "separate_1": {"residual": "sandwich", "readouts": "separate", "seed": 1},
        "shared": {"residual": "sandwich", "readouts": "shared", "seed": 0},
        "shared_ema": {"residual": "sandwich", "readouts": "shared", "seed": 0, **average},
    }
    values = (1.0, 1.0, 1.0, 2.0, 2.0, 2.5, 4.0, 4.0)
    rows = [
        {"run": run, "layer": 2, "value": value, "split": split}
        for split in ("train", "val")
        for run, value in zip(runs, values)
    ]
    connection = made_up.in_memory(rows, runs)
    assert connection.execute("FROM noise_floor").fetchall() == []


def test_costs_are_those_of_every_setup_beside_the_baseline(connection):
    found = {row[0]: row[1:] for row in connection.execute("SELECT run, baseline, seeds, cost FROM costs").fetchall()}
    assert found.keys() == {"separate", "shared", "shared_stop_gradient"}
    for setup, (baseline, seeds, cost) in found.items():
        mine = [seed for seed in made_up.SEEDS if f"{setup}_seed_{seed}" in made_up.RUNS or seed == 0]
        ends = [made_up.final({**made_up.RUNS[setup], "seed": seed}, 6) for seed in mine]
        plain = statistics.mean(made_up.DEPTH_MATCHED[6] + seed for seed in made_up.SEEDS.values())
        assert (baseline, seeds, cost) == ("baseline", len(mine), pytest.approx(statistics.mean(ends) - plain))


def test_costs_compare_the_same_design_and_depth():
    plain = {"residual": "sandwich", "readouts": "none", "seed": 0}
    runs = {
        "baseline": plain,
        "shallow": {**plain, "layers": 1},
        "pre_ln": {**plain, "residual": "pre_ln"},
        "pre_ln_separate": {**plain, "residual": "pre_ln", "readouts": "separate"},
        "shallow_shared": {**plain, "readouts": "shared", "layers": 1},
    }
    losses = {"baseline": 1.0, "shallow": 5.0, "pre_ln": 3.0, "pre_ln_separate": 3.5, "shallow_shared": 5.125}
    rows = [{"run": run, "layer": runs[run].get("layers", 2), "value": value} for run, value in losses.items()]
    found = made_up.in_memory(rows, runs).execute("SELECT run, baseline, cost FROM costs ORDER BY ALL").fetchall()
    assert found == [("pre_ln_separate", "pre_ln", 0.5), ("shallow_shared", "shallow", 0.125)]


def test_depth_matched_baselines_keep_to_their_design():
    plain = {"residual": "sandwich", "readouts": "none", "seed": 0}
    runs = {
        "baseline": plain,
        "shallow": {**plain, "layers": 1},
        "shallow_seed_1": {**plain, "layers": 1, "seed": 1},
        "pre_ln_probes": {"residual": "pre_ln", "readouts": "probes", "seed": 4},
        "dropping": {**plain, "layers": 1, "layer_dropout": {"most": 0.1}},
    }
    rows = [{"run": run, "layer": definition.get("layers", 2), "value": 1.0} for run, definition in runs.items()]
    found = (
        made_up.in_memory(rows, runs).execute("SELECT residual, layers, run FROM depth_matched ORDER BY ALL").fetchall()
    )
    assert found == [("pre_ln", 2, "pre_ln_probes"), ("sandwich", 1, "shallow"), ("sandwich", 2, "baseline")]


OF_TRAINING = [
    "final_loss", "curves", "groups", "depth_matched", "gap", "noise_floor", "costs", "setups", "held_out",
]  # fmt: skip


def test_analyses_leave_the_views_of_training_as_they_are(connection, gather):
    with database.connect(gather(made_up.RUNS)) as alone:
        for view in OF_TRAINING:
            rows = alone.execute(f"FROM {view} ORDER BY ALL").fetchall()
            assert rows and connection.execute(f"FROM {view} ORDER BY ALL").fetchall() == rows, view


WATCHED = {
    run: {**definition, "gradient_cosines": {"every": 50}} if run in ("baseline", "separate", "depth_2") else definition
    for run, definition in made_up.RUNS.items()
}


def test_gradients_leave_every_other_view_and_the_runs_as_they_are(connection, warehouse_dir, gather):
    folder = gather(WATCHED, analysed=made_up.analyses())
    with database.connect(folder) as watched:
        for table in ["runs", *database.all_views({})]:
            rows = watched.execute(f"FROM {table} ORDER BY ALL").fetchall()
            expected = connection.execute(f"FROM {table} ORDER BY ALL").fetchall()
            empty = (*made_up.OF_LATER_TOKENS, *made_up.OF_GROWTH, *made_up.OF_PROMPTS)
            assert bool(rows) != (table in empty), table
            assert rows != expected if table == "gradient_cosines" else rows == expected, table
    headlines = [json.loads((path.parent / "headline.json").read_text()) for path in (folder, warehouse_dir)]
    for headline in headlines:
        headline.pop("gradients", None)
    assert headlines[0] == headlines[1]


def test_gradient_cosines_are_one_row_a_loss_and_layer_of_the_model(gather):
    with database.connect(gather(WATCHED)) as watched:
        rows = watched.execute("FROM gradient_cosines").fetchall()
    found = {(run, step, layer, other): values for run, step, tokens, layer, other, *values in rows}
    assert {row[2] / row[1] for row in rows} == {made_up.TOKENS} and len(found) == len(rows)
    expected = {}
    for run, depth, readout in (
        ("baseline", 6, "counterfactual"),
        ("separate", 6, "separate"),
        ("depth_2", 2, "counterfactual"),
    ):
        for step in (1, 51, 101):
            for layer in range(1, depth):
                for other in (None, *range(1, layer + 1)):
                    cosine = pytest.approx(layer / depth - 0.01 * (other or 0))
                    expected[run, step, layer, other] = [cosine, layer, None, None, readout]
            for other in (None, *range(1, depth + 1)):
                cosine = made_up.SUMMED["separate" if run == "separate" else "none"] + 0.01 * (step // 50)
                summed = [pytest.approx(cosine), 7.0] if other is None else [None, None]
                expected[run, step, depth, other] = [None, depth, *summed, "head"]
    assert found == expected


def test_setups_are_the_runs_that_only_their_readouts_set_apart(connection):
    found = {row[0]: row[1:] for row in connection.execute("SELECT run, setup, representative FROM setups").fetchall()}
    expected = {
        run: ("baseline" if definition["readouts"] == "none" else definition["readouts"], run.split("_seed")[0])
        for run, definition in made_up.RUNS.items()
        if "layers" not in definition
    }
    assert found == expected | {"probes_ema": ("probes", "probes")}


def test_held_out_is_the_validation_loss_at_the_end_of_training(connection):
    found = {
        row[:2]: row[2:] for row in connection.execute("SELECT run, layer, loss, readout FROM held_out").fetchall()
    }
    expected = {}
    for run, definition in made_up.RUNS.items():
        depth, setup = definition.get("layers", made_up.LAYERS), definition["readouts"]
        for layer in [depth] if setup == "none" else range(1, depth + 1):
            readout = "head" if layer == depth else made_up.READOUT.get(setup, setup)
            expected[run, layer] = (pytest.approx(made_up.held_out(definition, layer)), readout)
    assert found == expected


def test_held_out_takes_the_last_validation_loss_of_the_next_token_alone():
    right = {"run": "a", "layer": 2, "split": "val", "step": 9, "value": 1.0}
    wrong = [
        {"split": "train"},
        {"ahead": 2},
        {"readout": "logit_lens"},
        {"readout": "retrained"},
        {"metric": "ema_loss"},
        {"other_layer": 1},
        {"step": 8},
    ]
    connection = made_up.in_memory([right] + [{**right, "value": 100.0, "step": 10, **change} for change in wrong], {})
    assert connection.execute("FROM held_out").fetchall() == [("a", 2, "head", 1.0)]


def test_retraining_is_before_and_after(connection):
    found = {row[:2]: row[2:] for row in connection.execute("FROM retraining").fetchall()}
    assert found.keys() == {(run, layer) for run in made_up.RETRAINED for layer in range(1, made_up.LAYERS + 1)}
    for (run, layer), (readout, before, after, change, error, tokens) in found.items():
        assert readout == ("head" if layer == made_up.LAYERS else made_up.READOUT.get(run, run))
        assert before == pytest.approx(made_up.held_out(made_up.RUNS[run], layer))
        assert change == made_up.CHANGES[run][layer] and after - before == pytest.approx(change)
        assert (error, tokens) == (made_up.CHANGE_ERROR, made_up.RETRAINING_STEPS * made_up.TOKENS)


def test_retrained_gap_sets_probes_beside_separate_heads(connection):
    table = connection.execute("FROM retrained_gap ORDER BY layer").df().set_index("layer")
    assert list(table.index) == [1, 2, 3, 4, 5, 6]
    for layer, row in table.iterrows():
        for setup in made_up.RETRAINED:
            before, change = made_up.held_out(made_up.RUNS[setup], layer), made_up.CHANGES[setup][layer]
            found = [row[f"{setup}_{name}"] for name in ("before", "after", "change")]
            assert found == pytest.approx([before, before + change, change])


def test_retrained_gap_keeps_to_the_design_and_shows_one_side_alone():
    plain = {"residual": "sandwich", "readouts": "probes", "seed": 0}
    runs = {
        "probes": plain,
        "probes_seed_1": {**plain, "seed": 1},
        "separate": {**plain, "readouts": "separate"},
        "pre_ln": {**plain, "residual": "pre_ln", "readouts": "separate"},
        "weighted": {**plain, "readouts": "separate", "weighting": {"shape": "linear", "weight": 0.2}},
        "shallow": {**plain, "readouts": "separate", "layers": 1},
    }
    rows = [
        {"run": run, "layer": 1, "readout": "retrained", "split": "val", "step": step, "metric": metric, "value": value}
        for run in ("probes_seed_1", "pre_ln", "weighted", "shallow")
        for step, metric, value in ((0, "loss", 3.0), (5, "loss", 2.5), (5, "change", -0.5))
    ]
    query = "SELECT probes_before, probes_after, probes_change, separate_after FROM retrained_gap"
    assert made_up.in_memory(rows, runs).execute(query).fetchall() == [(3.0, 2.5, -0.5, None)]


def test_lenses_are_one_row_a_layer(connection):
    table = connection.execute("FROM lenses").df().set_index(["run", "readout", "layer"])
    rows = pd.concat([table for (stage, _), table in made_up.analyses().items() if "lens" in stage])
    rows = rows[rows["split"] == "val"]
    assert len(table) == len(rows[["run", "readout", "layer"]].drop_duplicates())
    for metric, part in rows.groupby("metric"):
        expected = part.set_index(["run", "readout", "layer"])
        pd.testing.assert_series_equal(
            table[metric].sort_index(), expected["value"].sort_index(), check_names=False, check_index_type=False
        )
        assert (table["step"].sort_index() == expected["step"].sort_index()).all()
    assert set(table.columns) == {"size", "step", "tokens", *rows["metric"]}
    assert table.loc[("deep_model", "tuned_lens", 3), ["size", "step"]].tolist() == ["published", made_up.CHECKPOINT]


def test_by_readout_sets_them_side_by_side(connection):
    columns = "size, trained, retrained, logit_lens, tuned_lens"
    found = {row[:2]: row[2:] for row in connection.execute(f"SELECT run, layer, {columns} FROM by_readout").fetchall()}
    layers = sum(definition.get("layers", made_up.LAYERS) + 1 for definition in made_up.RUNS.values())
    assert len(found) == layers + sum(depth + 1 for depth in made_up.PUBLISHED.values())
    separate = made_up.RUNS["separate"]
    trained, last = made_up.held_out(separate, 2), made_up.held_out(separate, 6)
    above = made_up.EXCESS[2] / 2
    expected = [trained, trained + made_up.CHANGES["separate"][2], last + above, last + above / 2]
    assert found["separate", 2] == ("nano", *[pytest.approx(value) for value in expected])
    assert found["depth_3", 1] == ("nano", None, None, pytest.approx(3.06 + 2.4), None)
    assert found["deep_model", 0] == ("published", None, None, pytest.approx(6.0), pytest.approx(4.0))


def test_a_million_rows_answer_in_seconds(tmp_path):
    with duckdb.connect() as connection, fresh_folder(tmp_path / "warehouse") as folder:
        connection.execute(f"COPY (SELECT * FROM ({million_rows(1)})) TO '{folder}/layer_metrics.parquet'")
        database.create(connection)
        for table in set(TABLES) - {"layer_metrics"}:
            connection.execute(f"COPY {table} TO '{folder}/{table}.parquet'")
    start = time.perf_counter()
    with database.connect(tmp_path / "warehouse") as connection:
        found = connection.execute("SELECT run, layer, loss FROM final_loss ORDER BY ALL").fetchall()
    assert time.perf_counter() - start < 10
    # value is the step: the mean of steps 4951 to 5000
    assert len(found) == 200 and {row[2] for row in found} == {4975.5}


def million_rows(millions):
    """SQL of layer_metrics: 20 runs for each million, ten layers, 5000 steps."""
    return f"""SELECT 'run_' || (i // 50000) AS run, 'nano' AS size, i % 5000 + 1 AS step, 0 AS tokens,
        (i // 5000) % 10 + 1 AS layer, NULL::SMALLINT AS other_layer, 'separate' AS readout, 1 AS ahead,
        'train' AS split, 'loss' AS metric, (i % 5000 + 1)::DOUBLE AS value FROM range({millions} * 1000000) AS t(i)"""


def test_routing_is_a_row_a_sublayer_and_stream_or_source(connection):
    table = connection.execute("FROM routing").df().set_index(["run", "place", "other_layer"]).sort_index()
    row = table.loc["separate", 3, 2]
    assert (row["layer"], row["sublayer"]) == (2, "mlp")
    assert (row["read"], row["write"]) == (pytest.approx(0.23), pytest.approx(0.9))
    assert pd.isna(row["forward_gain"]) and pd.isna(row["source_weight"])
    of_none = "FROM routing WHERE run = 'separate' AND place = 3 AND other_layer IS NULL"
    product = connection.execute(of_none).df().iloc[0]
    columns = ["forward_gain", "greatest_forward_gain", "backward_gain", "greatest_backward_gain", "least_column_sum"]
    assert product[columns].tolist() == pytest.approx([1.3, 2.6, 1.6, 3.2, 0.94])
    head = connection.execute("FROM routing WHERE run = 'shared' AND sublayer = 'head' ORDER BY other_layer").df()
    assert set(head["place"]) == {2 * made_up.LAYERS} and head["source_weight"].sum() == pytest.approx(1)
    weights = head.dropna(subset="other_layer")["source_weight"]
    assert weights.tolist() == pytest.approx([(source + 1) / 91 for source in range(13)])
    assert head["source_entropy"].count() == 1
