"""The views of how finished models use their depth, against plain Python over the numbers they were made from."""

import itertools
from fractions import Fraction

import made_up_depth
import made_up_results as made_up
import numpy as np
import pandas as pd
import pytest
from made_up_depth import PROFILE, dissection

from perlayer.depth.tables import Contribution

PLAIN = {"residual": "sandwich", "readouts": "none", "seed": 0}


def over(tables, runs, depth=made_up_depth.LAYERS):
    return made_up.in_memory(made_up.together(*tables), runs, depth)


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
    assert connection.execute("FROM effective_depths").fetchall() == [("a", 6, 4, 5, 5)]


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
        "drop_layer": max(falls, key=falls.get) if any(fall > 0 for fall in falls.values()) else None,
        "drop_share": max(falls.values(), default=None),
        "middle_drop": max((falls[layer] for layer in near), default=None),
        "other_drop": max((falls[layer] for layer in falls if layer not in near), default=None),
    }


@pytest.mark.parametrize("depth", [2, 3, 4, 5, 6, 7, 12, 13, 24])
@pytest.mark.parametrize("rising", [False, True])
def test_drops_leave_out_the_first_layer(depth, rising):
    shares = list(np.random.default_rng(depth).uniform(0.1, 1.0, depth))
    shares = sorted(shares) if rising else shares
    rows = [Contribution("a", layer, None, share) for layer, share in enumerate(shares, start=1)]
    table = made_up_depth.frames(contributions=rows)
    found = over([table], {"a": PLAIN}, depth).execute("FROM contribution_drops").df()
    for name, value in drop(shares).items():
        seen = found.loc[0, name]
        assert pd.isna(seen) if value is None else seen == pytest.approx(value), name
    assert found.loc[0, "layers"] == depth and (not rising or pd.isna(found.loc[0, "drop_layer"]))


def statistics_of(connection, run):
    return dict(connection.execute("SELECT statistic, value FROM depth_statistics WHERE run = ?", [run]).fetchall())


def test_statistics_of_one_model(connection):
    found = statistics_of(connection, "a")
    shares, everywhere, future = PROFILE["shares"], PROFILE["everywhere"], PROFILE["future"]
    later = PROFILE["later"]
    expected = {f"{part}_ratio": drop(shares[part])["ratio"] for part in shares}
    fall = drop(shares["layer"])
    expected |= {f"{part}_log_ratio": np.log(expected[f"{part}_ratio"]) for part in ("layer", "attention")}
    expected["attention_over_mlp"] = np.log(expected["attention_ratio"] / expected["mlp_ratio"])
    expected |= {"log_drop": -np.log(1 - fall["drop_share"]), "middle_log_drop": -np.log(1 - fall["middle_drop"])}
    expected["middle_over_other_drop"] = np.log((1 - fall["other_drop"]) / (1 - fall["middle_drop"]))
    expected["drop_layer"] = fall["drop_layer"]
    expected |= {"cosine_before_middle": -0.2, "cosine_after_middle": 0.3}  # layers 3 and 4
    # Halves are layers 2 and 3, 4 and 5.
    expected["future_effect_ratio"] = (later[3] + later[4]) / (later[1] + later[2])
    expected["future_output_ratio"] = (future[3] + future[4]) / (future[1] + future[2])
    expected["output_ratio"] = (everywhere[3] + everywhere[4]) / (everywhere[1] + everywhere[2])
    expected["future_share_first"] = (future[1] + future[2]) / (everywhere[1] + everywhere[2])
    expected["future_share_second"] = (future[3] + future[4]) / (everywhere[3] + everywhere[4])
    for name in ("future_effect", "future_output"):
        expected[f"{name}_log_ratio"] = np.log(expected[f"{name}_ratio"])
    expected["future_share_log_ratio"] = np.log(expected["future_share_second"] / expected["future_share_first"])
    expected |= {"kl_layer": 5.0, "overlap_layer": 5.0, "kl_beyond_drop": 1.0, "overlap_beyond_drop": 1.0}
    expected |= PROFILE["scores"]
    for measure in ("erasure", "attribution"):
        expected[f"{measure}_depth"], expected[f"{measure}_rise"] = depth_and_rise(PROFILE["tokens"], measure)
    assert found == pytest.approx(expected)


def depth_and_rise(tokens, measure):
    """Mean depth until which tokens matter, and by how much it rises along a text, with a mean of its own for each."""
    found = [until[measure] for until in tokens.values()]
    columns = [np.concatenate([np.linspace(0, 1, len(until)) for until in found])]
    columns += np.repeat(np.eye(len(found)), [len(until) for until in found], axis=0).T.tolist()
    depths = np.concatenate(found)
    rise, *_ = np.linalg.lstsq(np.stack(columns, 1), depths, rcond=None)[0]
    return depths.mean(), rise


