"""The views of how finished models use their depth, against plain Python over the numbers they were made from."""

import statistics

import made_up_depth
import made_up_results as made_up
import numpy as np
import pandas as pd
import pytest
from made_up_depth import PROFILE, dissection

PLAIN = {"residual": "sandwich", "readouts": "none", "seed": 0}


def over(tables, runs, depth=made_up_depth.LAYERS):
    return made_up.in_memory(pd.concat(tables, ignore_index=True), runs, depth)


@pytest.fixture(scope="module")
def connection():
    return over([dissection("a")], {"a": PLAIN})


def test_contributions_are_one_row_a_part(connection):
    table = connection.execute("FROM contributions WHERE layer > 0").df()
    assert len(table) == 3 * made_up_depth.LAYERS
    for row in table.itertuples():
        part = row.sublayer if isinstance(row.sublayer, str) else "layer"
        share, cosine = (PROFILE[name][part][row.layer - 1] for name in ("shares", "cosines"))
        assert row.relative_contribution == pytest.approx(share) and row.cosine == pytest.approx(cosine)
        assert row.relative_contribution_p95 == pytest.approx(2 * share)
        assert row.greatest_relative_contribution == pytest.approx(3 * share)
        assert row.relative_contribution_without_first == pytest.approx(share - 0.01)
        assert row.cosine_without_first == pytest.approx(cosine - 0.01)
    assert connection.execute("SELECT residual_norm FROM contributions WHERE layer = 0").fetchall() == [(1.0,)]


def test_skipping_keeps_pairs_and_outputs_apart(connection):
    pairs = connection.execute("FROM skip_effects WHERE stat = 'max' AND sublayer IS NULL ORDER BY ALL").df()
    assert len(pairs) == made_up_depth.LAYERS * (made_up_depth.LAYERS - 1) / 2
    for row in pairs.itertuples():
        later = PROFILE["later"][row.layer - 1]
        assert row.effect_future == pytest.approx(3 * later)
        assert row.effect_all == pytest.approx(3 * (later + 0.1 * row.later_layer))
        assert row.local_effect_future == pytest.approx(1.5 * later)
        assert row.local_effect_all == pytest.approx(3 * (later + 0.05 * row.later_layer))
    outputs = connection.execute(
        """SELECT output_effect_all, output_effect_future FROM output_effects
        WHERE stat = 'mean' AND sublayer IS NULL ORDER BY layer"""
    ).fetchall()
    assert outputs == list(zip(PROFILE["everywhere"], PROFILE["future"]))
    assert connection.execute("SELECT count(*) FROM output_effects").fetchone() == (3 * 3 * made_up_depth.LAYERS,)


def test_lens_scores_and_effective_depths(connection):
    found = connection.execute("SELECT kl_lens_final, top5_overlap FROM residual_lens ORDER BY layer").fetchall()
    assert found == list(zip(PROFILE["kl"], PROFILE["overlap"]))
    assert connection.execute("FROM depth_scores WHERE stat = 'mean'").fetchall() == [("a", 6, None, "mean", 2.2, 1.8)]
    assert connection.execute("FROM effective_depths").fetchall() == [("a", 6, 4.0, 5.0, 5.0)]


