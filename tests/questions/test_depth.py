"""The claims of D1 to D6 and D9 against dissections made so that the answer is known."""

import made_up_depth
import made_up_results as made_up
import pandas as pd
import pytest
from made_up_depth import PROFILE, dissection

from perlayer import questions
from perlayer.questions import d1, d2, d3, d4, d5, d6, d9

PLAIN = {"residual": "sandwich", "readouts": "none", "seed": 0}
SEEDS = (0.99, 1.0, 1.01)  # of the baseline: what its second half adds beside `PROFILE`


@pytest.fixture
def judge():
    """A function that judges the claims of a question on baselines of some factors and on further runs."""

    def judge(question, seeds=SEEDS, further=(), **profile):
        runs = {f"seed_{seed}": {**PLAIN, "seed": seed} for seed in range(len(seeds))}
        tables = [dissection(run, **made_up_depth.scaled(factor) | profile) for run, factor in zip(runs, seeds)]
        for run, (definition, mine) in dict(further).items():
            runs[run] = {**PLAIN, **definition}
            tables.append(dissection(run, **mine))
        rows = pd.concat(tables, ignore_index=True) if tables else []
        with made_up.in_memory(rows, runs, made_up_depth.LAYERS, question) as connection:
            claims = connection.execute("SELECT measured, holds FROM claims").fetchall()
            return claims, question.verdict(connection), questions.state(connection, question)

    return judge


def shares(**parts):
    return {"shares": PROFILE["shares"] | parts}


SHARED = {"shared": ({"readouts": "shared"}, made_up_depth.scaled(0.4))}
SIMILAR = {"keel_probes": ({"residual": "keel", "readouts": "probes"}, made_up_depth.scaled(1.005))}


def test_a_drop_in_the_middle_holds(judge):
    claims, verdict, state = judge(d1.QUESTION, further=[*SHARED.items(), *SIMILAR.items()])
    assert [holds for _, holds in claims] == ["yes"] * 5 and state == "measured"
    # Layers 2 and 3 add 0.65 on average, 4 to 6 0.3.
    assert claims[0][0] == "0.462 of the first half" and claims[3][0] == "greatest 50 %; near the middle 50 %"
    assert claims[4][0] == "-0.200 to +0.300"
    assert "a layer of the second half adds 0.462 of what one of the first half adds" in verdict
    assert "attention 0.333, MLP 0.800." in verdict
    assert "From one layer to the next it falls most at layer 4 of 6 in the run of the lowest seed, by 50 %" in verdict
    assert (
        "over those of the first is below it with shared head (0.185); within the noise of it with KEEL (0.464)."
        in (verdict)
    )
    assert verdict.endswith("Of 5 published claims, at size nano: 5 held.")


def test_no_drop_does_not(judge):
    parts = {"layer": [9.0, 0.5, 0.3, 0.5, 0.6, 0.7], "attention": [9.0, 0.3, 0.3, 0.5, 0.5, 0.5]}
    cosines = {"cosines": PROFILE["cosines"] | {"layer": [0.0, 0.1, 0.2, -0.1, -0.2, 0.0]}}
    claims, verdict, _ = judge(d1.QUESTION, seeds=(1, 1, 1), **shares(**parts), **cosines)
    assert [holds for _, holds in claims] == ["no"] * 5
    assert claims[3][0] == "greatest 40 %; near the middle -67 %"
    assert "falls most at layer 3 of 6 in the run of the lowest seed, by 40 %" in verdict


def test_nothing_drops_where_every_layer_adds_more_than_the_one_before(judge):
    # From layer 3 to 4, the middle, it rises least.
    rising = shares(layer=[9.0, 0.2, 0.4, 0.5, 0.9, 1.8])
    claims, verdict, _ = judge(d1.QUESTION, **rising)
    assert claims[3] == ("none; near the middle -25 %", "no")
    assert "From one layer to the next it falls nowhere." in verdict
    claims, verdict, _ = judge(d3.QUESTION, **rising, depths={"kl": 4.0})
    assert claims == [("layer 4, no drop", "no"), ("layer 7, no drop", "no")]
    assert "What layers add falls at no layer." in verdict


