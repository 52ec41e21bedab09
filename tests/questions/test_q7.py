"""The claims of Q7 against results made so that the answer is known."""

import math

import made_up_multi_token as multi
import pytest

from perlayer import questions
from perlayer.questions import q7

# The claims in the order of the view.
NEXT_BELOW, NEXT_LAST, LATER_BELOW, LATER_LAST = range(4)
# A third pair. Three standard errors of the pairs 0, 0.004 and -0.002 are 0.0053, and their mean is 0.0007.
THIRD = {
    "probes_future_seed_2": {**multi.PROBES, "seed": 2, **multi.FUTURE},
    "multi_token_seed_2": {**multi.PROBES, "seed": 2, **multi.SEQUENTIAL, **multi.FUTURE},
}


@pytest.fixture
def judge(monkeypatch):
    """A function that judges the claims on some runs, with other changes by DeepSeek-V3's way for some tokens."""

    def judge(runs=multi.RUNS, changes=None, claims_alone=False, depth=multi.LAYERS):
        if changes:
            mine = {**multi.CHANGES[multi.DEEPSEEK], **changes}
            monkeypatch.setattr(multi, "CHANGES", {**multi.CHANGES, multi.DEEPSEEK: mine})
        with multi.in_memory(runs, rungs={}, question=q7.QUESTION, depth=depth) as connection:
            claims = connection.execute("SELECT measured, holds FROM claims WHERE question = 'Q7'").fetchall()
            return claims if claims_alone else (claims, q7.verdict(connection), state(connection))

    return judge


def state(connection):
    return questions.state(connection, q7.QUESTION)


def without(*names):
    return {run: keys for run, keys in multi.RUNS.items() if run not in names}


def test_which_layers_know_more_and_less(judge):
    claims, verdict, state = judge()
    # Means of two pairs: what is added to a layer, and 0.002. Plain runs end 0.03 apart, on the token after next 0.02.
    assert claims == [
        (
            "+0.002 +0.032 +0.052 +0.002 -0.038 (layers 1 to 5); beyond the noise (layers 2, 3, 5), on too few pairs",
            "within noise",
        ),
        ("+0.012 (layer 6)", "within noise"),
        (
            "+0.002 -0.048 -0.098 -0.148 -0.198 (layers 1 to 5); beyond the noise (layers 2 to 5), on too few pairs",
            "within noise",
        ),
        ("-0.298 (layer 6); beyond the noise (layer 6)", "yes"),
    ]
    assert state == "testing"  # two pairs
    assert verdict == (
        "Of the next token (2 pairs of one seed), layer 5 knows more beyond the noise (-0.038), layers 2 and 3 know "
        "less beyond the noise (+0.032, +0.052), layers 1 and 4 change within the noise alone (+0.002, +0.002) and the "
        "last layer changes within the noise alone (+0.012, noise 0.030). "
        "With fewer than three pairs, that some layer below the last leaves the noise may be chance. "
        "Of the token after next (2 pairs of one seed), layers 2 to 5 know more beyond the noise (-0.048, "
        "-0.098, -0.148, -0.198), layer 1 changes within the noise alone (+0.002) and the last layer knows more beyond "
        "the noise (-0.298, noise 0.020). "
        "With fewer than three pairs, that some layer below the last leaves the noise may be chance. "
        # 3.6 and 0.01 for the seeds; the probe: 4.1 - 0.3 + 0.002 and 0.01 for the seeds.
        "The module itself ends at 3.610 nats for the token after next, 0.202 below the probe on the last layer of the "
        "same model. "
        "With parallel, depth 1, weight 0.3, the last layer changes by +0.040 for the next token (noise 0.030) and "
        "-0.050 for the token after next (noise 0.020). "
        "Of 4 tested claims, at size nano: 1 held, 3 within noise."
    )


@pytest.mark.parametrize(
    "change, holds",
    [(0.027, "within noise"), (0.029, "yes"), (-0.031, "within noise"), (-0.033, "yes")],
)
def test_a_change_of_the_last_layer_to_either_side_beyond_the_noise_holds(judge, change, holds):
    # 0.002 more over the two pairs; plain runs end 0.03 apart.
    claims = judge(changes={1: [0.0] * 5 + [change]}, claims_alone=True)
    assert claims[NEXT_LAST][1] == holds


@pytest.mark.parametrize(
    "change, holds",
    [(0.0045, "within noise"), (0.0048, "yes"), (-0.0058, "within noise"), (-0.0062, "yes")],
)
def test_one_layer_below_the_last_is_enough_with_three_pairs(judge, change, holds):
    claims = judge(multi.RUNS | THIRD, {1: [0.0, change, 0.0, 0.0, 0.0, 0.0]}, claims_alone=True)
    assert claims[NEXT_BELOW][1] == holds


