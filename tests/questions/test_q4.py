"""The claims of Q4 against results made so that the answer is known."""

import math
import statistics

import made_up_designs as designs
import made_up_results as made_up
import pytest

from perlayer import questions
from perlayer.questions import q4

LESS, PAYS = range(2)
BASELINE = 0.06 + 0.002 / 3  # the mean of three pairs: 0.06 + (0, 0.004, -0.002)
PAIR_STD = statistics.stdev([0.0, 0.004, -0.002])
NOISE = 3 * PAIR_STD  # of one pair: 0.0092, more than the 0.005 that plain runs end apart
BASELINE_NOISE = 3 * PAIR_STD / math.sqrt(3)


@pytest.fixture
def judge(monkeypatch):
    """A function that judges the claims on made-up runs, with another cost of Hyper-Connections or of the baseline."""

    def judge(runs=designs.RUNS, cost=None, baseline=None, further=None, claims_alone=False):
        if cost is not None:
            streams = designs.ADDED["hyper_connections"]
            changed = {**designs.ADDED, "hyper_connections": (*streams[:2], cost - made_up.GAPS["separate"][6])}
            monkeypatch.setattr(designs, "ADDED", changed)
        if baseline is not None:
            gaps = {**made_up.GAPS["separate"], 6: baseline}
            monkeypatch.setattr(made_up, "GAPS", {**made_up.GAPS, "separate": gaps})
        runs = {run: designs.RUNS[run] for run in runs} | (further or {})
        with made_up.in_memory(designs.final_losses(runs), runs, made_up.LAYERS, q4.QUESTION) as connection:
            claims = connection.execute("SELECT measured, holds FROM claims WHERE question = 'Q4'").fetchall()
            if claims_alone:
                return claims
            costs = connection.execute("FROM design_costs").df().set_index("residual")
            return claims, q4.verdict(connection), questions.state(connection, q4.QUESTION), costs

    return judge


def test_half_the_cost(judge):
    claims, verdict, state, _ = judge()
    share = 0.03 / BASELINE
    noise = math.hypot(NOISE, share * BASELINE_NOISE) / BASELINE
    assert claims == [
        (f"+0.030 against +0.061, {share:.0%} ± {noise:.0%}".replace("%", " %"), "yes"),
        ("+0.030", "yes"),
    ]
    assert state == "testing"
    assert "For separate heads the baseline's last layer pays +0.061 nats (3 pairs, noise 0.005)." in verdict
    assert (
        "Hyper-Connections pays +0.030 nats (1 pair, noise 0.009), 49 % ± 16 % of what the baseline pays: that is less "
        "beyond the noise (0.031 less, noise 0.011)." in verdict
    )
    assert "Of the other designs, mHC (+0.034, 56 %) and LayerNorm Scaling (+0.040, 66 %) pay less; MoDA" in verdict
    assert "DeepNorm (+0.100, 165 %) pay more; KEEL" in verdict and "AttnRes block (+0.070, 115 %) cannot be" in verdict
    assert "The plain Hyper-Connections model ends below the plain baseline (-0.030, noise 0.007)." in verdict
    assert "Of 2 tested claims, at size nano: 2 held." in verdict


def test_noise_of_costs_and_of_their_difference(judge):
    costs = judge()[3]
    assert costs.loc["sandwich", ["cost", "noise"]].tolist() == pytest.approx([BASELINE, BASELINE_NOISE])
    assert costs.loc["keel", "noise"] == pytest.approx(NOISE)
    assert costs.loc["keel", "less_noise"] == pytest.approx(PAIR_STD * 3 * math.sqrt(1 + 1 / 3))
    assert costs.loc["sandwich"].isna()[["less", "less_noise", "fraction_noise"]].all()


def test_one_pair_is_never_surer_than_plain_runs_are_apart(judge, monkeypatch):
    monkeypatch.setattr(made_up, "SETUP_SEEDS", {})  # all pairs cost the same
    costs = judge()[3]
    assert costs.loc["keel", "noise"] == pytest.approx(0.005)
    assert costs.loc["sandwich", "noise"] == pytest.approx(0.0, abs=1e-9)


def test_a_design_brings_its_own_seeds(judge):
    further = {
        f"mhc_{readouts}_seed_{seed}": {"residual": "mhc", "readouts": readouts, "seed": seed}
        for readouts in ("probes", "separate")
        for seed in (1, 2)
    }
    costs = judge(further=further)[3]
    assert costs.loc["mhc", "seeds"] == 3
    assert costs.loc["mhc", "cost"] == pytest.approx(BASELINE - 0.026)
    assert costs.loc["mhc", "noise"] == pytest.approx(BASELINE_NOISE)  # its pairs scatter as the baseline's do


# Noise of the difference is 0.0106, of a cost of one pair 0.0092 and of the baseline's 0.0053.
@pytest.mark.parametrize(
    "claim, changes, holds",
    [
        (LESS, {"cost": 0.049}, "yes"),
        (LESS, {"cost": 0.051}, "within noise"),
        (LESS, {"cost": 0.07}, "within noise"),
        (LESS, {"cost": 0.073}, "no"),
        (LESS, {"cost": -0.02}, "yes"),
        (LESS, {"cost": -0.1, "baseline": 0.003}, "within noise"),  # a baseline that does not pay
        (LESS, {"cost": -0.1, "baseline": -0.01}, "no"),
        (PAYS, {"cost": 0.01}, "yes"),
        (PAYS, {"cost": 0.008}, "within noise"),
        (PAYS, {"cost": -0.01}, "no"),
    ],
)
def test_a_claim_holds_is_denied_or_within_noise(judge, claim, changes, holds):
    assert judge(**changes, claims_alone=True)[claim][1] == holds