def test_a_drop_within_the_noise_of_none_is_no_drop(judge):
    # Falls of 2 % at layer 4 on average over three seeds, which scatter by 20 %.
    further = {}
    for seed, share in enumerate((0.312, 0.392, 0.472)):
        profile = shares(layer=[9.0, 0.2, 0.4, share, 0.9, 1.8]) | {"depths": {"kl": 4.0, "overlap": 4.0}}
        further[f"s{seed}"] = ({"seed": seed}, profile)
    claims, _, _ = judge(d1.QUESTION, seeds=(), further=further)
    assert claims[3][1] == "within noise"
    claims, _, _ = judge(d3.QUESTION, seeds=(), further=further)
    assert {holds for _, holds in claims} == {"within noise"}


def test_small_differences_are_within_noise(judge):
    seeds = (0.8, 1.0, 1.2)
    level = {"layer": [9.0, 0.5, 0.5, 0.49, 0.49, 0.49]}
    further = {f"s{n}": ({"seed": n}, shares(layer=[*level["layer"][:3], *(f * 0.49 for _ in "123")]))
               for n, f in enumerate(seeds)}  # fmt: skip
    claims, _, _ = judge(d1.QUESTION, seeds=(), further=further)
    assert claims[0] == ("0.980 of the first half", "within noise")


@pytest.mark.parametrize("question", [d1.QUESTION, d2.QUESTION, d3.QUESTION, d4.QUESTION])
def test_too_few_seeds_judge_nothing(judge, question):
    claims, verdict, state = judge(question, seeds=(1.0,), further=SHARED)
    assert {holds for _, holds in claims} == {"within noise"} and state == "testing"
    assert "noise not known: no seeds" in verdict and "where no seeds tell the noise" in verdict


@pytest.mark.parametrize("question", [d1.QUESTION, d2.QUESTION, d3.QUESTION, d4.QUESTION, d5.QUESTION])
def test_without_dissections_nothing_has_been_run(judge, question):
    claims, verdict, state = judge(question, seeds=())
    assert {holds for _, holds in claims} == {"no run"} and state == "not yet run"
    assert verdict == "No finished model of the recipe's depth has shown yet how it uses its depth."


@pytest.mark.parametrize("question", [d1.QUESTION, d2.QUESTION, d3.QUESTION, d4.QUESTION])
def test_the_claims_are_about_the_baseline(judge, question):
    claims, verdict, state = judge(question, seeds=(), further=SHARED)
    assert {holds for _, holds in claims} == {"no run"} and state == "not yet run"
    assert "The baseline has not been dissected" in verdict


def test_skips_that_reach_fewer_future_tokens(judge):
    futures = {"more": ({"readouts": "separate"}, {"future": [0.1, 0.01, 0.01, 0.05, 0.05, 0.0]})}
    claims, verdict, state = judge(d2.QUESTION, further=futures)
    assert [holds for _, holds in claims] == ["yes"] * 3 and state == "measured"
    # Layers 2 and 3 against 4 and 5.
    assert (
        claims[0][0] == f"{0.04 / 0.3:.3f} of the first half"
        and claims[1][0] == f"{0.006 / 0.08:.3f} of the first half"
    )
    assert claims[2][0] == "1.0 % after 10.0 %"
    assert "predictions of future tokens 0.075 times (noise 0.000) and all predictions 0.750 times" in verdict
    assert "is 10 % of what skipping changes everywhere in the first half and 1 % in the second" in verdict
    assert "is above it with separate heads (5.000)" in verdict


def test_skips_that_reach_more_future_tokens(judge):
    claims, _, _ = judge(d2.QUESTION, later=[0.1, 0.1, 0.1, 0.2, 0.2], future=[0.1, 0.01, 0.01, 0.05, 0.05, 0.0])
    assert [holds for _, holds in claims] == ["no"] * 3


