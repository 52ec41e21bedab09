"""The claims of F16 against results made so that the answer is known."""

import made_up_results as made_up
import pandas as pd
import pytest

from perlayer import questions
from perlayer.questions import f16

# The claims in the order of the view.
FALLS, ABOVE_HEADS, LAST_TWO, TUNED = range(4)


@pytest.fixture
def judge(monkeypatch):
    """A function that judges the claims on made-up runs with some numbers of their lenses changed.

    `excess` changes `EXCESS`, and `added` adds to a number of one run, readout, layer and metric.
    """

    def judge(runs=made_up.RUNS, without=(), excess=(), added=(), claims_alone=False):
        monkeypatch.setattr(made_up, "EXCESS", {**made_up.EXCESS, **dict(excess)})
        runs = {run: made_up.RUNS[run] for run in runs}
        analyses = {key: table for key, table in made_up.analyses(runs).items() if key[0] not in without}
        if not runs:
            analyses = {}
        rows = [*made_up.validation(runs), *analyses.values()]
        table = pd.concat(rows) if rows else []
        for (run, readout, layer, metric), value in dict(added).items():
            one = (table["run"] == run) & (table["readout"] == readout) & (table["layer"] == layer)
            one &= (table["metric"] == metric) & (table["split"] == "val")
            assert one.sum() == 1
            table.loc[one, "value"] += value
        with made_up.in_memory(table, runs, made_up.LAYERS, f16.QUESTION) as connection:
            claims = connection.execute("SELECT measured, holds FROM claims WHERE question = 'F16'").fetchall()
            if claims_alone:
                return claims
            named = connection.execute("SELECT run, present FROM (" + f16.QUESTION.runs + ")").fetchall()
            return claims, f16.verdict(connection), questions.state(connection, f16.QUESTION), named

    return judge


def test_claims_of_results_like_the_published_ones(judge):
    claims, verdict, state, named = judge()
    assert claims == [
        # 3.0 at the last layer, and what the lens is above it
        ("6.600 6.100 5.800 5.400 4.000 3.000 (layers 1 to 6)", "yes"),
        # Separate heads are 3.61, 3.26, 3.12, 3.08 and 3.065.
        ("+2.990 +2.840 +2.680 +2.320 +0.935 (layers 1 to 5)", "yes"),
        ("67 % of 3.600 nats", "yes"),  # 5.4 - 3.0 of 6.6 - 3.0
        # Layers 0 to 5 of three runs and 0 to 11 of a published model.
        ("at 30 of 30 layers of 4 models", "yes"),
    ]
    assert state == "measured"
    setups = ["baseline", "probes", "separate", "shared", "shared_stop_gradient"]
    assert named == [(run, True) for run in setups]
    assert "The logit lens reads baseline at 6.600 nats after layer 1 and 3.000 after layer 6" in verdict
    assert "the last two layers bring 67 % of that fall" in verdict
    # Probes are 3.96, 3.91, 3.61, 3.33 and 3.11.
    assert "0.890 to 2.640 nats above the probes of the same layers" in verdict
    assert "0.935 to 2.990 nats above the separate heads" in verdict
    # The excess of layers 1 to 5 is 12.9 in all, and its divergence half of that.
    assert "from 1.290 to 0.645 in baseline, from 0.645 to 0.32" in verdict
    assert "in deep_model. For the logit lens alone it is 0.32" in verdict
    assert "farther" not in verdict
    assert "Of 4 published claims, at size nano: 4 held." in verdict


LENS = made_up.LENS_ERROR
BASELINE = ("baseline", "logit_lens")


# Three standard errors of one reading are 0.03, and of two 0.042. Seeds differ by 0.005 at the last layer, and the
# separate heads' by 0.011; what is added to one seed of a lens widens its spread.
@pytest.mark.parametrize(
    "claim, changes, holds",
    [
        (FALLS, {"excess": {3: 3.2}}, "no"),
        (FALLS, {"excess": {3: 3.07}}, "within noise"),
        (FALLS, {"excess": {3: 3.13}}, "within noise"),
        (FALLS, {"excess": {3: 3.05}}, "yes"),
        (FALLS, {"excess": {0: 0.0}}, "yes"),  # the embedding is no layer
        (FALLS, {"excess": {3: 3.05}, "added": {(*BASELINE, 3, "loss_standard_error"): 0.02}}, "within noise"),
        (ABOVE_HEADS, {"excess": {5: 0.03}}, "no"),  # separate heads of layer 5 are 0.065 above the baseline
        (ABOVE_HEADS, {"excess": {5: 0.08}}, "within noise"),
        (ABOVE_HEADS, {"excess": {5: 0.1}}, "yes"),
        (ABOVE_HEADS, {"added": {("probes_seed_1", "logit_lens", 5, "loss"): 1.0}}, "within noise"),
        (ABOVE_HEADS, {"added": {("separate_seed_1", "separate", 5, "loss"): 1.0}}, "within noise"),
        (ABOVE_HEADS, {"added": {("separate_seed_1", "separate", 5, "loss"): 0.9}}, "yes"),
        (LAST_TWO, {"excess": {4: 1.7}}, "no"),
        (LAST_TWO, {"excess": {4: 1.82}}, "within noise"),  # 3 sqrt(1.5) standard errors are 0.037
        (LAST_TWO, {"excess": {4: 1.84}}, "yes"),
        (TUNED, {"added": {("separate", "tuned_lens", 2, "kl_final_lens"): 0.388 + 0.043}}, "no"),
        (TUNED, {"added": {("separate", "tuned_lens", 2, "kl_final_lens"): 0.388}}, "within noise"),
        (TUNED, {"added": {("separate", "tuned_lens", 2, "kl_final_lens"): 0.34}}, "yes"),
        (TUNED, {"added": {("separate", "tuned_lens", 6, "kl_final_lens"): 9.0}}, "yes"),  # the last layer has none
        (TUNED, {"added": {("deep_model", "tuned_lens", 7, "kl_final_lens"): 9.0}}, "no"),
    ],
)
def test_a_claim_holds_is_denied_or_within_noise(judge, claim, changes, holds):
    assert judge(**changes, claims_alone=True)[claim][1] == holds


