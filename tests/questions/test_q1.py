"""The claims of Q1 against results made so that the answer is known."""

import copy

import made_up_results as made_up
import pytest

from perlayer import questions
from perlayer.questions import q1

# The claims in the order of the view.
ORDINARY, EARLY, CATCH_UP, SEPARATE, MIDDLE, SHALLOWER, SHARED, COST, COST_SHARED, COST_STOP, ORDER = range(11)


@pytest.fixture
def judge(monkeypatch):
    """A function that judges the claims on made-up runs with some of their numbers changed."""

    def judge(runs=made_up.RUNS, ordinary=(), added=(), claims_alone=False, **gaps):
        changed = copy.deepcopy(made_up.GAPS)
        for setup, layers in gaps.items():
            changed[setup].update(layers)
        monkeypatch.setattr(made_up, "GAPS", changed)
        monkeypatch.setattr(made_up, "ORDINARY", {**made_up.ORDINARY, **dict(ordinary)})
        runs = {run: made_up.RUNS[run] for run in runs}
        rows = []
        for run, definition in runs.items():
            depth, setup = definition.get("layers", made_up.LAYERS), definition["readouts"]
            for layer in [depth] if setup == "none" else range(1, depth + 1):
                loss = made_up.final(definition, layer) + dict(added).get((run, layer), 0.0)
                readout = "head" if layer == depth else made_up.READOUT.get(setup, setup)
                rows.append({"run": run, "layer": layer, "readout": readout, "value": loss})
        with made_up.in_memory(rows, runs, made_up.LAYERS, q1.QUESTION) as connection:
            claims = connection.execute("SELECT measured, holds FROM claims WHERE question = 'Q1'").fetchall()
            if claims_alone:
                return claims
            return claims, q1.verdict(connection), questions.state(connection, q1.QUESTION)

    return judge


def test_claims_of_results_like_the_published_ones(judge):
    claims, verdict, state = judge(separate={3: 0.05, 4: 0.04, 5: 0.045})
    assert claims == [
        ("3.200 3.000 2.950 2.920 2.900 2.890 (layers 1 to 6)", "yes"),
        ("+0.650 +0.800 +0.550 (layers 1 to 3)", "yes"),
        ("+0.100 +0.000 (layers 5, 6)", "yes"),
        # The last layer is the mean of three pairs: 0.06 + (0, 0.004, -0.002).
        ("+0.300 +0.150 +0.050 +0.040 +0.045 +0.061 (layers 1 to 6)", "yes"),
        ("smallest at layer 4", "yes"),
        ("+0.030 against the model of 4 layers", "yes"),  # 2.89 + 0.06 - 2.92
        ("+0.500 +0.200 +0.100 +0.080 +0.080 +0.090 (layers 1 to 6)", "yes"),
        ("+0.061 ± 0.002 (3 seeds)", "yes"),  # the standard error is sqrt(28e-6 / 9) = 0.0018
        ("+0.090 ± 0.001 (3 seeds)", "yes"),  # sqrt(3e-6 / 9) = 0.0006
        ("+0.120 (1 seed)", "yes"),
        ("+0.061, +0.090, +0.120 (separate, shared, stop-gradient)", "yes"),
    ]
    assert state == "measured"
    assert "layer 1 ends 0.650 nats above" in verdict and "layer 6 ends level with" in verdict
    assert "6 of 6 layers end above" in verdict and "closest at layer 4" in verdict
    assert "+0.061 nats with separate heads (standard error 0.002 over 3 seeds)" in verdict
    assert "4 plain runs end 0.005 nats apart" in verdict
    assert "Of 11 published claims, at size nano: 11 held." in verdict