def drop(shares):
    """What contribution_drops says of the shares of layers 1 on, in plain Python."""
    layers = len(shares)
    later = dict(enumerate(shares, start=1))
    del later[1]
    falls = {layer: 1 - later[layer] / later[layer - 1] for layer in later if layer > 2}
    near = {layer for layer in falls if abs((layer - 1) / layers - 0.5) < 1 / 6 - 1e-9}
    first = [later[layer] for layer in later if layer <= layers // 2]
    second = [later[layer] for layer in later if layer > layers - layers // 2]
    ratio = np.mean(second) / np.mean(first) if first and second else None
    return {
        "ratio": ratio,
        "drop_layer": max(falls, key=falls.get) if falls else None,
        "drop_share": max(falls.values(), default=None),
        "middle_drop": max((falls[layer] for layer in near), default=None),
        "other_drop": max((falls[layer] for layer in falls if layer not in near), default=None),
    }


@pytest.mark.parametrize("depth", [2, 3, 4, 5, 6, 7, 12, 13, 24])
def test_drops_leave_out_the_first_layer(depth):
    shares = list(np.random.default_rng(depth).uniform(0.1, 1.0, depth))
    rows = [{"layer": layer, "value": share} for layer, share in enumerate(shares, start=1)]
    table = pd.DataFrame(rows).assign(run="a", analysis="contributions", stat="mean", metric="relative_contribution")
    table = table.assign(**dict.fromkeys(["sublayer", "other_layer", "text", "position", "token", "strength"]))
    found = over([table], {"a": PLAIN}, depth).execute("FROM contribution_drops").df()
    for name, value in drop(shares).items():
        seen = found.loc[0, name]
        assert pd.isna(seen) if value is None else seen == pytest.approx(value), name
    assert found.loc[0, "layers"] == depth


def statistics_of(connection, run):
    return dict(connection.execute("SELECT statistic, value FROM depth_statistics WHERE run = ?", [run]).fetchall())


def test_statistics_of_one_model(connection):
    found = statistics_of(connection, "a")
    shares, everywhere, future = PROFILE["shares"], PROFILE["everywhere"], PROFILE["future"]
    later = PROFILE["later"]
    expected = {f"{part}_ratio": drop(shares[part])["ratio"] for part in shares}
    expected["attention_minus_mlp_ratio"] = expected["attention_ratio"] - expected["mlp_ratio"]
    fall = drop(shares["layer"])
    expected |= {"middle_drop_lead": fall["middle_drop"] - fall["other_drop"], "drop_layer": fall["drop_layer"]}
    expected |= {"cosine_before_middle": -0.2, "cosine_after_middle": 0.3}  # layers 3 and 4
    # Halves are layers 2 and 3, 4 and 5.
    expected["future_effect_ratio"] = (later[3] + later[4]) / (later[1] + later[2])
    expected["future_output_ratio"] = (future[3] + future[4]) / (future[1] + future[2])
    expected["output_ratio"] = (everywhere[3] + everywhere[4]) / (everywhere[1] + everywhere[2])
    expected["future_share_first"] = (future[1] + future[2]) / (everywhere[1] + everywhere[2])
    expected["future_share_second"] = (future[3] + future[4]) / (everywhere[3] + everywhere[4])
    expected["future_share_change"] = expected["future_share_second"] - expected["future_share_first"]
    expected |= {"kl_layer": 5.0, "overlap_layer": 5.0, "kl_distance": 1.0, "overlap_distance": 1.0}
    expected |= PROFILE["scores"]
    assert found == pytest.approx(expected)


def test_what_happens_in_no_layer_is_one_beyond_the_last():
    connection = over([dissection("a", depths={})], {"a": PLAIN})
    found = statistics_of(connection, "a")
    assert found["kl_layer"] == found["overlap_layer"] == 7 and found["kl_distance"] == 3


def test_which_runs_stand_for_what():
    runs = {
        "plain": PLAIN,
        "probes": {**PLAIN, "readouts": "probes"},
        "probes_seed_1": {**PLAIN, "readouts": "probes", "seed": 1},
        "shared": {**PLAIN, "readouts": "shared"},
        "keel_separate": {"residual": "keel", "readouts": "separate", "seed": 0},
        "deep": {**PLAIN, "layers": 12},
        "surgery": {**PLAIN, "readouts": "separate", "gradient_surgery": "per_token"},
        "undissected": {**PLAIN, "seed": 2},
    }
    connection = over([dissection(run) for run in runs if run != "undissected"], runs)
    found = connection.execute("SELECT run, lead, label FROM dissected_runs ORDER BY place, seed").fetchall()
    assert found == [
        ("plain", "plain", "baseline"),
        ("probes_seed_1", "plain", "baseline"),
        ("shared", "shared", "shared head"),
        ("keel_separate", "keel_separate", "KEEL, separate heads"),
        ("deep", "deep", "baseline, 12 layers"),
    ]


def test_findings_pool_the_seeds_of_all_setups():
    factors = {("none", 0): 1.0, ("none", 1): 1.1, ("none", 2): 0.9, ("shared", 0): 0.5, ("shared", 1): 0.52}
    runs = {f"{readouts}_{seed}": {**PLAIN, "readouts": readouts, "seed": seed} for readouts, seed in factors}
    tables = [dissection(f"{r}_{s}", **made_up_depth.scaled(factor)) for (r, s), factor in factors.items()]
    found = over(tables, runs).execute("FROM depth_findings WHERE statistic = 'layer_ratio'").df().set_index("label")
    usual = drop(PROFILE["shares"]["layer"])["ratio"]
    plain, shared = ([usual * factor for (r, _), factor in factors.items() if r == readouts]
                     for readouts in ("none", "shared"))  # fmt: skip
    std = ((2 * statistics.variance(plain) + statistics.variance(shared)) / 3) ** 0.5
    assert found.loc["baseline", "mean"] == pytest.approx(np.mean(plain)) and found.loc["baseline", "run"] == "none_0"
    assert found.loc["baseline", "noise"] == pytest.approx(3 * std / 3**0.5)
    assert pd.isna(found.loc["baseline", "difference"])
    assert found.loc["shared head", "difference"] == pytest.approx(np.mean(shared) - np.mean(plain))
    assert found.loc["shared head", "difference_noise"] == pytest.approx(3 * std * (1 / 3 + 1 / 2) ** 0.5)
    assert found.loc["shared head", "seeds"] == 2


def test_one_pair_of_seeds_tells_no_noise():
    runs = {"a": PLAIN, "b": {**PLAIN, "seed": 1}}
    found = over([dissection("a"), dissection("b", **made_up_depth.scaled(1.1))], runs)
    assert found.execute("SELECT DISTINCT noise FROM depth_findings").fetchall() == [(None,)]


def ended(models):
    """Runs of (size, layers, parameters a layer, seed, loss); the size nano is that in use."""
    runs = {f"r{n}": {**PLAIN, "seed": model[3], "layers": model[1]} for n, model in enumerate(models)}
    connection = made_up.in_memory([], runs)
    for number, (size, layers, parameters, _, loss) in enumerate(models):
        connection.execute(
            """UPDATE runs SET size = ?, section = ?, backbone_parameters = ?, final_loss = ? WHERE run = ?""",
            [size, "runs" if size == "nano" else "ladder", float(layers * parameters), loss, f"r{number}"],
        )
    return connection.execute("FROM depth_regression").df().set_index("scope")


def least_squares(models, width):
    """Coefficients (intercept, depth, width) and their standard errors by numpy."""
    columns = [np.ones(len(models)), [np.log2(model[1]) for model in models]]
    columns += [[np.log2(model[2]) / 2 for model in models]] if width else []
    design, loss = np.stack(columns, 1), np.array([model[4] for model in models])
    solution, squares, *_ = np.linalg.lstsq(design, loss, rcond=None)
    variance = squares[0] / (len(models) - design.shape[1])
    return (
        solution,
        np.sqrt(variance * np.diag(np.linalg.inv(design.T @ design))),
        1 - squares[0] / loss.var() / len(loss),
    )


def test_regression_on_depth_and_width_is_least_squares():
    random = np.random.default_rng(0)
    nano = [
        ("nano", layers, 1000, 0, 4 - 0.1 * np.log2(layers) + random.normal(0, 0.02)) for layers in (1, 2, 3, 6, 12)
    ]
    ladder = [
        (
            f"rung_{layers}",
            layers,
            width,
            seed,
            4 - 0.1 * np.log2(layers) - 0.2 * np.log2(width) + random.normal(0, 0.02),
        )
        for layers, width in ((3, 250), (9, 2000))
        for seed in (0, 1)
    ]
    found = ended(nano + ladder)
    for scope, models, width in (("size in use", nano, False), ("with the ladder", nano + ladder, True)):
        solution, errors, r_squared = least_squares(models, width)
        row = found.loc[scope]
        assert row["intercept"] == pytest.approx(solution[0]) and row["r_squared"] == pytest.approx(r_squared)
        assert (row["by_depth"], row["by_depth_standard_error"]) == pytest.approx((solution[1], errors[1]))
        if width:
            assert (row["by_width"], row["by_width_standard_error"]) == pytest.approx((solution[2], errors[2]))
        else:
            assert pd.isna(row["by_width"])
        assert row["runs"] == len(models)


def test_width_that_goes_with_depth_is_not_told_from_it():
    found = ended([("nano", 2, 1000, 0, 3.0), ("rung_4", 4, 4000, 0, 2.8), ("rung_8", 8, 16000, 0, 2.7)])
    assert list(found.index) == ["with the ladder"]
    row = found.loc["with the ladder"]
    assert pd.isna(row["by_width"]) and row["by_depth"] == pytest.approx(-0.15) and row["widths"] == 3


def test_two_runs_tell_no_error_and_one_depth_nothing():
    found = ended([("nano", 2, 1000, 0, 3.0), ("nano", 4, 1000, 0, 2.8)])
    assert found.loc["size in use", "by_depth"] == pytest.approx(-0.2)
    assert pd.isna(found.loc["size in use", "by_depth_standard_error"])
    assert ended([("nano", 2, 1000, 0, 3.0), ("nano", 2, 1000, 1, 2.8)]).empty
