"""The claims of Q6 against results made so that the answer is known."""

import copy

import made_up_results as made_up
import pandas as pd
import pytest

from perlayer import questions
from perlayer.questions import q6

# The claims in the order of the view.
SEPARATE, PROBES, STILL_WORSE, SHARE = range(4)


@pytest.fixture
def judge(monkeypatch):
    """A function that judges the claims on made-up runs with some changes of the retraining changed."""

    def judge(runs=made_up.RUNS, retrained=made_up.RETRAINED, gaps=(), claims_alone=False, **changes):
        changed = copy.deepcopy(made_up.CHANGES)
        for setup, layers in changes.items():
            changed[setup].update(layers)
        monkeypatch.setattr(made_up, "CHANGES", changed)
        monkeypatch.setattr(made_up, "GAPS", {**made_up.GAPS, **dict(gaps)})
        runs = {run: made_up.RUNS[run] for run in runs}
        rows = [*made_up.validation(runs), *(made_up.retrained(run) for run in retrained)]
        with made_up.in_memory(pd.concat(rows) if rows else [], runs, made_up.LAYERS, q6.QUESTION) as connection:
            claims = connection.execute("SELECT measured, holds FROM claims WHERE question = 'Q6'").fetchall()
            if claims_alone:
                return claims
            named = connection.execute(q6.QUESTION.runs).fetchall()
            return claims, q6.verdict(connection), questions.state(connection, q6.QUESTION), named

    return judge


def test_claims_of_results_like_the_published_ones(judge):
    claims, verdict, state, named = judge()
    assert claims == [
        ("+0.030 +0.025 +0.022 +0.020 +0.018 +0.016 (layers 1 to 6)", "yes"),
        ("-0.030 -0.040 -0.020 +0.010 -0.010 (layers 1 to 5)", "yes"),
        # The gaps 0.35, 0.65 and 0.49, less what retraining brings them together: 0.06, 0.065 and 0.042.
        ("+0.290 +0.585 +0.448 (layers 1 to 3)", "yes"),
        # The mean gap of layers 1 to 5 is 1.785 / 5, and it closes by (0.115 + 0.09) / 5.
        ("11 % of 0.357 nats", "yes"),
    ]
    assert state == "measured"
    assert [(run, present) for run, _, _, _, present in named] == [("probes", True), ("separate", True)]
    assert "separate heads end +0.023 nats from where training left them" in verdict
    assert "most at layer 1 (+0.030): at 6 of 6 layers by more than three standard errors" in verdict
    assert "at 6 by more than what seeds change" in verdict  # their losses differ by 0.011 between seeds
    assert "Probes end -0.018 nats" in verdict and "at 5 of 6 layers" in verdict
    assert "probes end 0.357 nats above separate heads on average, and 0.316 once both are retrained" in verdict
    assert "that closes 11 % of the gap (seeds change 0.031). The gap is in the features, not in the heads." in verdict
    assert "Of 4 published claims, at size nano: 4 held." in verdict


# Seeds change the separate heads by 0.011, the probes below the last layer by 0.031 and the last layer by 0.005. The
# gaps before are 0.35, 0.65, 0.49, 0.25 and 0.045; at layer 5 retraining may change the probes by 0.045 - 0.031.
@pytest.mark.parametrize(
    "claim, changes, holds",
    [
        (SEPARATE, {"separate": {3: -0.012}}, "no"),
        (SEPARATE, {"separate": {3: -0.01}}, "within noise"),
        (SEPARATE, {"separate": {6: 0.01}}, "within noise"),
        (SEPARATE, {"separate": {6: -0.02}}, "no"),
        (PROBES, {"probes": {5: -0.013}}, "yes"),
        (PROBES, {"probes": {5: -0.015}}, "within noise"),
        (PROBES, {"gaps": {"probes": {**made_up.GAPS["probes"], 5: 0.0}}}, "no"),
        (PROBES, {"probes": {2: -0.7}}, "no"),
        (PROBES, {"probes": {2: 0.7}}, "no"),
        (PROBES, {"probes": {2: -0.64}}, "within noise"),
        (STILL_WORSE, {"probes": {1: -0.3}}, "within noise"),
        (STILL_WORSE, {"probes": {1: -0.36}}, "no"),
        (STILL_WORSE, {"probes": {5: -0.3}}, "yes"),  # beyond the first half
        # The gap after must be 0.031 from half of 0.357: between 0.1475 and 0.2095, where it is 0.316 - x.
        (SHARE, {"probes": {2: -0.04 - 0.5}}, "yes"),
        (SHARE, {"probes": {2: -0.04 - 0.6}}, "within noise"),
        (SHARE, {"probes": {2: -0.04 - 0.8}}, "within noise"),
        (SHARE, {"probes": {2: -0.04 - 0.9}}, "no"),
    ],
)
def test_a_claim_holds_is_denied_or_within_noise(judge, claim, changes, holds):
    assert judge(**changes, claims_alone=True)[claim][1] == holds