def test_token_effects_are_one_row_a_token_and_depth(connection):
    rows = connection.execute(
        """SELECT layer, token, erasure, attribution, attention_attribution, mlp_attribution FROM token_effects
        WHERE text = 'window 2' AND position = 1 ORDER BY layer"""
    ).fetchall()
    # erasure until layer 5, attribution until layer 1, of the second token
    shares = [None, -0.3, -0.14, -0.14, -0.14, -0.14, 0.0]
    erased = [0.3, 0.3, 0.3, 0.3, 0.3, 0.16, 0.0]
    halves = [share and share / 2 for share in shares]
    assert rows == [(layer, "b", erased[layer], shares[layer], *[halves[layer]] * 2) for layer in range(7)]


def test_token_depths_leave_out_the_first_and_those_that_predict(connection):
    for measure in ("erasure", "attribution"):
        for text, tokens in PROFILE["tokens"].items():
            rows = connection.execute(
                "SELECT position, until, place, greatest FROM token_depths WHERE measure = ? AND text = ? ORDER BY ALL",
                [measure, text],
            ).fetchall()
            until, count = tokens[measure], len(tokens[measure])
            assert rows == [(n + 1, until[n], n / (count - 1), 0.3) for n in range(count)]


def test_one_token_has_no_rise():
    alone = {"window 1": {"erasure": [3], "attribution": [2]}}
    found = statistics_of(over([dissection("a", tokens=alone)], {"a": PLAIN}), "a")
    assert (found["erasure_depth"], found["attribution_depth"]) == (3.0, 2.0)
    assert not {"erasure_rise", "attribution_rise"} & {*found}


def test_one_layer_leaves_the_embedding():
    one = {name: {part: values[:1] for part, values in PROFILE[name].items()} for name in ("shares", "cosines")}
    one |= {"kl": PROFILE["kl"][-2:], "overlap": PROFILE["overlap"][-2:], "scores": {}, "depths": {"kl": 1}}
    connection = over([dissection("a", **one)], {"a": PLAIN}, 1)
    # After the only layer nothing but what predicts matters.
    assert connection.execute("SELECT DISTINCT measure, until FROM token_depths").fetchall() == [("erasure", 0)]
    assert statistics_of(connection, "a") == {
        "kl_layer": 1, "overlap_layer": 2, "erasure_depth": 0, "erasure_rise": 0,
    }  # fmt: skip


def test_designs_without_a_residual_have_no_depths_of_tokens():
    table = dissection("a")
    table["token_effects"] = table["token_effects"].assign(erasure=None, attribution=None)
    connection = over([table], {"a": PLAIN})
    assert not {f"{m}_{what}" for m in ("erasure", "attribution") for what in ("depth", "rise")} & {
        *statistics_of(connection, "a")
    }
    assert connection.execute("SELECT count(attention_attribution) > 0 FROM token_effects").fetchone() == (True,)


def test_linear_maps_know_their_diagonal_and_what_maps_best():
    connection = over([made_up_depth.maps("p", [1, 1, 2, 2, 3, 3], 3)], {})
    row = connection.execute(
        """SELECT error, unexplained, penalty, mean_error, from_diagonal, best, layers, source_layers
        FROM linear_maps WHERE kind = 'residual' AND layer = 5 AND source_layer = 1"""
    ).fetchone()
    assert row == pytest.approx((0.45, 0.225, 0.01, 0.95, 5 / 6 - 1 / 3, False, 6, 3))
    best = connection.execute(
        "SELECT kind, list(source_layer ORDER BY layer) FROM linear_maps WHERE best GROUP BY kind ORDER BY kind"
    ).fetchall()  # embeddings map and are mapped with the least error of all
    assert best == [("contribution", [1] * 6), ("residual", [1, 1, 2, 2, 3, 3])]


@pytest.mark.parametrize(
    "sources, best", [(3, [1, 1, 2, 2, 3, 3]), (4, [4, 1, 2]), (4, [2, 2, 3, 4]), (2, [2, 1, 2, 1, 2]), (1, [1, 1])]
)
def test_diagonals_against_all_ways_to_choose_sources(sources, best):
    layers = len(best)
    found = over([made_up_depth.maps("p", best, sources)], {}).execute("FROM map_diagonals").df().set_index("kind")

    def distance(chosen):
        return sum(abs(Fraction(m, sources) - Fraction(n, layers)) for n, m in enumerate(chosen, 1)) / layers

    every = sorted(distance(chosen) for chosen in itertools.product(range(1, sources + 1), repeat=layers))
    for kind, chosen in (("residual", best), ("contribution", [1] * layers)):
        row, mine = found.loc[kind], distance(chosen)
        assert row["distance"] == pytest.approx(float(mine)) and row["least"] == pytest.approx(float(every[0]))
        assert row["chance"] == pytest.approx(float(sum(every) / len(every)))
        assert row["p"] == pytest.approx(sum(each <= mine for each in every) / len(every))
        least = next(each for each in every if sum(other <= each for other in every) > len(every) / 200)
        most = next(each for each in every if sum(other <= each for other in every) >= len(every) * 199 / 200)
        assert (row["least_chance"], row["most_chance"]) == pytest.approx((float(least), float(most)))  # at 0.99
        near = [abs(m * layers - n * sources) for n, m in enumerate(chosen, 1)]
        nearest = [min(abs(m * layers - n * sources) for m in range(1, sources + 1)) for n in range(1, layers + 1)]
        assert row["nearest"] == pytest.approx(np.mean([a == b for a, b in zip(near, nearest)]))
        assert row["error"] == pytest.approx(0.3 + 0.01 * (layers + 1) / 2)
        assert row["mean_error"] == pytest.approx(0.9 + 0.01 * (layers + 1) / 2)


