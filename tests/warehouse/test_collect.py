import json
import shutil
from pathlib import Path

import duckdb
import made_up_results as made_up
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

from perlayer.errors import UserError
from perlayer.tables import columns_of, schema_of
from perlayer.warehouse.collect import collect, set_aside
from perlayer.warehouse.tables import TABLES

SOME = {run: made_up.RUNS[run] for run in ("baseline", "probes", "separate")}


def read(warehouse_dir, table, order="ALL"):
    return duckdb.sql(f"SELECT * FROM read_parquet('{warehouse_dir}/{table}.parquet') ORDER BY {order}").df()


def test_runs_say_what_params_say_and_how_the_runs_ended(warehouse_dir):
    runs = read(warehouse_dir, "runs").set_index("run")
    assert list(runs.index) == sorted(made_up.RUNS)
    for name, definition in made_up.RUNS.items():
        run, depth = runs.loc[name], definition.get("layers", made_up.LAYERS)
        assert (run["residual"], run["readouts"]) == (definition["residual"], definition["readouts"])
        assert (run["seed"], run["layers"], run["full_depth"]) == (definition["seed"], depth, depth == made_up.LAYERS)
        assert run["ema"] == ("ema" in definition) and run["present"] and run["standard"]
        assert (run["steps"], run["tokens"]) == (made_up.STEPS, made_up.STEPS * made_up.TOKENS)
        assert run["backbone_parameters"] == made_up.PARAMETERS * depth
        # The losses wave around their end by 0.01 with alternating signs, + at even steps.
        last = made_up.final(definition, depth) + 0.01
        assert run["final_loss"] == pytest.approx(last - 0.01)
        assert run["val_loss"] == pytest.approx(last + 0.1)
        assert run["val_bits_per_byte"] == pytest.approx(last / 3)
        assert pd.isna(run["ema_loss"]) if "ema" not in definition else run["ema_loss"] == pytest.approx(last + 0.05)


def test_every_row_arrives(warehouse_dir):
    runs = [made_up.layer_metrics(run, definition) for run, definition in made_up.RUNS.items()]
    read_by_lenses_or_heads = [table for table in made_up.analyses().values() if not isinstance(table, dict)]
    rows = pd.concat([*runs, *read_by_lenses_or_heads])
    columns = list(rows.columns)
    expected = rows.sort_values(columns).reset_index(drop=True).astype({"other_layer": "float64"})
    found = read(warehouse_dir, "layer_metrics").sort_values(columns).reset_index(drop=True)
    pd.testing.assert_frame_equal(found.astype({"other_layer": "float64"}), expected, check_dtype=False)


def test_every_row_of_dissections_arrives_in_its_table(warehouse_dir):
    tables = made_up.together(*(tables for tables in made_up.analyses().values() if isinstance(tables, dict)))
    for name, rows in tables.items():
        kind = TABLES[name]
        order = [(column.name, "ascending") for column in columns_of(kind) if not column.measured]
        expected = pa.Table.from_pandas(rows, schema_of(kind), preserve_index=False)
        assert parquet.read_table(warehouse_dir / f"{name}.parquet").sort_by(order).equals(expected.sort_by(order)), (
            name
        )


def test_pairs_say_which_runs_they_are_of(warehouse_dir, gather):
    found = read(warehouse_dir, "pairs").values.tolist()
    assert found == [[pair, *made_up.PAIRS[pair][:2]] for pair in sorted(made_up.PAIRS)]
    assert read(gather({}, {"baseline": made_up.RUNS["baseline"]}), "pairs").empty


def test_dissections_at_another_size_are_absent(tmp_path):
    made_up.write(tmp_path, SOME)
    made_up.write_analyses(tmp_path, {("routing", "separate"): made_up.routing("separate")}, "smoke")
    absent = collect(made_up.params(SOME), tmp_path, tmp_path / "warehouse")
    assert absent.analyses["routing"] == ["separate"]
    assert read(tmp_path / "warehouse", "routing").empty  # a table all the same