@pytest.mark.parametrize(
    "changes, said",
    [
        ({"probes": {2: -0.94}}, "that closes 62 % of the gap (seeds change 0.031). The gap is in the heads more than"),
        ({"probes": {2: -0.70}}, "too near to one half to say whether it is in the heads or in the features"),
        ({"probes": {2: 0.3}}, "that adds 8 % to the gap"),
        ({"gaps": {"probes": made_up.GAPS["separate"]}}, "there is no gap to look for"),
    ],
)
def test_the_verdict_says_where_the_gap_is(judge, changes, said):
    assert said in judge(**changes)[1]


def test_where_there_is_no_gap_there_is_none_to_close(judge):
    claims, *_ = judge(gaps={"probes": {layer: gap - 0.2 for layer, gap in made_up.GAPS["separate"].items()}})
    assert claims[SHARE] == ("no gap to close: -0.200 nats", "no")


def test_without_seeds_the_noise_is_not_known(judge):
    claims, verdict, _, _ = judge(["probes", "separate"], separate={6: 0.0001})
    assert [holds for _, holds in claims] == ["within noise"] * 4
    assert "at 5 of 6 layers by more than three standard errors of the held-out text, and what seeds change" in verdict
    assert "+0.357 nats from separate heads on average, and +0.316 once both are retrained; what seeds" in verdict
    assert "where the gap is cannot be told" in verdict


def test_the_verdict_says_how_far_retraining_still_moved(judge):
    # Losses go in a straight line, evaluated every 5 of 20 updates: a quarter of the mean changes, which are
    # 0.131 / 6 and -0.088 / 6.
    assert (
        "between the last two evaluations, 5 updates apart, the held-out loss still moved by +0.0055 nats for separate "
        "heads and -0.0037 nats for probes, on average over the layers." in judge()[1]
    )


def test_without_retraining_no_claim_is_judged(judge):
    for runs in ([], made_up.RUNS):
        claims, verdict, state, named = judge(runs, retrained=[])
        assert claims == [(None, "no run")] * 4
        assert state == "not yet run" and verdict == "No readouts have been retrained yet."
        assert not any(present for *_, present in named)
    assert [run for run, *_ in named] == ["probes", "separate"]


@pytest.mark.parametrize("there, judged", [("separate", [SEPARATE]), ("probes", [])])
def test_one_setup_alone_answers_a_part(judge, there, judged):
    claims, verdict, state, named = judge(retrained=[there])
    assert [number for number, claim in enumerate(claims) if claim[1] != "no run"] == judged
    assert state == ("partly measured" if judged else "not yet run")
    assert {run: present for run, _, _, _, present in named} == {
        "probes": there == "probes",
        "separate": there == "separate",
    }
    assert "nats from where training left them" in verdict and "features" not in verdict


def test_numbers_are_those_of_the_views(warehouse_dir):
    with questions.connect(warehouse_dir) as connection:
        table = connection.execute(q6.QUESTION.numbers).df().set_index("layer")
    assert set(q6.QUESTION.signed) <= set(table.columns)
    for layer in range(1, made_up.LAYERS + 1):
        for setup in made_up.RETRAINED:
            assert table.loc[layer, f"{setup}_before"] == pytest.approx(made_up.held_out(made_up.RUNS[setup], layer))
            assert table.loc[layer, f"{setup}_change"] == pytest.approx(made_up.CHANGES[setup][layer])
