"""The claims of Q9 against results made so that the answer is known, and the rank statistic against all orders."""

import itertools
import math
import statistics

import made_up_designs as designs
import made_up_results as made_up
import pytest

from perlayer import questions
from perlayer.questions import q9

# The claims in the order of the view.
FULL_PROBES, FULL_LENS, BLOCK_PROBES, BLOCK_LENS, BASELINE = range(5)
FALLING = [4.0, 3.8, 3.5, 3.3, 3.1, 3.0]
# What seeds of the baseline add to each layer; the last is the head, of which probes and lenses agree.
SEEDS = {0: [0.0] * 6, 1: [0.01, 0.02, 0.0, 0.01, 0.03, 0.0], 2: [0.0, -0.01, 0.01, 0.02, 0.0, 0.01]}
ERROR = 0.01  # standard error of a lens over held-out text


def stepped(layer):
    """The standard deviation over seeds of the step to a layer."""
    return statistics.stdev(more[layer - 1] - more[layer - 2] for more in SEEDS.values())


@pytest.fixture
def judge():
    """A function that judges the claims on the losses after each layer, by design and readout."""

    def judge(losses, seeds=SEEDS, baseline=FALLING, further=(), twice=None, claims_alone=False):
        profiles = {("sandwich", readout, seed): [a + b for a, b in zip(baseline, more)]
                    for readout in ("probes", "logit_lens") for seed, more in seeds.items()}  # fmt: skip
        profiles |= {(residual, readout, 0): values for (residual, readout), values in losses.items()} | dict(further)
        runs, rows = {}, []
        for (residual, readout, seed), values in profiles.items():
            run = f"{residual}_{seed}"
            runs[run] = {"residual": residual, "readouts": "probes", "seed": seed}
            for layer, value in enumerate(values, start=1):
                row = {"run": run, "layer": layer, "split": "val", "readout": readout}
                if readout == "probes":
                    row["readout"] = "head" if layer == len(values) else "probe"
                else:
                    rows.append({**row, "metric": "loss_standard_error", "value": ERROR})
                rows.append({**row, "value": value})
        for run, definition in (twice or {}).items():
            same = f"{definition['residual']}_{definition['seed']}"
            rows += [{**row, "run": run} for row in rows if row["run"] == same]
            runs[run] = definition
        with made_up.in_memory(rows, runs, len(FALLING), q9.QUESTION) as connection:
            claims = connection.execute("SELECT measured, holds FROM claims WHERE question = 'Q9'").fetchall()
            if claims_alone:
                return claims
            orders = connection.execute("FROM depth_order").df().set_index(["residual", "readout"])
            steps = connection.execute("FROM depth_steps").df().set_index(["residual", "readout", "layer"])
            return claims, q9.verdict(connection), questions.state(connection, q9.QUESTION), orders, steps

    return judge


def changed(**layers):
    """`FALLING` with another loss at some layers."""
    return [layers.get(f"at_{layer}", loss) for layer, loss in enumerate(FALLING, start=1)]


def test_scrambled_and_ordered_models(judge):
    losses = {
        ("attnres_full", "probes"): [3.4, 4.1, 4.2, 3.5, 3.9, 3.0],
        ("attnres_full", "logit_lens"): changed(at_4=3.9),
        ("attnres_block", "probes"): FALLING,
        ("attnres_block", "logit_lens"): changed(at_2=4.01),
        ("keel", "probes"): changed(at_5=3.5),
    }
    claims, verdict, state, orders, _ = judge(losses)
    # Rising pairs of the first: 1 with 2, 3, 4 and 5; 2 with 3; 4 with 5.
    pairs = "6 of 15 pairs rise (p = 0.36)"
    assert claims[FULL_PROBES] == (f"tau -0.20, {pairs}; rises beyond the noise (layers 2, 3, 5)", "yes")
    # 4 above 2 and 3
    assert claims[FULL_LENS] == ("tau -0.73, 2 of 15 pairs rise (p = 0.028); rises beyond the noise (layer 4)", "yes")
    assert claims[BLOCK_PROBES] == ("tau -1.00, 0 of 15 pairs rise (p = 0.0014)", "no")
    pairs = "1 of 15 pairs rise (p = 0.0083)"
    assert claims[BLOCK_LENS] == (f"tau -0.87, {pairs}; within the noise (layer 2)", "within noise")
    assert claims[BASELINE] == ("tau -1.00, 0 of 15 pairs rise (p = 0.0014)", "yes")
    assert state == "testing"
    assert (
        "The loss of the baseline, read after each layer, falls with every layer by probes and the logit lens. The "
        "loss of AttnRes full, read after each layer, rises beyond the noise at layers 2, 3 and 5 (tau -0.20, no "
        "clearer an order than chance makes) by probes; rises beyond the noise at layer 4 (tau -0.73) by the logit "
        "lens." in verdict
    )
    assert "rises within the noise alone, at layer 2 (tau -0.87) by the logit lens." in verdict
    assert "Of the 1 other design, by probes the loss rises beyond the noise in KEEL (layer 5)." in verdict
    assert "Seeds, which the other designs borrow, are those of Sandwich-LN (3)." in verdict
    assert "Of 5 tested claims, at size nano: 3 held, 1 not held, 1 within noise." in verdict


