"""The claims of Q3 against results made so that the answer is known."""

import math
import statistics

import made_up_designs as designs
import made_up_results as made_up
import pytest

from perlayer import questions
from perlayer.questions import q3

# The claims in the order of the view.
LAST, PROBES, SEPARATE, COST = range(4)
SEEDS = [0.0, 0.002, -0.003, 0.001]  # of the plain sandwich runs, at the last layer
SEED_STD = statistics.stdev(SEEDS)
PAIRS = [0.0, 0.004, -0.002]  # what seeds add to the cost of separate heads


@pytest.fixture
def judge(monkeypatch):
    """A function that judges the claims on made-up runs, where designs add what `ADDED` says but for `changes`."""

    def judge(runs=designs.RUNS, changes=None, scrambled=(), further=None, claims_alone=False):
        monkeypatch.setattr(designs, "ADDED", designs.ADDED if changes is None else changes)
        monkeypatch.setattr(designs, "SCRAMBLED", dict(scrambled))
        runs = {run: designs.RUNS[run] for run in runs} | (further or {})
        with made_up.in_memory(designs.final_losses(runs), runs, made_up.LAYERS, q3.QUESTION) as connection:
            claims = connection.execute("SELECT measured, holds FROM claims WHERE question = 'Q3'").fetchall()
            if claims_alone:
                return claims
            layers = connection.execute("FROM design_layers").df().set_index(["residual", "readouts", "layer"])
            return claims, q3.verdict(connection), questions.state(connection, q3.QUESTION), layers

    return judge


def test_designs_that_end_apart(judge):
    claims, verdict, state, _ = judge()
    last = statistics.stdev([0.0, *(added[0] for added in designs.ADDED.values())])
    assert claims[LAST] == (f"10 designs: std {last:.3f} against 3 × {SEED_STD:.3f}", "yes")
    below = statistics.stdev([0.0, *(last + below for last, below, _ in designs.ADDED.values())])
    of_probes = statistics.stdev([0.01 * seed + more for seed, more in enumerate(SEEDS)])
    five = " ".join([f"{below:.3f}"] * 5), " ".join([f"{of_probes:.3f}"] * 5)
    assert claims[PROBES] == (f"10 designs: std ({five[0]}) against 3 × ({five[1]}) (layers 1 to 5)", "yes")
    assert claims[SEPARATE][1] == "yes"
    costs = [0.06 + 0.002 / 3, *(0.06 + cost for _, _, cost in designs.ADDED.values())]
    apart = f"10 designs: std {statistics.stdev(costs):.3f} against 3 × {statistics.stdev(PAIRS):.3f}"
    assert claims[COST] == (apart, "yes")
    assert state == "testing"  # all but one design have a single seed
    assert "The last layer of the plain model ends above the baseline with DeepNorm (+0.150), KEEL (+0.080)" in verdict
    assert "below the baseline with Hyper-Connections (-0.030), mHC (-0.025)" in verdict
    assert "within the noise of it with AttnRes block (noise 0.007)" in verdict
    # Three seeds of the sandwich design with separate heads end 0.0003 above the first on average.
    assert (
        "With separate heads the last layer ends above the baseline with DeepNorm (+0.190) and KEEL (+0.080); below "
        "the baseline with Hyper-Connections (-0.060) and mHC (-0.051); within the noise of it with " in verdict
    )
    assert "What separate heads cost the last layer lies above the baseline with DeepNorm (+0.039)" in verdict
    assert "Seeds are those of Sandwich-LN (4). All other designs have a single seed and borrow them." in verdict
    assert "No figure is published. Of 4 tested claims, at size nano: 4 held." in verdict


def test_what_counts_as_noise_is_three_standard_errors(judge):
    layers = judge()[3]
    row = layers.loc[("keel", "probes", 6)]
    assert row["difference"] == pytest.approx(0.08 - statistics.mean(SEEDS))
    assert row["noise"] == pytest.approx(3 * SEED_STD * math.sqrt(1 + 1 / 4))
    assert layers.loc[("sandwich", "probes", 6)].isna()[["difference", "noise"]].all()
    separate = statistics.stdev(one + more for one, more in zip(SEEDS, PAIRS))
    assert layers.loc[("keel", "separate", 2), "noise"] == pytest.approx(3 * separate * math.sqrt(1 + 1 / 3))