def test_where_the_tuned_lens_is_worse_is_said_with_run_and_layer(judge):
    added = {
        ("separate", "tuned_lens", 2, "kl_final_lens"): 0.5,  # from 0.3875, where the logit lens is 0.775
        ("baseline", "tuned_lens", 0, "kl_final_lens"): 1.01,  # from 1, where it is 2
    }
    claims, verdict, _, _ = judge(added=added)
    measured = "at 28 of 30 layers of 4 models; farther: baseline layer 0 (+0.010), separate layer 2 (+0.112)"
    assert claims[TUNED] == (measured, "no")
    assert (
        "On held-out text the tuned lens lies farther away than the logit lens at layer 0 of baseline (by 0.010) and "
        "layer 2 of separate (by 0.112)." in verdict
    )


def test_a_lens_that_does_not_fall_is_said_to_rise(judge):
    claims, verdict, _, _ = judge(excess={1: -0.5, 2: -0.4, 3: -0.3, 4: -0.2, 5: -0.1})
    assert claims[LAST_TWO] == ("it does not fall", "no") and claims[FALLS][1] == "no"
    assert "and it rises at layers 2 to 6." in verdict and "of that fall" not in verdict


def test_probes_stand_for_the_baseline_that_no_lens_has_read(judge):
    claims, verdict, _, named = judge([run for run in made_up.RUNS if run != "baseline"])
    assert claims[FALLS] == ("6.600 6.100 5.800 5.400 4.000 3.000 (layers 1 to 6)", "yes")
    assert "The logit lens reads probes at 6.600" in verdict


def test_without_lenses_no_claim_is_judged(judge):
    for arguments in ({"runs": []}, {"without": ["lens", "tuned_lens", "published_lens", "retrain_heads"]}):
        claims, verdict, state, named = judge(**arguments)
        assert claims == [(None, "no run")] * 4
        assert state == "not yet run" and verdict == "No finished model has been read by a lens yet."
        assert not any(present for _, present in named)
    assert len(named) == 5


def test_some_lenses_answer_a_part(judge):
    claims, verdict, state, _ = judge(without=["tuned_lens", "published_lens"])
    assert [holds for _, holds in claims] == ["yes", "yes", "yes", "no run"] and state == "partly measured"
    assert "For the logit lens alone KL(final || lens) below the last layer is 1.290 in baseline" in verdict
    claims, verdict, state, _ = judge(["separate"])
    assert [holds for _, holds in claims] == ["no run", "no run", "no run", "yes"] and state == "partly measured"
    claims, _, _, _ = judge(["baseline", "probes"])
    assert [holds for _, holds in claims] == ["yes", "no run", "yes", "yes"]


def test_the_last_two_of_few_layers_say_nothing(judge, monkeypatch):
    monkeypatch.setattr(made_up, "LAYERS", 3)
    monkeypatch.setattr(made_up, "RETRAINED", ())
    monkeypatch.setattr(made_up, "GAPS", {setup: {1: 0.3, 2: 0.1, 3: 0.0} for setup in made_up.GAPS})
    claims, verdict, _, _ = judge(["baseline", "separate"])
    # Two models are compared, and without seeds nothing says what is noise between them.
    assert [holds for _, holds in claims] == ["yes", "within noise", "no run", "yes"] and "last two" not in verdict


def test_published_numbers_give_the_published_claims(warehouse_dir):
    with questions.connect(warehouse_dir) as connection:
        rows = connection.execute(f16.QUESTION.published).fetchall()
        claims = [
            row[0] for row in connection.execute("SELECT published FROM claims WHERE question = 'F16'").fetchall()
        ]
    lens = [float(row[1]) for row in rows]
    assert claims[FALLS] == " ".join(f"{loss:.3f}" for loss in lens) + " (130m)"
    differences = " ".join(f"{row[1] - row[2]:+.3f}" for row in rows[:-1])
    assert claims[ABOVE_HEADS] == f"{differences} (layers 1 to 5, 130m)"
    fall = lens[0] - lens[-1]
    assert claims[LAST_TWO] == f"{100 * (lens[-3] - lens[-1]) / fall:.0f} % of {fall:.3f} nats (130m)"


def test_numbers_are_those_of_the_lead_runs(warehouse_dir):
    with questions.connect(warehouse_dir) as connection:
        table = connection.execute(f16.QUESTION.numbers).df().set_index(["setup", "layer"])
    assert len(table) == 5 * (made_up.LAYERS + 1)
    trained = made_up.held_out(made_up.RUNS["separate"], 3)
    last = made_up.held_out(made_up.RUNS["separate"], 6)
    assert table.loc[("separate", 3)].tolist() == pytest.approx(
        [last + 1.4, last + 0.7, trained, trained + made_up.CHANGES["separate"][3]]
    )
    assert pd.isna(table.loc[("separate", 0), "trained"]) and pd.isna(table.loc[("shared", 3), "retrained"])