def test_noise_of_a_step(judge):
    steps = judge({("attnres_full", "probes"): FALLING, ("attnres_full", "logit_lens"): FALLING})[4]
    for residual in ("sandwich", "attnres_full"):
        for layer in range(2, 7):
            runs = 3 if residual == "sandwich" else 1
            seeds = 3 * stepped(layer) / runs**0.5
            text = 3 * (2 * ERROR**2) ** 0.5
            assert steps.loc[(residual, "probes", layer), "noise"] == pytest.approx(seeds)
            assert steps.loc[(residual, "logit_lens", layer), "noise"] == pytest.approx(max(seeds, text))
            shifts = [more[layer - 1] - more[layer - 2] for more in SEEDS.values()] if runs == 3 else [0.0]
            rise = FALLING[layer - 1] - FALLING[layer - 2] + statistics.mean(shifts)
            assert steps.loc[(residual, "probes", layer), "rise"] == pytest.approx(rise)
        assert steps.loc[(residual, "probes", 1)].isna()[["rise", "noise"]].all()


def test_seeds_of_a_design_count(judge):
    more = [0.0, 0.3, 0.0, 0.0, 0.0, 0.0]
    further = {("attnres_full", "probes", seed): [a + seed * b for a, b in zip(FALLING, more)] for seed in (0, 1, 2)}
    claims, _, state, orders, steps = judge({}, further=further)
    # Steps to layer 2 of the three seeds differ by 0.3 from one to the next: of variance 0.09.
    pooled = ((2 * stepped(2) ** 2 + 2 * 0.09) / 4) ** 0.5
    assert steps.loc[("sandwich", "probes", 2), "noise"] == pytest.approx(3 * pooled / 3**0.5)
    # On average it rises by 0.1 from layer 1 to layer 2, and three standard errors are 0.37.
    assert steps.loc[("attnres_full", "probes", 2), "rise"] == pytest.approx(-0.2 + 0.3)
    assert claims[FULL_PROBES][1] == "within noise" and "; within the noise (layer 2)" in claims[FULL_PROBES][0]
    assert state == "partly measured"
    assert orders.loc[("attnres_full", "probes"), "runs"] == 3


# Three standard deviations of the step to layer 3 over seeds are 0.060, and three standard errors of a lens are 0.042.
@pytest.mark.parametrize(
    "readout, loss, holds",
    [
        ("probes", 3.8 + 0.061, "yes"),
        ("probes", 3.8 + 0.059, "within noise"),
        ("probes", 3.8 - 0.059, "within noise"),
        ("probes", 3.8 - 0.061, "no"),
        ("logit_lens", 3.8 + 0.061, "yes"),
        ("logit_lens", 3.8 - 0.061, "no"),
    ],
)
def test_a_claim_holds_is_denied_or_within_noise(judge, readout, loss, holds):
    assert 3 * stepped(3) == pytest.approx(0.06, abs=1e-4)
    for residual, first in (("attnres_full", FULL_PROBES), ("attnres_block", BLOCK_PROBES)):
        claims = judge({(residual, readout): changed(at_3=loss)}, claims_alone=True)
        assert claims[first + (readout == "logit_lens")][1] == holds