def test_seeds_of_a_design_count(judge):
    further = {f"keel_probes_seed_{seed}": {"residual": "keel", "readouts": "probes", "seed": seed} for seed in (1, 2)}
    _, verdict, _, layers = judge(further=further)
    mine = [0.08 + one for one in SEEDS[:3]]
    pooled = math.sqrt((3 * SEED_STD**2 + 2 * statistics.variance(mine)) / 5)
    row = layers.loc[("keel", "probes", 6)]
    assert row["runs"] == 3 and row["seed_std"] == pytest.approx(pooled)
    assert row["difference"] == pytest.approx(statistics.mean(mine) - statistics.mean(SEEDS))
    assert row["noise"] == pytest.approx(3 * pooled * math.sqrt(1 / 3 + 1 / 4))
    assert row["loss"] == pytest.approx(2.89 + 0.08)  # of the lowest seed
    assert layers.loc[("moda", "probes", 6), "noise"] == pytest.approx(3 * pooled * math.sqrt(1 + 1 / 4))
    assert "Seeds are those of Sandwich-LN (4) and KEEL (3). All other" in verdict


# Nine designs that add so much, plus or minus, have a standard deviation of about that. Seeds of the last layer have
# 0.0022, of probes below it 0.0125, of separate heads 0.0056 and of their cost 0.0031.
@pytest.mark.parametrize(
    "claim, much, holds",
    [
        (LAST, (0.006, 0, 0), "within noise"),
        (LAST, (0.008, 0, 0), "yes"),
        (PROBES, (0, 0.035, 0), "within noise"),
        (PROBES, (0, 0.045, 0), "yes"),
        (SEPARATE, (0, 0, 0.012), "within noise"),
        (SEPARATE, (0, 0, 0.02), "yes"),
        (COST, (0, 0, 0.008), "within noise"),
        (COST, (0, 0, 0.012), "yes"),
        (COST, (0.1, 0.1, 0), "within noise"),
    ],
)
def test_a_claim_holds_or_is_within_noise(judge, claim, much, holds):
    signs = dict(zip(designs.ADDED, [1, -1] * 5))
    changes = {residual: tuple(sign * more for more in much) for residual, sign in signs.items()}
    assert judge(changes=changes, claims_alone=True)[claim][1] == holds


def test_one_layer_within_noise_leaves_the_claim_within_noise(judge):
    back = {(residual, "probes"): {4: -below - last} for residual, (last, below, _) in designs.ADDED.items()}
    assert judge(scrambled=back)[0][PROBES][1] == "within noise"


def test_equal_designs_are_all_within_noise(judge):
    claims, verdict, _, _ = judge(changes=dict.fromkeys(designs.ADDED, (0.0, 0.0, 0.0)))
    assert [holds for _, holds in claims] == ["within noise"] * 4
    assert (
        "The last layer of the plain model ends within the noise of the baseline with all 9 others (noise 0.007)."
        in verdict
    )
    for words in ("Read by probes", "Read by them"):
        assert f"{words} below the last layer no design leaves the noise of the baseline at any layer." in verdict
    assert "Without " not in verdict


def test_what_leaves_the_noise_below_the_last_layer_is_named(judge):
    runs = [run for run in designs.RUNS if run in made_up.RUNS or run.startswith("keel")]
    scrambled = {("keel", "probes"): {2: 0.3, 3: 0.1, 5: -0.2}}
    _, verdict, _, _ = judge(runs, changes={"keel": (0.0, 0.0, 0.0)}, scrambled=scrambled)
    # Seeds add 0, 0.012, 0.017 and 0.031 to the baseline's probes: 0.015 on average.
    noise = 3 * statistics.stdev([0.0, 0.012, 0.017, 0.031]) * math.sqrt(1 + 1 / 4)
    assert (
        "Read by probes below the last layer these lie beyond the noise: above the baseline KEEL at layers 2 and 3 "
        f"(most at layer 2: +0.285, noise {noise:.3f}); below the baseline KEEL at layer 5 (-0.215, noise {noise:.3f})."
        in verdict
    )