# Contributions fall most at layer 4, and a sixth of the depth is one layer.
@pytest.mark.parametrize("layer, holds", [(4, "yes"), (3, "within noise"), (5, "within noise"), (2, "no"), (6, "no")])
def test_the_output_takes_shape_where_contributions_drop(judge, layer, holds):
    claims, verdict, _ = judge(d3.QUESTION, depths={"kl": float(layer), "overlap": 4.0})
    assert claims == [(f"layer {layer}, the drop at 4 of 6", holds), ("layer 4, the drop at 4 of 6", "yes")]
    assert (
        "at whose input the logit lens is less than half as far from the output as at its farthest is "
        f"{layer} on average over 3 seeds (noise 0.000)" in verdict
    )
    assert "The layer at which what layers add falls most is 4 on average over 3 seeds (noise 0.000)." in verdict


def test_a_mean_over_seeds_is_no_layer(judge):
    further = {f"s{n}": ({"seed": n}, {"depths": {"kl": 2.0 + (n > 0), "overlap": 4.0}}) for n in range(3)}
    _, verdict, _ = judge(d3.QUESTION, seeds=(), further=further)
    assert "as at its farthest is 2.67 on average over 3 seeds (noise 1.000)" in verdict
    assert "layer 2" not in verdict
    _, verdict, _ = judge(d3.QUESTION, seeds=(1.0,))
    assert "as at its farthest is 5 (noise not known: no seeds), and" in verdict


def test_depth_scores_stand_beside_each_other(judge):
    further = {"shared": ({"readouts": "shared"}, {"scores": {"depth_score": 2.0, "output_depth_score": 1.2}})}
    claims, verdict, state = judge(d5.QUESTION, further=further)
    assert {holds for _, holds in claims} == {"no run"} and state == "not yet run"
    assert verdict.startswith("No problems of known difficulty have been read yet.")
    assert "the depth score of the baseline is 2.20 layers (noise 0.000), by predictions 1.80" in verdict
    assert "that by predictions is below it with shared head (1.20)." in verdict


def problems(growths, published=(), seeds=(-0.01, 0.0, 0.01)):
    """A connection to three baselines and further runs and published models that have read problems.

    Args:
        growths: of runs, by readouts: what the depth score grows by from 2 to 6 operands.
        published: of published models, by set: what it grows by between two groups.
    """
    runs, tables = {}, []
    for readouts, growth in growths.items():
        for seed, more in enumerate(seeds if readouts == "none" else (0.0,)):
            run = f"{readouts}_{seed}"
            runs[run] = {**PLAIN, "readouts": readouts, "seed": seed}
            scores = {"sums: 2 operands": 2.0, "sums: 6 operands": 2.0 + growth + more}
            tables += [made_up_depth.dissection(run), made_up_depth.by_group(run, scores)]
    for text, growth in dict(published).items():
        first, second, name = text
        scores = {f"{name}: {first}": 3.0, f"{name}: {second}": 3.0 + growth}
        tables += [made_up_depth.dissection(f"their_{name}"), made_up_depth.by_group(f"their_{name}", scores)]
    return made_up.in_memory(pd.concat(tables, ignore_index=True), runs, made_up_depth.LAYERS, d5.QUESTION)