def test_the_baseline_must_fall(judge):
    # Its three seeds shift the step to layer 3 by 0 on average, and have a noise of 0.060 over the root of 3: 0.035.
    assert judge({}, baseline=changed(at_3=3.8 + 0.036))[0][BASELINE][1] == "no"
    assert judge({}, baseline=changed(at_3=3.8 - 0.036))[0][BASELINE][1] == "yes"
    for loss in (3.8 + 0.034, 3.8 - 0.034):
        measured, holds = judge({}, baseline=changed(at_3=loss))[0][BASELINE]
        assert holds == "within noise" and measured.endswith("; within the noise (layer 3)")


def test_without_seeds_nothing_is_judged(judge):
    losses = {("attnres_full", "probes"): changed(at_3=3.85), ("attnres_full", "logit_lens"): changed(at_3=3.85)}
    claims, verdict, _, _, steps = judge(losses, seeds={0: [0.0] * 6})
    assert [claims[place][1] for place in (FULL_PROBES, FULL_LENS, BASELINE)] == ["within noise"] * 3
    assert steps["noise"].isna().all()
    assert claims[BASELINE][0] == "tau -1.00, 0 of 15 pairs rise (p = 0.0014); noise not known"
    assert (
        "The loss of the baseline, read after each layer, falls with every layer (noise not known: no seeds) by probes "
        "and the logit lens." in verdict
    )
    assert "rises at layer 3, noise not known: no seeds (tau -0.87) by probes and the logit lens." in verdict
    assert "Seeds, which" not in verdict


def test_two_runs_of_one_seed_count_once(judge):
    twice = {"probes_again": {"residual": "sandwich", "readouts": "probes", "seed": 0}}
    steps = judge({}, twice=twice)[4]
    assert steps.loc[("sandwich", "probes", 2), "runs"] == 3
    assert steps.loc[("sandwich", "probes", 2), "noise"] == pytest.approx(3 * stepped(2) / 3**0.5)


def test_a_step_within_the_noise_is_named(judge):
    claims, verdict, _, _, _ = judge({("attnres_full", "probes"): changed(at_2=3.99)})
    pairs = "tau -1.00, 0 of 15 pairs rise (p = 0.0014)"
    assert claims[FULL_PROBES] == (f"{pairs}; within the noise (layer 2)", "within noise")
    assert "AttnRes full, read after each layer, falls with every layer, but within the noise at layer 2 by" in verdict


def test_attention_of_the_head_over_sources(gather):
    # The two runs of which `made_up_results` knows that they route; the one that is not plain attends otherwise.
    attends = {**made_up.RUNS["probes"], "residual": "attnres_full"}
    runs = {"shared": {**attends, "seed": 1}, "separate": {**attends, "readouts": "shared"}}
    other = made_up.routing("shared").assign(run="separate")
    other.loc[other["metric"] == "source_entropy", "value"] = 1.0
    analysed = {("routing", "shared"): made_up.routing("shared"), ("routing", "separate"): other}
    with questions.connect(gather(runs, analysed=analysed)) as connection:
        verdict = q9.verdict(connection)
    weights = [source / 91 for source in range(1, 14)]  # of the embedding and twelve sublayers
    entropy = -sum(weight * math.log(weight) for weight in weights)
    assert (
        "The head of an AttnRes model reads an average: in AttnRes full over 13 sources, the last of which weighs 14 % "
        f"(the entropy of the weights is {entropy:.2f} of at most 2.56 nats)." in verdict
    )


@pytest.mark.parametrize("other", [{"layers": 3}, {"value_residual": "identity"}, {"readouts": "shared"}])
def test_attention_is_that_of_plain_models_of_the_depth_of_the_recipe(gather, other):
    runs = {"shared": {**made_up.RUNS["probes"], "residual": "attnres_full", **other}, "probes": made_up.RUNS["probes"]}
    analysed = {("routing", "shared"): made_up.routing("shared")}
    with questions.connect(gather(runs, analysed=analysed)) as connection:
        assert "The head of an AttnRes model" not in q9.verdict(connection)


def test_one_layer_has_no_order(judge):
    claims, verdict, _, _, _ = judge({}, seeds={0: [0.0]}, baseline=[4.0])
    assert claims == [(None, "no run")] * 5
    assert verdict == "The plain models that have been read have one layer, and it takes two to speak of an order."