def test_a_difference_that_reads_like_its_noise_has_more_digits(judge):
    noise = 3 * SEED_STD * math.sqrt(1 + 1 / 4)  # 0.007246
    changes = {"keel": (noise + 0.00002, 0.0, 0.0), "moda": (noise - 0.00002, 0.0, 0.0)}
    runs = [run for run in designs.RUNS if run in made_up.RUNS or run.startswith(("keel", "moda"))]
    _, verdict, _, _ = judge(runs, changes=changes)
    assert (
        "The last layer of the plain model ends above the baseline with KEEL (+0.0073, barely beyond noise 0.0072); "
        "within the noise of it with MoDA (noise 0.007)." in verdict
    )


def test_the_design_on_which_a_claim_hangs_is_named(judge):
    changes = {**dict.fromkeys(designs.ADDED, (0.0, 0.0, 0.0)), "deepnorm": (0.1, 0.0, 0.0)}
    claims, verdict, _, _ = judge(changes=changes)
    std = statistics.stdev([0.1, *[0.0] * 9])
    numbers = f"std {std:.3f} against 3 × {SEED_STD:.3f}"
    assert claims[LAST] == (f"10 designs: {numbers}; within noise without DeepNorm", "yes")
    assert (
        "Without DeepNorm, that plain models end apart at the last layer would be within noise: over designs the "
        f"standard deviation is {std:.3f} with it and 0.000 without, against 3 × {SEED_STD:.3f} over seeds." in verdict
    )


def test_value_residual_is_a_row_and_no_design_of_its_own(judge):
    run = {"residual": "sandwich", "readouts": "probes", "seed": 0, "value_residual": "learnable"}
    claims, verdict, _, _ = judge(further={"mine": run})
    assert claims == judge()[0] and "AttnRes block and Sandwich-LN, value residual (learnable)" in verdict
    runs = {**designs.RUNS, "mine": run}
    with made_up.in_memory(designs.final_losses(runs), runs, made_up.LAYERS) as connection:
        table = connection.execute(q3.QUESTION.numbers).df().set_index("design")
        assert connection.execute("SELECT count(*) FROM design_costs").fetchone() == (10,)
        listed = [row[:3] for row in connection.execute(q3.QUESTION.runs).fetchall()]
    assert list(table.index[:3]) == ["Sandwich-LN", "Sandwich-LN, value residual (learnable)", "Pre-LN"]
    row = table.iloc[1]
    assert row[["plain_last", "last_minus_baseline"]].tolist() == pytest.approx([2.89, 0.0 - statistics.mean(SEEDS)])
    assert row["seeds"] == "1" and math.isnan(row["separate_last"])
    assert ("mine", "sandwich", "learnable") in listed


# Up to four layers a block is one sublayer (tests/model/residual/test_attnres_block.py): block and full are one model.
@pytest.mark.parametrize("depth, ends", [(4, [3.0, 3.5]), (5, [3.0, 3.5, 3.5])])
def test_two_names_of_one_model_count_once(depth, ends):
    losses = {"sandwich": 3.0, "attnres_full": 3.5, "attnres_block": 3.5}
    runs = {residual: {"residual": residual, "readouts": "none", "seed": 0} for residual in losses}
    rows = [{"run": run, "layer": depth, "value": loss} for run, loss in losses.items()]
    whole = "SELECT designs, stds FROM design_spread WHERE left_out IS NULL"
    with made_up.in_memory(rows, runs, depth) as connection:
        assert connection.execute(whole).fetchall() == [(len(ends), [pytest.approx(statistics.stdev(ends))])]
        connection.execute("DELETE FROM runs WHERE run = 'attnres_full'")
        assert connection.execute(whole).fetchall() == [(2, [pytest.approx(statistics.stdev([3.0, 3.5]))])]