def test_absent_runs_are_named_and_no_error(tmp_path):
    some = {run: made_up.RUNS[run] for run in ("baseline", "probes", "separate")}
    made_up.write(tmp_path, {"baseline": some["baseline"]})
    made_up.write(tmp_path, {"separate": some["separate"]}, size="smoke")
    made_up.write(tmp_path, {"left_over": some["probes"]})
    assert collect(made_up.params(some), tmp_path, tmp_path / "warehouse").runs == ["probes", "separate"]
    assert list(read(tmp_path / "warehouse", "runs")["present"]) == [True, False, False]
    assert set(read(tmp_path / "warehouse", "layer_metrics")["run"]) == {"baseline"}
    assert collect(made_up.params(some, "smoke"), tmp_path, tmp_path / "warehouse").runs == ["baseline", "probes"]


def test_results_at_a_rung_belong_to_the_size_that_it_stands_beside(tmp_path):
    plain = {"residual": "sandwich", "readouts": "none", "seed": 0}
    runs = {"baseline": plain, "narrow_plain": {**plain, "rung": "narrow"}}
    made_up.write(tmp_path, {"baseline": plain})
    made_up.write(tmp_path, {"narrow_plain": plain})

    def gathered(size):
        params = {**made_up.params(runs, size), "rungs": {"narrow": {"model": {"layers": 2}}}}
        absent = collect(params, tmp_path, tmp_path / "warehouse")
        return absent.runs, read(tmp_path / "warehouse", "runs").set_index("run").loc["narrow_plain"]

    absent, run = gathered("nano")
    assert absent == [] and run["present"] and (run["size"], run["rung"], run["layers"]) == ("narrow", "narrow", 2)
    absent, run = gathered("smoke")
    assert absent == ["baseline", "narrow_plain"] and not run["present"]


def test_absent_analyses_are_named_and_no_error(tmp_path):
    tables = made_up.analyses(SOME)
    made_up.write(tmp_path, SOME)
    some = {key: tables[key] for key in (("lens", "probes"), ("retrain_heads", "separate"), ("tuned_lens", "separate"))}
    made_up.write_analyses(tmp_path, some)
    made_up.write_analyses(tmp_path, {("lens", "baseline"): made_up.lens("baseline")}, "smoke")
    assert collect(made_up.params(SOME), tmp_path, tmp_path / "warehouse") == (
        [],
        {
            "anatomy": ["baseline", "separate"],
            "depth": ["baseline", "separate"],
            "depth_maps": ["baseline_to_separate"],
            "lens": ["baseline", "separate"],
            "published_depth": ["deep_model"],
            "published_anatomy": ["deep_model"],
            "published_lens": ["deep_model"],
            "retrain_heads": ["probes"],
            "routing": ["separate"],
            "tuned_lens": ["baseline"],
        },
        {},
    )
    rows = read(tmp_path / "warehouse", "layer_metrics")
    found = rows[rows["readout"].isin(["logit_lens", "tuned_lens", "retrained"])][["run", "readout"]]
    assert set(found.itertuples(index=False, name=None)) == {
        ("probes", "logit_lens"),
        ("separate", "retrained"),
        ("separate", "tuned_lens"),
    }


def test_only_what_params_name_is_read(tmp_path):
    made_up.write(tmp_path, SOME)
    made_up.write_analyses(tmp_path, made_up.analyses(made_up.RUNS))
    params = made_up.params(SOME) | {"retrain_heads": {"runs": ["probes"]}, "lens": {"tuned": None}, "published": {}}
    assert collect(params, tmp_path, tmp_path / "warehouse") == ([], {}, {})
    rows = read(tmp_path / "warehouse", "layer_metrics")
    assert set(rows["run"]) == set(SOME)
    assert set(rows[rows["readout"] == "retrained"]["run"]) == {"probes"}
    assert "tuned_lens" not in set(rows["readout"])