# A twentieth of six layers is 0.3; noise is 3 sqrt(0.01^2 / 3 + 2 * 0.01^2) = 0.046.
@pytest.mark.parametrize("growth, holds", [(0.1, "yes"), (-0.5, "yes"), (0.28, "within noise"), (0.4, "no")])
def test_a_depth_score_is_flat_that_grows_by_less_than_a_twentieth_of_the_depth(growth, holds):
    with problems({"none": growth, "shared": 1.0, "separate": 0.01}) as connection:
        claims = connection.execute("SELECT measured, holds FROM claims").fetchall()
        assert claims == [
            (f"{growth:+.2f} of 6 layers from 2 operands to 6 operands (baseline)", holds),
            (None, "no run"),
        ]
        assert questions.state(connection, d5.QUESTION) == "partly measured"
        said = d5.verdict(connection)
        assert "From 2 operands to 6 operands (sums, of which the baseline answers 25 %) the depth score" in said
        assert f"changes by {growth:+.2f} layers (noise 0.046), by predictions {growth / 2:+.2f} (noise 0.023)." in said
        assert (
            "On sums the depth score changes by more than noise in shared head (+1.00), of 2 other setups and designs "
            "whose noise is known." in said
        )
        rows = connection.execute(d5.QUESTION.numbers).df()
        assert list(rows["growth"]) == pytest.approx([growth, 0.01, 1.0])
        assert set(rows["prompts"]) == {"sums: 2 operands to 6 operands"}


def test_other_setups_are_counted_once_a_set_and_where_their_noise_is_known():
    runs, tables = {}, []
    for readouts, seeds in {"none": 3, "separate": 1, "shared": 1}.items():
        for seed in range(seeds):
            run = f"{readouts}_{seed}"
            runs[run] = {**PLAIN, "readouts": readouts, "seed": seed}
            scores = {f"{name}: {level}": 2.0 + 0.01 * seed for name in ("levels", "sums") for level in (1, 2)}
            scores["sums: 2"] += readouts == "shared"
            tables += [dissection(run), made_up_depth.by_group(run, scores)]
    deep = {**scores, "levels: 2": 5.0}  # with a single prompt a group, whose noise is not known
    runs["keel_0"] = {"residual": "keel", "readouts": "none", "seed": 0}
    tables += [dissection("keel_0"), made_up_depth.by_group("keel_0", deep, error=None)]
    rows = pd.concat(tables, ignore_index=True)
    with made_up.in_memory(rows, runs, made_up_depth.LAYERS, d5.QUESTION) as connection:
        said = d5.verdict(connection)
    changes, known = "the depth score changes by more than noise in", "2 other setups and designs whose noise is known."
    assert f"On levels {changes} none of {known} On sums {changes} shared head (+1.00), of {known} On held-out" in said


def test_published_models_are_judged_beside_the_baseline():
    theirs = {("level 1", "level 5", "math"): 0.9, ("2 hops", "4 hops", "mquake"): -0.05}
    with problems({"none": 0.1}, theirs) as connection:
        claims = connection.execute("SELECT measured, holds FROM claims").fetchall()
        assert claims[0][0].endswith("(baseline); +0.90 of 6 layers from level 1 to level 5 (their_math)")
        assert [holds for _, holds in claims] == ["no", "yes"]
        assert questions.state(connection, d5.QUESTION) == "measured"
        assert "(mquake, of which their_mquake answers 25 %) the depth score of their_mquake changes by -0.05" in (
            d5.verdict(connection)
        )


def test_a_published_model_alone_is_judged():
    with problems({}, {("level 1", "level 5", "math"): 0.1}) as connection:
        assert connection.execute("SELECT holds FROM claims").fetchall() == [("yes",), ("no run",)]
        assert d5.verdict(connection).startswith("From level 1 to level 5 (math, of which their_math answers 25 %)")


def test_without_seeds_growth_is_not_judged():
    with problems({"none": 0.9}, seeds=(0.0,)) as connection:
        assert connection.execute("SELECT holds FROM claims").fetchall()[0] == ("within noise",)
        assert questions.state(connection, d5.QUESTION) == "testing"


def plain_models(losses):
    """A connection to plain models of (size, layers, parameters a layer, loss)."""
    runs = {f"r{n}": {**PLAIN, "seed": n, "layers": model[1]} for n, model in enumerate(losses)}
    trained = "UPDATE runs SET size = ?, section = ?, backbone_parameters = ?, final_loss = ? WHERE run = ?"
    changes = [
        (trained, [size, "runs" if size == "nano" else "ladder", float(layers * parameters), loss, f"r{number}"])
        for number, (size, layers, parameters, loss) in enumerate(losses)
    ]
    return made_up.in_memory([], runs, question=d9.QUESTION, changes=changes)