def test_the_background_says_how_often_chance_passes():
    # Closed forms. Student's t of two and three degrees of freedom beyond 3, to both sides; F of n and two beyond 9 is
    # 1 - (9 n / (9 n + 2)) ** (n / 2), for 2 to 10 designs.
    of_three_seeds = 1 - 3 / math.sqrt(2 + 9)
    of_four_seeds = 1 - 2 / math.pi * (math.atan(math.sqrt(3)) + math.sqrt(3) / 4)
    assert (round(1 / of_four_seeds), round(1 / of_three_seeds)) == (17, 10)
    assert {round(100 * (1 - (9 * n / (9 * n + 2)) ** (n / 2))) for n in range(1, 10)} == {10}
    said = q3.QUESTION.background
    assert "one of 17 comparisons passes that with four seeds" in said and "one of 10 with three" in said
    assert "in 5 of 100 cases, and with three in 10." in said


def test_too_few_seeds_tell_no_noise(judge):
    claims, verdict, state, layers = judge(["probes", "probes_seed_1", "keel_probes", "deepnorm_probes"])
    assert [holds for _, holds in claims] == ["within noise", "within noise", "no run", "no run"]
    assert state == "testing" and layers["noise"].isna().all()
    assert (
        "The last layer of the plain model ends apart from the baseline with DeepNorm (+0.149) and KEEL (+0.079) "
        "(noise not known: no seeds). Read by probes below the last layer nothing is judged: noise not known: no seeds."
        in verdict
    )
    assert claims[LAST][0].endswith("; noise not known")


def test_without_other_designs_nothing_is_judged(judge):
    for runs in ([], made_up.RUNS):
        claims, verdict, state, _ = judge(runs)
        assert claims == [(None, "no run")] * 4 and state == "not yet run"
        assert verdict == "No other residual design stands beside the baseline yet."


def test_three_seeds_of_every_design_answer(judge):
    keys = ("sandwich", "keel")
    runs = {
        f"{residual}_{readouts}_{seed}": {"residual": residual, "readouts": readouts, "seed": seed}
        for residual in keys
        for readouts in ("probes", "separate")
        for seed in (0, 1, 2)
    }
    assert judge([], further=runs)[2] == "measured"
    del runs["keel_separate_2"]
    assert judge([], further=runs)[2] == "testing"
    del runs["keel_separate_1"], runs["keel_separate_0"]
    assert judge([], further=runs)[2] == "partly measured"


def test_numbers_and_runs(designs_dir):
    with questions.connect(designs_dir) as connection:
        table = connection.execute(q3.QUESTION.numbers).df().set_index("design")
        runs = connection.execute(q3.QUESTION.runs).fetchall()
    assert list(table.index) == [
        "Sandwich-LN", "Pre-LN", "LayerNorm Scaling", "DeepNorm", "KEEL", "Hyper-Connections", "mHC", "AttnRes full",
        "AttnRes block", "MoDA",
    ]  # fmt: skip
    row = table.loc["KEEL"]
    assert row["plain_last"] == pytest.approx(2.89 + 0.08)
    assert row["probes_first"] == pytest.approx(3.2 + 0.65 + 0.08 + 0.25)
    assert row["probes_middle"] == pytest.approx(2.95 + 0.55 + 0.08 + 0.25)
    assert row["middle_minus_baseline"] == pytest.approx(0.33 - 0.015)
    assert row["separate_middle"] == pytest.approx(2.95 + 0.06 + 0.08) and row["seeds"] == "1 and 1"
    assert row["separate_last"] == pytest.approx(2.89 + 0.06 + 0.08)
    baseline = table.loc["Sandwich-LN"]
    separate = [one + more for one, more in zip(SEEDS, PAIRS)]
    assert baseline["seeds"] == "4 and 3" and baseline["separate_last"] == pytest.approx(
        2.95 + statistics.mean(separate)
    )
    noise = 3 * statistics.stdev(separate) * math.sqrt(1 + 1 / 3)
    assert row["separate_last_noise"] == pytest.approx(noise)
    for loss, difference in (("plain_last", "last_minus_baseline"), ("separate_last", "separate_last_minus_baseline")):
        assert (table[loss] - baseline[loss])[1:].tolist() == pytest.approx(table[difference][1:].tolist())
    assert set(q3.QUESTION.signed) <= set(table.columns)
    shared = {run for run, keys in made_up.RUNS.items() if keys["readouts"].startswith("shared")}
    assert {run for run, *_ in runs} == designs.RUNS.keys() - shared and all(row[-1] for row in runs)
