"""The claims and verdicts of A1 to A6 against numbers made so that the answer is known."""

import made_up_anatomy
import made_up_growth
import made_up_results as made_up
import pandas as pd
import pytest
from made_up_anatomy import KINDS, PROFILE, anatomy, scaled

from perlayer import questions
from perlayer.anatomy.rank_correlation import rank_correlation
from perlayer.questions import a1, a2, a3, a4, a5, a6

PLAIN = {"residual": "sandwich", "readouts": "none", "seed": 0}
SEEDS = (1.0, 1.02, 0.98)  # of the baseline: times the numbers of `PROFILE`
TAKEN_APART = [a1.QUESTION, a2.QUESTION, a3.QUESTION, a4.QUESTION, a5.QUESTION]


@pytest.fixture
def judge():
    """A function that judges the claims of a question on baselines of some factors and on separate heads."""

    def judge(question, seeds=SEEDS, separate=None, **profile):
        runs = {f"seed_{seed}": {**PLAIN, "seed": seed} for seed in range(len(seeds))}
        tables = [anatomy(run, **scaled(factor) | profile) for run, factor in zip(runs, seeds)]
        if separate is not None:
            runs["separate"] = {**PLAIN, "readouts": "separate"}
            tables.append(anatomy("separate", **separate))
        rows = pd.concat(tables, ignore_index=True) if tables else []
        with made_up.in_memory(rows, runs, made_up_anatomy.LAYERS, question) as connection:
            claims = connection.execute("SELECT measured, holds FROM claims").fetchall()
            for sql in (question.runs, question.numbers):
                connection.execute(sql)
            return claims, question.verdict(connection), questions.state(connection, question)

    return judge


def test_weights_that_neighbours_predict(judge):
    claims, verdict, state = judge(a1.QUESTION, separate=scaled(0.5))
    assert [holds for _, holds in claims] == ["yes"] * 4 and state == "measured"
    # 0.3 and once 0.5 over seven kinds, and 0.035 for the layers.
    assert claims[0][0] == "0.364; -0.010 before training, 0.050 in another order"
    assert claims[2][0] == "+20 %" and claims[3][0] == "+300 % after +20 %"
    assert "neighbours tell more of an entry than chance does." in verdict
    assert "all of them by +20,000 %." in verdict
    assert "R2 is below it with separate heads (0.199)." in verdict
    assert verdict.endswith("Of 4 published claims, at size nano: 4 held.")


def test_weights_that_neighbours_do_not_predict(judge):
    nothing = {kind: -0.07 for kind in KINDS}
    claims, verdict, _ = judge(a1.QUESTION, r2=nothing, replaced=[-1.0, -2.0, 3.0, 4.0, 5.0, 6.0])
    assert [holds for _, holds in claims] == ["no"] * 4
    assert "neighbours tell no more of an entry than chance does." in verdict


def test_importance_that_spans_decades_and_harm(judge):
    claims, verdict, state = judge(a2.QUESTION, separate=scaled(0.5))
    assert [holds for _, holds in claims] == ["yes"] * 3 and state == "measured"
    assert claims[0][0] == "-0.8 % (layer 6) to +3,000 % (layer 1)" and claims[1][0] == "layer 1 of 6"
    assert "changes perplexity by -0.8 % (layer 6) to +3,000 % (layer 1)." in verdict
    named = "layers 1 and 2 would be called critical, layer 3 would be called important"
    assert named in verdict and "layer 6 would be called anti" in verdict
    harm = "Perplexity falls without layer 6 of seed_0, layer 6 of seed_1, layer 6 of seed_2 and layer 6 of separate: "
    assert harm + "of 24 intervals of 4 models those lie below 0, where chance alone would put one in forty." in verdict


def test_importance_in_the_second_half_and_no_harm(judge):
    claims, verdict, _ = judge(a2.QUESTION, importance=[5.0, 6.0, 7.0, 80.0, 90.0, 70.0])
    assert [holds for _, holds in claims] == ["yes", "no", "no"]
    assert "No layer does harm: of 18 intervals of 3 models none lies below 0." in verdict
    # decades: 11 % is no ten times 5 %; of 52 % the interval reaches below and above that; intervals are a tenth
    for greatest, holds in ((11.0, "no"), (52.0, "within noise"), (80.0, "yes")):
        claims, _, _ = judge(a2.QUESTION, importance=[5.0, 5.1, 5.2, 5.3, 5.4, greatest])
        assert claims[0][1] == holds


@pytest.mark.parametrize("least, holds", [(-0.3, "yes"), (0.3, "no"), (0.0, "within noise")])
def test_claim_and_verdict_mean_the_same_by_harm(judge, least, holds):
    """An interval below 0, however near; here they reach a tenth of the change to both sides."""
    claims, verdict, _ = judge(a2.QUESTION, importance=[50.0, 40.0, 30.0, 20.0, 10.0, least])
    assert claims[2][1] == holds
    assert ("Perplexity falls without layer 6 of seed_0" in verdict) == (holds == "yes")
    assert ("No layer does harm" in verdict) == (holds != "yes")