def test_params_without_sections_of_analyses_name_none(tmp_path):
    made_up.write(tmp_path, SOME)
    params = {key: made_up.params(SOME)[key] for key in ("size", "recipes", "runs", "report")}
    assert collect(params, tmp_path, tmp_path / "warehouse") == ([], {"lens": sorted(SOME)}, {})


def test_analyses_do_not_change_what_is_said_of_runs(warehouse_dir, gather):
    alone = gather(made_up.RUNS)
    assert (alone / "runs.parquet").read_bytes() == (warehouse_dir / "runs.parquet").read_bytes()


def shuffled(tables):
    if isinstance(tables, dict):
        return {name: shuffled(table) for name, table in reversed(tables.items())}
    return tables.sample(frac=1, random_state=2)


def test_same_results_give_the_same_bytes_whatever_their_order(tmp_path):
    names = [*(f"warehouse/{table}.parquet" for table in TABLES), "headline.json"]
    some = {run: made_up.RUNS[run] for run in ("probes", "baseline", "probes_seed_1", "separate", "depth_1")}
    made_up.write(tmp_path / "a", some)
    collect(made_up.params(some), tmp_path / "a", tmp_path / "a/warehouse")
    made_up.write(tmp_path / "b", dict(reversed(some.items())))
    for path in (tmp_path / "b/runs").glob("*/layers.parquet"):
        made_up.write_tables(path.parent, {"layers": pd.read_parquet(path).sample(frac=1, random_state=1)})
    collect(made_up.params(dict(reversed(some.items()))), tmp_path / "b", tmp_path / "b/warehouse")
    analyses = made_up.analyses(some)
    made_up.write_analyses(tmp_path / "a", analyses)
    made_up.write_analyses(tmp_path / "b", {key: shuffled(tables) for key, tables in reversed(analyses.items())})
    for folder in ("a", "b"):
        collect(made_up.params(some), tmp_path / folder, tmp_path / folder / "warehouse")
    for name in names:
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes(), name


def test_headline(warehouse_dir):
    mean = {setup: sum(made_up.GAPS[setup][layer] for layer in (1, 2, 3)) / 3 for setup in made_up.GAPS}
    # Seeds add 0, 0.002 and -0.003, and to separate heads 0, 0.004 and -0.002: their mean is 1/3000; to plain runs they
    # add 0, 0.002, -0.003 and 0.001, whose mean is 0.
    separate = 0.06 + 0.001 / 3
    found = json.loads((warehouse_dir.parent / "headline.json").read_text())
    assert found["baseline"] == {"final_loss": 2.89, "noise_floor": 0.005}  # seeds add 0, 0.002, -0.003, 0.001
    assert found["early_layers"] == pytest.approx(mean, abs=1e-6)
    assert found["last_layer"]["separate"] == pytest.approx(separate, abs=1e-6)
    assert found["last_layer"]["shared_stop_gradient"] == pytest.approx(0.12)


def test_headline_of_analyses(warehouse_dir):
    found = json.loads((warehouse_dir.parent / "headline.json").read_text())
    below = range(1, made_up.LAYERS)
    changes = {setup: sum(made_up.CHANGES[setup][layer] for layer in below) / len(below) for setup in made_up.CHANGES}
    gaps = [made_up.GAPS["probes"][layer] - made_up.GAPS["separate"][layer] for layer in below]
    gap = sum(gaps) / len(gaps)
    assert found["heads_or_features"] == pytest.approx(
        {
            "probes_change": changes["probes"],
            "separate_change": changes["separate"],
            "gap_closed": (changes["separate"] - changes["probes"]) / gap,
        },
        abs=1e-6,
    )
    above = sum(made_up.EXCESS[layer] for layer in below) / len(below)
    assert found["lenses"] == pytest.approx({"logit_lens_kl": above / 2, "tuned_lens_kl": above / 4}, abs=1e-6)


def test_headline_without_analyses_leaves_them_out(gather):
    parts = json.loads((gather(made_up.RUNS).parent / "headline.json").read_text()).keys()
    assert parts == {"baseline", "early_layers", "last_layer"}


