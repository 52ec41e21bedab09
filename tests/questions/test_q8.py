"""The claims of Q8 against results made so that the answer is known."""

import made_up_multi_token as multi
import pytest

from perlayer import questions
from perlayer.questions import q8

NO_GAIN, LARGER_GAIN_MORE = range(2)
# Three standard errors of the pairs 0, 0.004 and -0.002, whose mean is 0.0007.
NOISE, MEAN = 0.0053, 0.002 / 3


@pytest.fixture
def judge(monkeypatch):
    """A function that judges the claims on some runs and rungs, with other changes at some rungs."""

    def judge(runs=multi.RUNS, rungs=multi.RUNGS, rung_runs=multi.RUNG_RUNS, nano=0.01, **changes):
        monkeypatch.setattr(multi, "RUNG_CHANGES", {**multi.RUNG_CHANGES, **changes})
        mine = {**multi.CHANGES[multi.DEEPSEEK], 1: [0.0] * 5 + [nano]}
        monkeypatch.setattr(multi, "CHANGES", {**multi.CHANGES, multi.DEEPSEEK: mine})
        with multi.in_memory(runs, rungs, rung_runs, q8.QUESTION) as connection:
            claims = connection.execute("SELECT measured, holds FROM claims WHERE question = 'Q8'").fetchall()
            return claims, q8.verdict(connection), questions.state(connection, q8.QUESTION)

    return judge


def test_four_sizes_from_loss_to_gain(judge):
    claims, verdict, state = judge()
    assert claims == [
        ("+0.031 width_16, +0.012 nano, +0.003 width_48, -0.019 width_64", "no"),
        ("-0.050 (width_64 minus width_16)", "yes"),
    ]
    assert state == "testing"  # two pairs at nano
    assert verdict == (
        "With multi-token prediction the last layer's next-token loss changes, in nats, by +0.031 at width_16 (10 "
        "thousand parameters, noise 0.005), +0.012 at nano (90 thousand parameters, noise 0.030), +0.003 at width_48 "
        "(300 thousand parameters, noise 0.005) and -0.019 at width_64 (720 thousand parameters, noise 0.005). "
        "It ends below the plain model beyond the noise at width_64; above the plain model beyond the noise at "
        "width_16; within the noise of the plain model at nano and width_48. "
        "From the smallest size to the largest that changes by -0.050 (noise 0.007): the larger model gains more, or "
        "loses less. "
        "Of 2 tested claims, over 4 sizes: 1 held, 1 not held."
    )


@pytest.mark.parametrize(
    "change, holds",
    [(-NOISE - MEAN - 1e-3, "no"), (-NOISE - MEAN + 1e-3, "within noise"), (NOISE - MEAN + 1e-3, "yes")],
)
def test_no_size_may_gain(judge, change, holds):
    claims, _, _ = judge(nano=0.05, width_16=0.01, width_48=change, width_64=0.02)
    assert claims[NO_GAIN][1] == holds


# Of two sizes the root of the sum of both squares: 0.0075.
@pytest.mark.parametrize(
    "change, holds, words",
    [
        (0.0065, "within noise", "(noise 0.007), which says nothing of a trend."),
        (-0.0065, "within noise", "(noise 0.007), which says nothing of a trend."),
        (-0.0085, "yes", "the larger model gains more, or loses less."),
        (0.0085, "no", "the larger model gains less, or loses more."),
    ],
)
def test_the_largest_size_against_the_smallest(judge, change, holds, words):
    claims, verdict, _ = judge(width_16=0.02, width_64=0.02 + change)
    assert claims[LARGER_GAIN_MORE][1] == holds and words in verdict


def test_four_sizes_of_three_seeds_are_measured(judge):
    third = {"multi_token_seed_2": {**multi.PROBES, "seed": 2, **multi.SEQUENTIAL}}
    assert judge(multi.RUNS | third)[2] == "measured"
    assert judge(multi.RUNS | third, {"width_16": 3, "width_64": 12})[2] == "testing"