def test_three_pairs_measure(judge):
    claims, verdict, state = judge(multi.RUNS | THIRD, {1: [0.0] * 5 + [0.006]})
    assert claims[NEXT_LAST] == ("+0.007 (layer 6); beyond the noise (layer 6)", "yes")
    assert claims[LATER_BELOW][1] == "yes" and "too few pairs" not in claims[LATER_BELOW][0]
    assert state == "measured"
    assert "the last layer knows less beyond the noise (+0.007, noise 0.005)" in verdict
    assert "With fewer than three pairs" not in verdict


def test_pairs_are_counted_below_the_last_layer_and_at_it(judge):
    unread = {run: {**keys, "readouts": "none"} for run, keys in THIRD.items()}
    for keys in unread.values():
        keys.pop("future_probes")
    verdict = judge(multi.RUNS | unread)[1]
    assert "Of the next token (2 pairs of one seed below the last layer, 3 pairs of one seed at it), layer" in verdict
    assert "Of the token after next (2 pairs of one seed), layer" in verdict


def test_the_background_says_how_often_chance_passes():
    # Student's t of one degree of freedom is Cauchy's; of two its distribution is t / sqrt(2 + t^2) to both sides.
    pairs = {2: 1 - 2 / math.pi * math.atan(3), 3: 1 - 3 / math.sqrt(2 + 9)}
    one, any_of_five = ([round(100 * (1 - (1 - share) ** n)) for share in pairs.values()] for n in (1, 5))
    said = q7.QUESTION.background
    assert f"in up to {one[0]} of 100 cases with two pairs, and in {one[1]} with three" in said
    assert f"any of five layers does, in up to {any_of_five[0]} and {any_of_five[1]}." in said


def test_a_module_that_is_worse_than_the_probe(judge, monkeypatch):
    monkeypatch.setattr(multi, "MODULE", 4.0)
    assert "ends at 4.010 nats for the token after next, 0.198 above the probe" in judge()[1]


def test_one_seed_judges_nothing(judge):
    runs = {run: keys for run, keys in multi.RUNS.items() if keys["seed"] == 0}
    claims, verdict, state = judge(runs)
    assert [holds for _, holds in claims] == ["within noise"] * 4 and state == "testing"
    assert claims[LATER_LAST][0] == "-0.300 (layer 6)"
    assert "Of the token after next (1 pair of one seed), layers 1 to 5 cannot be judged, since" in verdict
    assert "(-0.300, noise not known: no seeds)" in verdict


def test_without_probes_of_the_token_after_next(judge):
    claims, verdict, state = judge(without("probes_future", "probes_future_seed_1"))
    assert [holds for _, holds in claims] == ["within noise", "within noise", "no run", "no run"]
    assert state == "testing"
    assert "Of the next token (1 pair of one seed)" in verdict and "the token after next (" not in verdict


def test_without_probes_the_last_layer_is_left(judge):
    runs = {run: {**keys, "readouts": "none"} for run, keys in without("multi_token_parallel").items()}
    for keys in runs.values():
        keys.pop("future_probes", None)
    claims, verdict, _ = judge(runs)
    assert claims[NEXT_BELOW] == claims[LATER_LAST] == (None, "no run")
    assert verdict.startswith(
        "Of the next token (2 pairs of one seed), the last layer changes within the noise alone ("
    )


def test_another_way_alone(judge):
    claims, verdict, state = judge(without("multi_token", "multi_token_seed_1"))
    assert claims == [(None, "no run")] * 4 and state == "not yet run"
    assert verdict.startswith("DeepSeek-V3's way, one module of weight 0.3, has no pair of one seed yet. With parallel")


def test_missing_runs(judge):
    for runs in ({}, without("multi_token", "multi_token_seed_1", "multi_token_parallel")):
        claims, verdict, state = judge(runs)
        assert claims == [(None, "no run")] * 4 and state == "not yet run"
        assert verdict == "No model with multi-token prediction stands beside a plain model of its seed yet."


def test_other_designs_and_depths_are_not_asked(judge):
    for further, depth in (({"residual": "pre_ln"}, multi.LAYERS), ({"layers": multi.LAYERS}, multi.LAYERS + 1)):
        claims, verdict, _ = judge({run: {**keys, **further} for run, keys in multi.RUNS.items()}, depth=depth)
        assert claims == [(None, "no run")] * 4 and verdict.startswith("No model with multi-token prediction")


def test_numbers_and_runs(multi_token_dir):
    with questions.connect(multi_token_dir) as connection:
        table = connection.execute(q7.QUESTION.numbers).df()
        runs = connection.execute(q7.QUESTION.runs).fetchall()
    assert list(table["way"]) == [multi.DEEPSEEK] * 12 + [multi.GLOECKLE] * 12  # none at a rung
    row = table.set_index(["way", "ahead", "layer"]).loc[(multi.DEEPSEEK, 2, 6)]
    assert row[["plain", "multi_token", "own_module", "noise"]].tolist() == pytest.approx([4.11, 3.812, 3.61, 0.02])
    assert set(q7.QUESTION.signed) <= set(table.columns)
    assert {run for run, *_ in runs} == {*without("baseline")} and all(row[-1] for row in runs)