def test_headline_without_runs_is_empty(gather):
    assert json.loads((gather({}, made_up.RUNS).parent / "headline.json").read_text()) == {}


def damage_column(table):
    return table.drop(columns=["readout", "value"])


def damage_value(table):
    return table.assign(value=table["value"].where(table["step"] != 7, float("inf")))


def damage_repeat(table):
    return pd.concat([table, table[table["step"] == 9]])


def damage_owner(table):
    return table.assign(run="another")


def damage_type(table):
    return table.assign(step="first")


def damage_rows(table):
    return table.head(0)


@pytest.mark.parametrize(
    "damage, said",
    [
        (damage_column, "no readout, value"),
        (
            damage_value,
            "ahead 1, split train, metric loss: expected finite numbers, found value inf",
        ),
        (damage_repeat, "layer 6, readout head, ahead 1, split train, metric loss: expected one row, found 2"),
        (damage_owner, "expected the rows of baseline alone, found another"),
        (damage_type, "first"),
        (damage_rows, "found no rows"),
    ],
)
def test_damaged_results_are_named_in_one_line(tmp_path, damage, said):
    runs = {"baseline": made_up.RUNS["baseline"]}
    made_up.write(tmp_path, runs)
    path = tmp_path / "runs/baseline/layers.parquet"
    made_up.write_tables(path.parent, {"layers": damage(pd.read_parquet(path))})
    with pytest.raises(UserError) as error:
        collect(made_up.params(runs), tmp_path, tmp_path / "warehouse")
    assert str(path) in str(error.value) and said in str(error.value) and "\n" not in str(error.value)


def test_truncated_results_are_named(tmp_path):
    runs = {"baseline": made_up.RUNS["baseline"]}
    made_up.write(tmp_path, runs)
    path = tmp_path / "runs/baseline/layers.parquet"
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(UserError, match="baseline/layers.parquet: damaged: "):
        collect(made_up.params(runs), tmp_path, tmp_path / "warehouse")


@pytest.mark.parametrize(
    "definition, said",
    [
        ({"residual": "sandwich", "readouts": "none"}, "runs.odd.seed: missing"),
        ({"residual": 1, "readouts": "none", "seed": 0}, "runs.odd.residual: expected a text, found 1"),
        ("none", "runs.odd: expected a mapping of keys, found 'none'"),
    ],
)
def test_a_wrong_definition_is_named(tmp_path, definition, said):
    with pytest.raises(UserError, match=said):
        collect(made_up.params({"odd": definition}), tmp_path, tmp_path / "warehouse")


@pytest.mark.parametrize(
    "damage, said",
    [
        (damage_column, "no readout, value"),
        (lambda table: table.assign(value=float("nan")), "expected a value in each row"),
        (
            lambda table: pd.concat([table, table[table["metric"] == "entropy"].head(1)]),
            "metric entropy: expected one row, found 2",
        ),
        (damage_owner, "expected the rows of baseline alone, found another"),
        (damage_rows, "found no rows"),
    ],
)
def test_damaged_analyses_are_named_in_one_line(tmp_path, damage, said):
    made_up.write_analyses(tmp_path, {("lens", "baseline"): damage(made_up.lens("baseline"))})
    with pytest.raises(UserError, match="analyses/lens/baseline/layers.parquet") as error:
        collect(made_up.params({"baseline": made_up.RUNS["baseline"]}), tmp_path, tmp_path / "warehouse")
    assert said in str(error.value) and "\n" not in str(error.value)