@pytest.mark.parametrize(
    "changes, said",
    [
        ({"cost": 0.055}, "these runs cannot tell it from the baseline (0.006 less, noise 0.011)."),
        ({"cost": 0.09}, "that is more, not less, beyond the noise (0.029 more, noise 0.011)."),
        (
            {"baseline": 0.003},
            "pays +0.004 nats (3 pairs, noise 0.005), which is no more than noise",
        ),
        # Three pairs: what is set and 0.0007; noise 0.0053.
        ({"baseline": -0.0055}, "pays -0.0048 nats (3 pairs, noise 0.0053), which is no more than noise"),
        (
            {"baseline": -0.0065},
            "pays -0.006 nats (3 pairs, noise 0.005): it gains, beyond the noise, so that shares of what it pays say "
            "nothing.",
        ),
    ],
)
def test_the_verdict_says_what_the_runs_can_tell(judge, changes, said):
    assert said in judge(**changes)[1]


def test_missing_runs(judge):
    claims, verdict, state, _ = judge(made_up.RUNS)
    assert claims == [(None, "no run")] * 2 and state == "not yet run"
    assert "Hyper-Connections has not been trained with and without separate heads yet." in verdict
    claims, verdict, state, _ = judge(["hyper_connections_probes", "hyper_connections_separate"])
    assert claims == [(None, "no run"), ("+0.030", "within noise")] and state == "testing"
    assert "The baseline has not been trained with separate heads yet" in verdict
    assert "Hyper-Connections pays +0.030 nats (1 pair, noise not known: no seeds)." in verdict
    claims, verdict, state, _ = judge(["baseline", "hyper_connections_probes"])
    assert verdict == "No model with separate heads stands beside a plain model of its design and seed yet."


def test_where_no_seeds_tell_the_noise_nothing_is_judged(judge):
    runs = [
        f"{residual}_{readouts}" for residual in ("hyper_connections", "keel") for readouts in ("probes", "separate")
    ]
    claims, verdict, _, _ = judge(["probes", "separate", *runs])
    assert [holds for _, holds in claims] == ["within noise"] * 2
    assert (
        "For separate heads the baseline's last layer pays +0.060 nats (1 pair, noise not known: no seeds), and "
        "whether that is more than noise cannot be said: shares of it say nothing. Hyper-Connections pays +0.030 nats "
        "(1 pair, noise not known: no seeds): whether that differs from the baseline cannot be said (0.030 less, noise "
        "not known: no seeds). Of the other designs, KEEL (+0.060) cannot be judged (noise not known: no seeds). How "
        "the plain Hyper-Connections model ends beside the plain baseline cannot be judged (-0.030, noise not known: "
        "no seeds)." in verdict
    )


def test_gains_of_the_streams(gather):
    runs = {"separate": {**made_up.RUNS["separate"], "residual": "hyper_connections"}, "baseline": made_up.PLAIN}
    runs["plain"] = {**runs["separate"], "readouts": "none"}
    table = made_up.routing("separate")
    with questions.connect(gather(runs, analysed={("routing", "separate"): table})) as connection:
        # The mean gains are 1 + 0.1 p and 1 + 0.2 p at sublayer p = 0 to 11, those of the greatest token twice that.
        gains = "up to 2.10 forwards and 3.20 backwards in Hyper-Connections (at single tokens 4.20 and 6.40)"
        assert f"The product of the matrices that mix streams has gains of {gains}." in q4.verdict(connection)


@pytest.mark.parametrize("other", [{"layers": 3}, {"value_residual": "identity"}, {"readouts": "shared"}])
def test_gains_are_of_the_runs_that_are_asked(gather, other):
    runs = {"separate": {**made_up.RUNS["separate"], "residual": "hyper_connections", **other}}
    runs |= {run: made_up.RUNS[run] for run in ("probes_seed_1", "separate_seed_1")}
    table = made_up.routing("separate")
    with questions.connect(gather(runs, analysed={("routing", "separate"): table})) as connection:
        verdict = q4.verdict(connection)
    assert "the baseline's last layer pays" in verdict and "The product of the matrices" not in verdict


def test_numbers_and_runs(designs_dir):
    with questions.connect(designs_dir) as connection:
        table = connection.execute(q4.QUESTION.numbers).df().set_index("design")
        runs = connection.execute(q4.QUESTION.runs).fetchall()
    assert len(table) == 10 and table["cost"].is_monotonic_increasing and table.index[0] == "Hyper-Connections"
    assert table.loc["MoDA", ["plain", "separate", "cost"]].tolist() == pytest.approx([2.875, 2.95, 0.075])
    assert (table["separate"] - table["plain"]).tolist() == pytest.approx(table["cost"].tolist())
    assert table.loc["Sandwich-LN", "plain"] == pytest.approx(2.89 + statistics.mean([0.0, 0.002, -0.003]))  # of pairs
    assert table.loc["MoDA", "fraction"] == pytest.approx(0.075 / BASELINE)
    assert set(q4.QUESTION.signed) <= set(table.columns)
    assert len(runs) == 8 + 18 and all(row[-1] for row in runs)  # no shared head, no other depth