def test_two_sizes_are_testing(judge):
    claims, verdict, state = judge(rungs={"width_16": 3})
    assert claims[NO_GAIN] == ("+0.031 width_16, +0.012 nano", "within noise") and state == "testing"
    assert "The question was asked of 4 sizes, and here are 2. Of 2 tested claims, over 2 sizes:" in verdict


def test_without_rungs(judge):
    claims, verdict, state = judge(rungs={})
    assert claims == [("+0.012 nano", "within noise"), (None, "no run")] and state == "testing"
    assert verdict.startswith(
        "With multi-token prediction the last layer's next-token loss changes, in nats, by +0.012 at"
    )
    assert "From the smallest size" not in verdict
    assert "and here is one. Of 2 tested claims, over 1 size: 1 within noise, 1 without a run." in verdict


def test_one_seed_judges_nothing(judge):
    first = {run: keys for run, keys in multi.RUNG_RUNS.items() if keys["seed"] == 0}
    claims, verdict, state = judge({run: k for run, k in multi.RUNS.items() if k["seed"] == 0}, multi.RUNGS, first)
    assert [holds for _, holds in claims] == ["within noise"] * 2 and state == "testing"
    assert "where no seeds tell the noise at width_16, nano, width_48 and width_64." in verdict
    assert "changes by -0.050 (noise not known: no seeds), which says nothing of a trend." in verdict


def test_missing_runs(judge):
    plain = {run: keys for run, keys in multi.RUNS.items() if not multi.way(keys)}
    for runs in ({}, plain):
        claims, verdict, state = judge(runs, {})
        assert claims == [(None, "no run")] * 2 and state == "not yet run"
        assert verdict == "No model with multi-token prediction stands beside a plain model of its size and seed yet."
    claims, verdict, state = judge(plain | {"multi_token_parallel": multi.RUNS["multi_token_parallel"]}, {})
    assert claims == [(None, "no run")] * 2 and state == "not yet run"
    assert verdict == "DeepSeek-V3's way, one module of weight 0.3, has no pair of one seed at any size yet."


def test_rungs_alone(judge):
    claims, _, _ = judge({}, {"width_16": 3, "width_64": 12})
    assert claims[NO_GAIN][0] == "+0.031 width_16, -0.019 width_64"
    assert claims[LARGER_GAIN_MORE] == ("-0.050 (width_64 minus width_16)", "yes")


def test_other_designs_are_not_asked(judge):
    runs, rung_runs = ({run: {**keys, "residual": "pre_ln"} for run, keys in some.items()}
                    for some in (multi.RUNS, multi.RUNG_RUNS))  # fmt: skip
    assert judge(runs, multi.RUNGS, rung_runs)[0] == [(None, "no run")] * 2


def test_numbers_and_runs(multi_token_dir):
    with questions.connect(multi_token_dir) as connection:
        table = connection.execute(q8.QUESTION.numbers).df()
        runs = connection.execute(q8.QUESTION.runs).fetchall()
    assert list(table["size"]) == ["width_16", "nano", "width_48", "width_64", "nano"]
    assert list(table["way"]) == [multi.DEEPSEEK] * 4 + [multi.GLOECKLE]
    assert list(table["parameters"]) == [10_000, 90_000, 300_000, 720_000, 90_000]
    assert table.loc[3, ["plain", "multi_token", "difference"]].tolist() == pytest.approx(
        [2.7 + 0.01 / 3, 2.7 + 0.01 / 3 - 0.02 + MEAN, -0.02 + MEAN]
    )
    assert set(q8.QUESTION.signed) <= set(table.columns)
    assert len(runs) == len(multi.RUNS) + 3 * len(multi.RUNG_RUNS) and all(row[-1] for row in runs)


@pytest.mark.parametrize(
    "number, words", [(12.0, "12"), (10_800, "10.8 thousand"), (93.6e6, "93.6 million"), (1.2e9, "1.2 billion")]
)
def test_parameters_are_counted_in_words(number, words):
    assert q8._counted(number) == words