# When six layers recover, from the least important one: nearly the best order, a middling one, and the two worst.
@pytest.mark.parametrize(
    "order, holds",
    [
        ([1, 2, 3, 4, 6, 5], "yes"),
        ([1, 6, 2, 5, 3, 4], "within noise"),
        ([6, 4, 5, 3, 1, 2], "no"),
        ([6, 5, 4, 3, 2, 1], "no"),
    ],
)
def test_recovery_is_held_against_chance(judge, order, holds):
    rho, p, p_low = rank_correlation(range(6), order)
    claims, verdict, state = judge(a3.QUESTION, rank_correlation=(rho, p, p_low))
    assert claims == [(f"rank correlation {rho:+.2f} (p {p:.3f}, 6 layers)", holds)] and state == "measured"
    assert f"is {rho:+.2f} in seed_0 (p {p:.3f}), {rho:+.2f} in seed_1" in verdict
    assert "In seed_0, layers 1 and 2 of 6 had not recovered after 60 updates." in verdict
    assert "In seed_0, layer 6 needed none." in verdict


def test_layers_that_recover_alike_have_no_order(judge):
    claims, verdict, state = judge(a3.QUESTION, rank_correlation=None)
    assert claims == [(None, "no run")] and state == "not yet run"
    assert "All layers of seed_0, seed_1 and seed_2 recover alike, which is no order." in verdict


def test_scaling_that_preserves_most(judge):
    claims, verdict, state = judge(a4.QUESTION)
    assert claims == [("+1.5 %; the least other +358 %", "yes")] and state == "measured"
    assert "In the baseline layers 5 and 6 are manipulated." in verdict
    assert "+287 % by scaling towards zero" in verdict and "+1.5 % by scaling towards zero" in verdict
    assert "scaling is the mildest even so." in verdict


def test_scaling_that_is_mild_only_because_it_is_little(judge):
    kinds = PROFILE["manipulations"] | {"noise": (0.1, 500.0)}
    _, verdict, _ = judge(a4.QUESTION, manipulations=kinds)
    assert "what sets scaling by 0.9 apart is how little it changes, not how." in verdict
    claims, verdict, _ = judge(a4.QUESTION, manipulations=PROFILE["manipulations"] | {"noise": (0.1, 0.5)})
    assert claims[0][1] == "no"
    assert "scaling is not the mildest." in verdict and "sets scaling by 0.9 apart" not in verdict


def test_correlations_are_held_against_independent_layers(judge):
    claims, verdict, state = judge(a5.QUESTION)
    assert [holds for _, holds in claims] == ["yes", "no"] and state == "measured"
    assert claims == [("-0.400; -0.500 before training", "yes"), ("+0.120 from -0.520", "no")]
    assert "-0.50 is what independent layers give" in verdict
    assert "neighbouring layers are more alike than independent ones." in verdict
    assert "The first principal component explains 50.0 % of the variance over layers, +30.0 points" in verdict


def test_the_null_is_no_structure(judge):
    runs = {f"seed_{seed}": {**PLAIN, "seed": seed} for seed in range(3)}
    tables = [anatomy(run, correlation=-0.52 + 0.001 * (f - 1)) for run, f in zip(runs, SEEDS)]
    with made_up.in_memory(pd.concat(tables, ignore_index=True), runs, 6, a5.QUESTION) as connection:
        claims = connection.execute("SELECT holds FROM claims").fetchall()
        verdict = a5.QUESTION.verdict(connection)
    assert claims == [("yes",), ("within noise",)]
    assert "nothing says that training put a pattern there." in verdict
    claims = [anatomy(run, correlation=-0.7 + 0.001 * f) for run, f in zip(runs, SEEDS)]
    with made_up.in_memory(pd.concat(claims, ignore_index=True), runs, 6, a5.QUESTION) as connection:
        assert connection.execute("SELECT holds FROM claims").fetchall() == [("yes",), ("yes",)]
        assert "alternate more" in a5.QUESTION.verdict(connection)


@pytest.mark.parametrize("question", TAKEN_APART)
def test_without_models_nothing_has_been_run(judge, question):
    claims, verdict, state = judge(question, seeds=())
    assert {holds for _, holds in claims} == {"no run"} and state == "not yet run"
    assert "yet." in verdict


@pytest.mark.parametrize("question", [a1.QUESTION, a2.QUESTION, a4.QUESTION, a5.QUESTION])
def test_one_seed_settles_nothing(judge, question):
    _, verdict, state = judge(question, seeds=(1.0,), separate={})
    assert state == "testing" and "noise not known: no seeds" in verdict