def test_three_layers_in_order_may_be_chance(judge):
    # Of the six orders of three layers one falls throughout: p = 1/6.
    seeds = {seed: more[:3] for seed, more in SEEDS.items()}
    losses = {("keel", "probes"): [4.0, 3.8, 3.5], ("moda", "probes"): [4.0, 3.8, 3.9]}
    claims, verdict, _, _, _ = judge(losses, seeds=seeds, baseline=FALLING[:3])
    assert claims[BASELINE] == ("tau -1.00, 0 of 3 pairs rise (p = 0.17)", "yes")
    assert (
        "The loss of the baseline, read after each layer, falls with every layer (no clearer an order than chance "
        "makes) by probes and the logit lens." in verdict
    )
    assert (
        "by probes the order is no clearer than chance in MoDA; by probes the loss falls with every layer in KEEL, no "
        "clearer an order than chance makes." in verdict
    )


def test_missing_runs(judge):
    claims, verdict, state, _, _ = judge({})
    assert [holds for _, holds in claims] == ["no run"] * 4 + ["yes"] and state == "testing"
    assert "No AttnRes model has been read yet." in verdict
    claims, verdict, state, _, _ = judge({}, seeds={})
    assert claims == [(None, "no run")] * 5 and state == "not yet run"
    assert verdict == "No plain model has been read after every layer yet."


@pytest.mark.parametrize("depth", [2, 3, 4, 5, 6, 7])
def test_the_null_is_that_of_all_orders(judge, depth):
    rising = [
        sum(order[i] < order[j] for i in range(depth) for j in range(i + 1, depth))
        for order in itertools.permutations(range(depth))
    ]
    pairs = depth * (depth - 1) // 2
    shares = [sum(count <= limit for count in rising) / len(rising) for limit in range(pairs + 1)]
    chance = next(2 * limit / pairs - 1 for limit, share in enumerate(shares) if share >= 0.05)
    shapes = {"keel": list(range(depth, 0, -1)), "moda": list(range(depth)), "mhc": [1, *range(depth, 1, -1)]}
    orders = judge({(residual, "probes"): values for residual, values in shapes.items()}, seeds={})[3]
    for residual, count in (("keel", 0), ("moda", pairs), ("mhc", depth - 1)):
        row = orders.loc[(residual, "probes")]
        assert (row["layers"], row["pairs"], row["rising"]) == (depth, pairs, count)
        assert row["tau"] == pytest.approx(2 * count / pairs - 1)
        assert row["p"] == pytest.approx(shares[count]) and row["chance"] == pytest.approx(chance)


def test_the_null_of_deep_models_is_near_its_normal_limit(judge):
    depth = 48
    values = list(range(depth, 0, -1))
    rising = 500  # of 1128: move layers up until as many pairs rise
    moved, left = [], rising
    for value in range(1, depth + 1):  # value stands before `place` greater ones
        place = min(left, value - 1)
        moved.insert(len(moved) - place, -value)
        left -= place
    row = judge({("keel", "probes"): [v + depth + 1 for v in moved], ("moda", "probes"): values}, seeds={})[3]
    row = row.loc[("keel", "probes")]
    assert row["rising"] == rising
    # Inversions of n: mean n (n - 1) / 4, variance n (n - 1) (2 n + 5) / 72.
    normal = statistics.NormalDist(depth * (depth - 1) / 4, (depth * (depth - 1) * (2 * depth + 5) / 72) ** 0.5)
    assert row["p"] == pytest.approx(normal.cdf(rising + 0.5), abs=2e-3)


def test_numbers_and_runs(designs_dir):
    with questions.connect(designs_dir) as connection:
        table = connection.execute(q9.QUESTION.numbers).df().set_index(["design", "readout"])
        runs = connection.execute(q9.QUESTION.runs).fetchall()
    assert len(table) == 2 * 10 + 3
    assert table.loc[("AttnRes full", "probes"), ["rising", "pairs"]].tolist() == [5, 15]
    assert table.loc[("AttnRes full", "logit lens"), "rises"] == "2, 4"
    # one seed has a tuned lens, so that its noise is not known
    assert table.loc[("AttnRes block", "tuned lens"), "falls_at_every_layer"] == "within noise"
    assert set(q9.QUESTION.signed) <= {*table.columns}
    names = {run for run, *_ in runs}
    assert names >= {"probes", *(f"{residual}_probes" for residual in designs.ADDED)}
    assert all("probes" in name for name in names)
    assert all(row[-1] for row in runs)