def test_depth_helps():
    nano = [("nano", 1, 1000, 3.3), ("nano", 2, 1000, 3.21), ("nano", 4, 1000, 3.1), ("nano", 8, 1000, 3.0)]
    ladder = [("wide", 4, 4000, 2.9), ("wide", 8, 4000, 2.81)]
    with plain_models(nano) as connection:
        claims = connection.execute("SELECT measured, holds FROM claims").fetchall()
        assert claims == [("-0.101 ± 0.003 a doubling (4 runs of 4 depths)", "yes"), (None, "no run")]
        assert questions.state(connection, d9.QUESTION) == "partly measured"
        assert "At the size in use, over 4 plain models of 4 depths, twice as many layers change" in (
            d9.verdict(connection)
        )
    with plain_models(nano + ladder) as connection:
        claims = connection.execute("SELECT measured, holds FROM claims").fetchall()
        assert [holds for _, holds in claims] == ["yes", "yes"]
        assert claims[1][0].endswith("a doubling (6 runs of 4 depths and 2 widths)")
        assert "and twice the width by -0.198" in d9.verdict(connection)


@pytest.mark.parametrize("losses, holds", [((3.0, 3.1, 3.2, 3.3), "no"), ((3.0, 3.2, 2.9, 3.1), "within noise")])
def test_depth_may_not_help(losses, holds):
    with plain_models([("nano", 2**n, 1000, loss) for n, loss in enumerate(losses)]) as connection:
        assert connection.execute("SELECT holds FROM claims").fetchall()[0] == (holds,)


def test_one_depth_says_nothing():
    with plain_models([("nano", 2, 1000, 3.0)]) as connection:
        assert questions.state(connection, d9.QUESTION) == "not yet run"
        assert d9.verdict(connection) == "There are no plain models of two depths yet."


def one_text(erasure, attribution):
    return {"tokens": {"window 1": {"erasure": erasure, "attribution": attribution}}}


def test_tokens_that_matter_until_one_depth_show_no_composition(judge):
    rising = {"shared": ({"readouts": "shared"}, one_text([1, 2, 3], [3, 3, 3]))}
    claims, verdict, state = judge(d4.QUESTION, further=rising, **one_text([3, 3, 4, 3, 3], [4, 3, 2]))
    assert state == "measured" and claims == [
        ("until layer 3.20 of 6", "yes"), ("+0.00 layers from first to last, of 6", "yes"),
        ("-2.00 layers from first to last, of 6", "yes"),
    ]  # fmt: skip
    assert (
        "forgetting a token is at least half of what it is at most until layer 3.20 on average (noise 0.00)" in verdict
    )
    line = "from the first token that counts to the last, a line through these layers"
    assert f"{line} rises by 0.00 (noise 0.00)." in verdict and f"{line} falls by 2.00 (noise 0.00)." in verdict
    assert "by erasure, the rise of that line is above it with shared head (+2.00)." in verdict


def test_without_texts_no_token_has_been_looked_at(judge):
    claims, verdict, state = judge(d4.QUESTION, tokens={})
    assert {holds for _, holds in claims} == {"no run"} and state == "not yet run"
    assert verdict.startswith("No token has been looked at alone yet; recipes.SIZE.depth.texts says")


def test_later_tokens_that_matter_until_deeper_layers_are_composition(judge):
    claims, _, _ = judge(d4.QUESTION, **one_text([0, 1, 2, 3, 4], [2, 2, 3, 4, 4]))
    assert [holds for _, holds in claims] == ["within noise", "no", "no"]  # 2 is a sixth of the depth from the middle
    claims, _, _ = judge(d4.QUESTION, **one_text([5, 5], [2, 3]))
    assert [holds for _, holds in claims] == ["no", "yes", "within noise"]  # a rise of a sixth