@pytest.mark.parametrize(
    "damage, said",
    [
        (lambda table: table.drop(columns=["place"]), "expected the columns run, layer, sublayer, place, other_layer,"),
        (
            lambda table: table.assign(write=table["write"].fillna(0).replace(0.9, float("inf"))),
            "layer 1, sublayer attention, place 0, other_layer 2: expected finite numbers, found write inf",
        ),
        (
            lambda table: pd.concat([table, table.iloc[[3]]]),
            "layer 1, sublayer mlp, place 1, other_layer 1: expected one row, found 2",
        ),
        (damage_owner, "expected the rows of separate alone, found another"),
        (lambda table: table.head(1).assign(layer="first"), "expected the types "),
    ],
)
def test_damaged_dissections_are_named_in_one_line(tmp_path, damage, said):
    damaged = {"routing": damage(made_up.routing("separate")["routing"])}
    made_up.write_analyses(tmp_path, {("routing", "separate"): damaged})
    with pytest.raises(UserError, match="analyses/routing/separate/routing.parquet") as error:
        collect(made_up.params(SOME), tmp_path, tmp_path / "warehouse")
    assert said in str(error.value) and "\n" not in str(error.value)


def test_a_file_of_no_table_is_named(tmp_path):
    made_up.write_analyses(tmp_path, {("lens", "baseline"): {"copy": made_up.lens("baseline")}})
    with pytest.raises(UserError, match="copy.parquet: expected the name of a table of the warehouse, found copy"):
        collect(made_up.params(SOME), tmp_path, tmp_path / "warehouse")


@pytest.mark.parametrize(
    "section, value, said",
    [
        ("retrain_heads", {"runs": 3}, "retrain_heads.runs: expected names, found 3"),
        ("retrain_heads", {"runs": "probes"}, "retrain_heads.runs: expected names, found 'probes'"),
        ("retrain_heads", {"runs": [["probes"]]}, r"retrain_heads.runs: expected names, found \[\['probes'\]\]"),
        ("retrain_heads", {"runs": ["nobody"]}, "retrain_heads.runs: expected names of runs, found 'nobody'"),
        ("lens", {"tuned": ["deep_model"]}, "lens.tuned: expected names of runs, found 'deep_model'"),
        ("routing", {"runs": ["nobody"]}, "routing.runs: expected names of runs, found 'nobody'"),
        ("published", {"probes": {}}, "published: expected names that no run has, found 'probes'"),
        ("depth_maps", {"probes": {}}, "depth_maps: expected names that no run has, found 'probes'"),
        ("depth_maps", {"mine": {}}, "depth_maps.mine.from: missing"),
        ("depth_maps", {"mine": "probes"}, "depth_maps.mine: expected a mapping of keys, found 'probes'"),
        ("published", {1: {"path": "a"}}, "published: expected names, found {1: "),
    ],
)
def test_a_wrong_section_is_named(tmp_path, section, value, said):
    with pytest.raises(UserError, match=f"params.yaml: {said}") as error:
        collect(made_up.params(SOME) | {section: value}, tmp_path, tmp_path / "warehouse")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("value", [None, 3, "text", ["probes"], {}])
def test_a_section_that_is_no_mapping_names_none(tmp_path, value):
    assert collect(made_up.params(SOME) | {"retrain_heads": value}, tmp_path, tmp_path / "warehouse").runs == sorted(
        SOME
    )


def test_results_that_nothing_names_are_set_aside_and_what_is_being_written_stays(tmp_path, monkeypatch):
    shutil.copy("dvc.yaml", tmp_path)
    monkeypatch.chdir(tmp_path)
    params = made_up.params({"baseline": made_up.RUNS["baseline"]})
    stay = ["metrics/runs/baseline", "metrics/runs/.baseline.partial", "metrics/analyses/lens/baseline"]
    go = ["metrics/runs/gone", "metrics/runs/.gone.partial", "metrics/analyses/lens/gone", "metrics/analyses/nothing"]
    for folder in [*stay, *go]:
        Path(folder).mkdir(parents=True)
    assert {path.as_posix() for path in set_aside(params, "metrics")} == set(go)
    assert all(Path(folder).exists() for folder in stay) and not any(Path(folder).exists() for folder in go)
    assert all(Path(".perlayer/set_aside", Path(folder).relative_to("metrics")).exists() for folder in go)