def test_what_happens_in_no_layer_is_one_beyond_the_last():
    connection = over([dissection("a", depths={})], {"a": PLAIN})
    found = statistics_of(connection, "a")
    assert found["kl_layer"] == found["overlap_layer"] == 7 and found["kl_beyond_drop"] == 3


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
    found = connection.execute("SELECT run, representative, label FROM dissected_runs ORDER BY place, seed").fetchall()
    assert found == [
        ("plain", "plain", "baseline"),
        ("probes_seed_1", "plain", "baseline"),
        ("surgery", "surgery", "separate heads, gradient surgery (kind per token)"),
        ("shared", "shared", "shared head"),
        ("keel_separate", "keel_separate", "KEEL, separate heads"),
        ("deep", "deep", "baseline, 12 layers"),
    ]


def test_a_run_is_not_lost_to_one_that_trains_alike_and_is_not_dissected():
    runs = {"a": PLAIN, "watched": {**PLAIN, "gradient_cosines": {"every": 5}}}
    connection = over([dissection("watched")], runs)
    assert connection.execute("SELECT run, label FROM dissected_runs").fetchall() == [("watched", "baseline")]


def test_scores_of_groups_are_one_row_a_group():
    scores = {"sums: 2 operands": 2.0, "sums: 10 operands": 2.5, "mine: gsm8k": 1.5}
    connection = over([dissection("a"), made_up_depth.by_group("a", scores)], {"a": PLAIN})
    found = connection.execute("FROM group_scores ORDER BY depth_score").fetchall()
    assert found == [
        ("a", "mine", "gsm8k", None, 6, 4, 1, 0.25, 1.5, 0.01, 0.75, 0.005, 4.5),
        ("a", "sums", "2 operands", 2.0, 6, 4, 1, 0.25, 2.0, 0.01, 1.0, 0.005, 6.0),
        ("a", "sums", "10 operands", 10.0, 6, 4, 1, 0.25, 2.5, 0.01, 1.25, 0.005, 7.5),
    ]
    # a set without numbers in its names has no order
    assert connection.execute("SELECT prompts, easiest, hardest FROM depth_growth").fetchall() == [
        ("sums", "2 operands", "10 operands")
    ]


def test_growth_is_the_rise_of_a_line_through_all_groups():
    points = {2: 2.0, 3: 2.6, 5: 2.1, 9: 2.9}
    scores = {f"hops: {x} hops": y for x, y in points.items()}
    connection = over([dissection("a"), made_up_depth.by_group("a", scores, error=0.02)], {"a": PLAIN})
    x, y = np.array([*points]), np.array([*points.values()])
    expected = np.polyfit(x, y, 1)[0] * (9 - 2)
    design = np.stack([x, np.ones(4)], 1)
    covariance = np.linalg.inv(design.T @ design) * 0.02**2  # of the line, where every score has this error
    row = connection.execute(
        "SELECT growth, standard_error, output_growth, hops, answered FROM depth_growth"
    ).fetchone()
    assert row == (pytest.approx(expected), pytest.approx(7 * np.sqrt(covariance[0, 0])), pytest.approx(expected / 2),
                   True, pytest.approx(0.25))  # fmt: skip


def test_a_published_model_is_shown_and_is_no_run():
    runs = {f"seed_{seed}": {**PLAIN, "seed": seed} for seed in range(3)}
    ours = [dissection(run) for run in runs]
    alone = over(ours, runs)
    beside = over([*ours, dissection("theirs", **made_up_depth.scaled(0.1))], runs)
    found = beside.execute("SELECT run, setup, full_depth, label FROM dissected_runs WHERE setup = 'published'")
    assert found.fetchall() == [("theirs", "published", False, "theirs")]
    query = "FROM dissected_runs WHERE setup <> 'published' ORDER BY ALL"
    assert beside.execute(query).fetchall() == alone.execute(query).fetchall()
    assert statistics_of(beside, "theirs")["layer_ratio"] == pytest.approx(0.1 * 0.3 / 0.65)