def test_rises_that_seeds_scatter_by_are_within_noise(judge):
    rises = {f"s{n}": ({"seed": n}, one_text([3, 3 + n], [3, 3])) for n in range(3)}
    claims, verdict, _ = judge(d4.QUESTION, seeds=(), further=rises)
    # Rises of 0, 1 and 2 have a standard deviation of 1.
    assert claims[1] == ("+1.00 layers from first to last, of 6", "within noise")
    assert f"a line through these layers rises by 1.00 (noise {3 / 3**0.5:.2f})" in verdict


def mapped(tables, shallow=None):
    """A connection to linear maps of pairs, all of the same two runs, and the claims of D6.

    Args:
        shallow: how the first run differs from a plain one of three layers.
    """
    runs = {"deep": PLAIN, "shallow": {**PLAIN, "layers": 3, **(shallow or {})}}
    rows = pd.concat(tables, ignore_index=True) if tables else []
    pairs = {table["run"].iloc[0] for table in tables}
    changes = [("INSERT INTO pairs VALUES (?, 'shallow', 'deep')", [pair]) for pair in pairs]
    return made_up.in_memory(rows, runs, made_up_depth.LAYERS, d6.QUESTION, changes)


SAME = made_up_depth.maps("seed_to_seed", [1, 2, 3, 5, 6, 6], 6)


def test_a_clear_diagonal_holds():
    with mapped([made_up_depth.maps("shallow_to_deep", [1, 1, 2, 2, 3, 3], 3), SAME]) as connection:
        claims = connection.execute("SELECT measured, holds FROM claims").fetchall()
        # Of 3^6 ways to choose sources 4 are as near: layers 3 and 5 have two nearest sources each.
        assert claims == [("0.083 of the depth away, 0.324 by chance (p = 0.0055)", "yes")]
        assert questions.state(connection, d6.QUESTION) == "measured"
        verdict = d6.verdict(connection)
    assert verdict.startswith("In shallow to deep (3 to 6 layers) the layer that maps best is 0.083 of the depth")
    assert (
        "Best maps miss 0.335 of the length of a residual, the mean 0.935. In seed to seed (6 to 6 layers)" in verdict
    )
    assert "is 0.056 of the depth from the same relative depth, where 0.000 is the least" in verdict
    assert verdict.endswith("Of 1 published claim, at size nano: 1 held.")


@pytest.mark.parametrize(
    "best, holds", [([3, 3, 3, 1, 1, 1], "no"), ([1, 2, 1, 3, 2, 3], "within noise"), ([3] * 6, "within noise")]
)
def test_no_diagonal(best, holds):
    with mapped([made_up_depth.maps("shallow_to_deep", best, 3)]) as connection:
        assert connection.execute("SELECT holds FROM claims").fetchall() == [(holds,)]
        assert questions.state(connection, d6.QUESTION) == "testing"  # nothing says how clear one can be


def test_several_shallow_models_must_agree():
    tables = [made_up_depth.maps("a", [1, 1, 2, 2, 3, 3], 3), made_up_depth.maps("b", [3, 3, 3, 1, 1, 1], 3)]
    with mapped(tables) as connection:
        measured, holds = connection.execute("SELECT measured, holds FROM claims").fetchone()
    assert holds == "no" and measured.startswith("0.083 of the depth away") and measured.count(";") == 1


@pytest.mark.parametrize("shallow", [{"residual": "keel"}, {"readouts": "separate"}, {"gradient_surgery": "per_token"}])
def test_pairs_that_are_not_two_plain_models_of_one_design_are_shown_and_not_judged(shallow):
    table = made_up_depth.maps("mine", [3, 3, 3, 1, 1, 1], 3)
    with mapped([table], shallow) as connection:
        assert connection.execute("SELECT holds FROM claims").fetchall() == [("no run",)]
        assert d6.verdict(connection).startswith("In mine (3 to 6 layers)")
    with mapped([table], {"readouts": "probes"}) as connection:  # which only look on
        assert connection.execute("SELECT holds FROM claims").fetchall() == [("no",)]