SHALLOW = {
    "importance": [50.0, 10.0], "skip": [50.0, 10.0], "replaced": [5.0, 6.0], "order": [2, 1], "steps": [],
    "manipulated": {2: 1.0}, "explained": [1.0], "explained_independent": [1.0], "rank_correlation": None,
}  # fmt: skip


def shallow(question, **profile):
    """The claims, verdict and numbers of a question where the models have fewer layers, as many as their importance."""
    runs = {f"seed_{seed}": {**PLAIN, "seed": seed} for seed in range(3)}
    tables = [anatomy(run, **SHALLOW | profile) for run in runs]
    with made_up.in_memory(pd.concat(tables, ignore_index=True), runs, 2, question) as connection:
        claims = connection.execute("SELECT measured, holds FROM claims").fetchall()
        return claims, question.verdict(connection), connection.execute(question.numbers).df()


def test_two_layers_have_no_other_order_and_no_second_change():
    claims, verdict, _ = shallow(a1.QUESTION)
    # 0.3 and once 0.5 over seven kinds, and 0.015 for the layers; three of ten layers are one of two
    assert claims[0] == ("0.344; -0.010 before training", "yes") and claims[3][1] == "no run"
    assert "beside -0.010 before training: neighbours tell more of an entry than chance does." in verdict
    claims, verdict, numbers = shallow(a5.QUESTION)
    assert {holds for _, holds in claims} == {"no run"}
    assert verdict.startswith("The finished models of the recipe's depth have fewer than the 3 layers that it takes.")
    assert len(numbers) == len(KINDS) and numbers["correlation"].isna().all()
    assert (numbers["first_component"] == 1).all()
    claims, verdict, _ = shallow(a3.QUESTION)
    assert verdict == "No layer of a finished model of the recipe's depth has been trained back yet."


@pytest.mark.parametrize("question", [a1.QUESTION, a2.QUESTION])
def test_one_layer_has_no_neighbours(question):
    claims, verdict, _ = shallow(question, importance=[50.0], manipulated={1: 1.0}, explained=[])
    assert {holds for _, holds in claims} == {"no run"}
    assert verdict == "The finished models of the recipe's depth have fewer than the 2 layers that it takes."


def test_growth_that_fails_is_said_to_fail():
    with made_up_growth.in_memory(question=a6.QUESTION) as connection:
        claims = connection.execute("SELECT measured, holds FROM claims").fetchall()
        verdict = a6.QUESTION.verdict(connection)
        runs = [run for run, *_ in connection.execute(a6.QUESTION.runs).fetchall()]
        assert questions.state(connection, a6.QUESTION) == "testing"
        numbers = connection.execute(a6.QUESTION.numbers).fetchall()
    # Two pairs at equal steps; the noise is never less than 0.1, how far uniform runs end apart.
    assert [holds for _, holds in claims] == ["no", "no", "no", "yes"]
    assert claims[0][0] == "+0.180 nats (3.050 to 3.230; six stages)"
    assert claims[3][0] == "80 % of the compute (six stages)"
    assert "At equal steps growth training ends above uniform training: the claim fails: +0.180 nats" in verdict
    assert "for six stages (noise 0.100, 2 pairs of one seed)" in verdict
    assert "At equal steps it costs 80 % of the compute for six stages." in verdict
    assert runs == ["baseline", "probes_seed_1", "grown", "grown_half", "grown_seed_1", "short"]
    assert [row[0] for row in numbers] == ["equal steps", "equal compute", "half the budget"]


def test_growth_that_ends_below_holds():
    runs = {
        run: (rung, seed, keys, steps, loss - (0.5 if "growth" in keys else 0), stages)
        for run, (rung, seed, keys, steps, loss, stages) in made_up_growth.RUNS.items()
    }
    with made_up_growth.in_memory(runs, a6.QUESTION) as connection:
        claims = connection.execute("SELECT holds FROM claims").fetchall()
        verdict = a6.QUESTION.verdict(connection)
    assert claims[0] == claims[1] == claims[3] == ("yes",)
    assert claims[2] == ("within noise",)  # 0.1 below, as far as uniform runs end apart
    assert "At equal steps growth training ends below uniform training, as claimed: -0.320 nats" in verdict


def test_without_growth_nothing_has_been_run():
    runs = {"baseline": made_up_growth.RUNS["baseline"]}
    with made_up_growth.in_memory(runs, a6.QUESTION) as connection:
        assert {holds for (holds,) in connection.execute("SELECT holds FROM claims").fetchall()} == {"no run"}
        assert a6.QUESTION.verdict(connection).startswith("No growth training stands beside uniform training")
        assert [run for run, *_ in connection.execute(a6.QUESTION.runs).fetchall()] == ["baseline"]