# Seeds add 0, 0.002, -0.003 and 0.001 to the last layer, so the spread is 0.005; among the separate heads' three seeds
# it is 0.006 - -0.005 = 0.011. Three standard errors of their pairs are 0.0053.
@pytest.mark.parametrize(
    "claim, changes, holds",
    [
        (ORDINARY, {"ordinary": {5: 2.93}}, "no"),
        (ORDINARY, {"ordinary": {5: 2.923}}, "within noise"),
        (EARLY, {"probes": {2: -0.1}}, "no"),
        (EARLY, {"probes": {2: 0.01}}, "within noise"),
        (CATCH_UP, {"added": {("probes", 6): 0.05}}, "no"),
        (CATCH_UP, {"probes": {5: 0.01}}, "within noise"),
        (CATCH_UP, {"probes": {5: -0.1}}, "no"),
        (SEPARATE, {"separate": {3: -0.02}}, "no"),
        (SEPARATE, {"separate": {3: 0.01}}, "within noise"),
        (SEPARATE, {"separate": {6: -0.01}}, "no"),
        (MIDDLE, {"separate": {1: 0.01}}, "no"),
        (MIDDLE, {"separate": {6: 0.055}}, "within noise"),
        (SHALLOWER, {"separate": {6: 0.01}}, "no"),
        (SHALLOWER, {"separate": {6: 0.035}}, "within noise"),
        (SHARED, {"shared": {4: -0.02}}, "no"),
        (COST, {"separate": {6: 0.004}}, "within noise"),
        (COST, {"separate": {6: 0.006}}, "yes"),
        (COST, {"separate": {6: -0.02}}, "no"),
        (COST_SHARED, {"shared": {6: -0.02}}, "no"),
        (COST_STOP, {"shared_stop_gradient": {6: 0.004}}, "within noise"),
        (COST_STOP, {"shared_stop_gradient": {6: -0.006}}, "no"),
        (ORDER, {"separate": {6: 0.1}}, "no"),
        (ORDER, {"shared_stop_gradient": {6: 0.094}}, "within noise"),
        (ORDER, {"shared_stop_gradient": {6: 0.08}}, "no"),
    ],
)
def test_a_claim_is_denied_or_within_noise(judge, claim, changes, holds):
    assert judge(**changes, claims_alone=True)[claim][1] == holds


def test_without_runs_no_claim_is_judged(judge):
    claims, verdict, state = judge([])
    assert claims == [(None, "no run")] * 11
    assert state == "not yet run" and verdict == "None of the runs that answer it is here yet."


def test_some_runs_answer_a_part(judge):
    claims, verdict, state = judge(["baseline", "separate", "depth_1", "depth_4"])
    assert state == "partly measured" and "6 without a run" in verdict
    # Without seeds nothing says what is noise.
    assert claims[SEPARATE] == ("+0.300 +0.050 +0.060 (layers 1, 4, 6)", "within noise")
    assert claims[COST] == ("+0.060 (1 seed)", "within noise") and "the noise is not known: no seeds." in verdict
    assert [number for number, claim in enumerate(claims) if claim[1] == "no run"] == [
        EARLY, CATCH_UP, SHARED, COST_SHARED, COST_STOP, ORDER
    ]  # fmt: skip


def test_numbers_are_the_final_losses_of_the_lowest_seed(warehouse_dir):
    with questions.connect(warehouse_dir) as connection:
        rows = connection.execute(q1.QUESTION.numbers).fetchall()
        names = [column[0] for column in connection.description]
    for layer, *found in rows:
        setups = [made_up.GAPS.get(setup, {}).get(layer, 0.0) for setup in names[1:]]
        assert found == pytest.approx([made_up.ORDINARY[layer] + gap for gap in setups])


def test_published_numbers_give_the_published_differences(warehouse_dir):
    with questions.connect(warehouse_dir) as connection:
        rows = connection.execute(q1.QUESTION.published).fetchall()
        claims = connection.execute("SELECT published FROM claims").fetchall()
    # Differences were published of unrounded losses, so the last digit may differ by one.
    shared = [row[4] - row[1] for row in rows if row[4] is not None]
    probes = [row[2] - row[1] for row in rows if row[2] is not None]
    for claim, differences in ((SHARED, shared), (EARLY, probes[:2]), (CATCH_UP, probes[-2:])):
        words = claims[claim][0].split(" (")[0].split()
        assert [float(word) for word in words] == pytest.approx([float(value) for value in differences], abs=0.0011)
    assert claims[ORDINARY][0] == " ".join(f"{row[1]:.3f}" for row in rows)


def test_it_reads_the_runs_of_the_recipe(warehouse_dir):
    with questions.connect(warehouse_dir) as connection:
        found = {row[0]: row[1] for row in connection.execute(q1.QUESTION.runs).fetchall()}
    assert found.keys() == made_up.RUNS.keys()
    assert found["depth_3"] == "ordinary" and found["baseline"] == "baseline" and found["probes_ema"] == "probes"