@pytest.mark.parametrize("tables", [[], [SAME]])
def test_a_shallow_model_has_not_been_mapped(tables):
    with mapped(tables) as connection:
        assert connection.execute("SELECT holds FROM claims").fetchall() == [("no run",)]
        assert questions.state(connection, d6.QUESTION) == "not yet run"
        verdict = d6.verdict(connection)
    assert verdict.startswith("In seed to seed" if tables else "No pair of models has been mapped onto each other yet.")
    assert verdict.endswith("Of 1 published claim, at size nano: 1 without a run.")


def test_numbers_and_runs(warehouse_dir):
    with questions.connect(warehouse_dir) as connection:
        for question in (d1.QUESTION, d2.QUESTION, d3.QUESTION, d4.QUESTION, d5.QUESTION):
            table = connection.execute(question.numbers).df()
            assert list(table["setup"]) == ["baseline", "separate heads", "shared head"]
            assert list(table["seeds"]) == [3, 1, 1] and set(question.signed) <= {*table.columns}
            runs = connection.execute(question.runs).fetchall()
            assert [run for run, *_ in runs] == ["baseline", "probes_seed_1", "probes_seed_2", "separate", "shared"]
            assert all(row[-1] for row in runs)
        pairs = connection.execute(d6.QUESTION.numbers).df()
        assert list(pairs["pair"].unique()) == ["shallow to deep", "baseline to separate", "seed to seed"]
        assert connection.execute(d6.QUESTION.runs).fetchall() == [(pair, True) for pair in sorted(made_up.PAIRS)]
        for question in (d6.QUESTION, d9.QUESTION):
            assert set(question.signed) <= {*connection.execute(question.numbers).df().columns}
            connection.execute(question.runs)
            assert "present" in [column[0] for column in connection.description]


def test_runs_that_are_to_be_dissected_are_named(gather):
    runs = {
        run: made_up.RUNS[run] for run in ("probes", "probes_seed_1", "separate", "shared_stop_gradient", "depth_1")
    }
    keel = {"residual": "keel", "seed": 0}
    runs |= {f"keel_{readouts}": {**keel, "readouts": readouts} for readouts in ("probes", "separate")}
    with questions.connect(gather({}, runs)) as connection:
        found = connection.execute(d1.QUESTION.runs).fetchall()
    assert [(run, present) for run, *_, present in found] == [
        ("probes", False), ("separate", False), ("keel_probes", False),
    ]  # fmt: skip


def test_models_of_two_layers_have_no_halves(judge):
    two = {name: {part: values[:2] for part, values in PROFILE[name].items()} for name in ("shares", "cosines")}
    two |= {"kl": PROFILE["kl"][-3:], "overlap": PROFILE["overlap"][-3:], "scores": {}}
    further = {f"shallow_{seed}": ({"seed": seed}, two) for seed in range(3)}
    _, verdict, _ = judge(d5.QUESTION, seeds=(), further=further)
    assert verdict.startswith("No model of the recipe's depth has a depth score, which takes three layers.")
    for question in (d1.QUESTION, d2.QUESTION):
        claims, verdict, state = judge(question, seeds=(), further=further)
        assert {holds for _, holds in claims} == {"no run"} and state == "not yet run"
        assert verdict.startswith("The baseline has not been dissected, or has too few layers for halves.")


def test_models_of_one_layer_have_been_dissected(judge):
    one = {name: {part: values[:1] for part, values in PROFILE[name].items()} for name in ("shares", "cosines")}
    one |= {"kl": PROFILE["kl"][-2:], "overlap": PROFILE["overlap"][-2:], "scores": {}, "depths": {"kl": 1.0}}
    for question in (d1.QUESTION, d2.QUESTION, d3.QUESTION, d4.QUESTION, d5.QUESTION):
        claims, verdict, _ = judge(question, seeds=(), further={f"s{n}": ({"seed": n}, one) for n in range(3)})
        assert len(claims) > 1 and "has shown yet how it uses its depth" not in verdict
