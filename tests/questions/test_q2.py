"""The claim of Q2 and its trend against results made so that the answer is known."""

import made_up_results as made_up
import pytest

from perlayer import questions
from perlayer.questions import q2

ALL = made_up.RUNS | made_up.SUPERVISION
DEPTHS = {2: "separate_depth_2", 4: "separate_depth_4", 12: "separate_depth_12"}


@pytest.fixture
def judge(monkeypatch):
    """A function that judges the claim on made-up runs with some costs of the last layer changed, by depth."""

    def judge(runs=ALL, costs=()):
        changed = dict(made_up.COSTS)
        for depth, cost in dict(costs).items():
            if depth != made_up.LAYERS:
                changed[DEPTHS[depth]] = (cost, changed[DEPTHS[depth]][1])
        monkeypatch.setattr(made_up, "COSTS", changed)
        six = {**made_up.GAPS["separate"], 6: dict(costs).get(6, made_up.GAPS["separate"][6])}
        monkeypatch.setattr(made_up, "GAPS", {**made_up.GAPS, "separate": six})
        runs = {run: ALL[run] for run in runs}
        rows = []
        for run, definition in runs.items():
            layer = definition.get("layers", made_up.LAYERS)
            rows.append({"run": run, "layer": layer, "value": made_up.final(definition, layer)})
        with made_up.in_memory(rows, runs, made_up.LAYERS, q2.QUESTION) as connection:
            claim = connection.execute("SELECT measured, holds FROM claims WHERE question = 'Q2'").fetchall()
            return *claim, q2.verdict(connection), questions.state(connection, q2.QUESTION)

    return judge


def test_costs_that_grow_with_depth(judge):
    claim, verdict, state = judge()
    # At six layers the mean of three pairs: 0.06 + (0, 0.004, -0.002).
    assert claim == ("+0.020 +0.040 +0.061 +0.090 (2, 4, 6, 12 layers)", "yes")
    assert state == "measured"
    assert (
        "at +0.020 at 2 layers, +0.040 at 4 layers, +0.061 at 6 layers and +0.090 at 12 layers (noise 0.005)" in verdict
    )
    assert "Beyond the noise the last layer pays at every depth and gains at none." in verdict
    # A line through (1, 0.02), (2, 0.04), (2.585, 0.0607) and (3.585, 0.09).
    assert "With each doubling of the depth the cost changes by +0.027 nats (noise 0.003): it grows." in verdict
    assert "No figure of a trend is published. Of 1 published claim, at size nano: 1 held." in verdict


# Plain runs end 0.005 nats apart, and three standard errors of the pairs of six layers are 0.0053.
@pytest.mark.parametrize(
    "costs, holds",
    [
        ({2: 0.006}, "yes"),
        ({2: 0.004}, "within noise"),
        ({2: -0.004}, "within noise"),
        ({2: -0.006}, "no"),
        ({6: 0.004}, "within noise"),
        ({6: -0.007}, "no"),
        ({12: -0.2}, "no"),
    ],
)
def test_the_claim_holds_is_denied_or_within_noise(judge, costs, holds):
    assert judge(costs=costs)[0][1] == holds


@pytest.mark.parametrize(
    "costs, said",
    [
        ({2: 0.09, 4: 0.06, 6: 0.04, 12: 0.02}, ": it shrinks."),
        ({2: 0.04, 4: 0.042, 6: 0.041, 12: 0.043}, ": no trend beyond the noise."),
        (
            {2: -0.02},
            "Beyond the noise the last layer gains at 2 layers and pays at 4, 6 and 12 layers.",
        ),
        ({2: 0.001, 4: -0.002}, "the last layer pays at 6 and 12 layers and gains at none."),
        (
            {2: 0.001, 4: 0.002, 6: 0.001, 12: -0.003},
            "At none of these depths does the last layer gain or pay more",
        ),
    ],
)
def test_the_verdict_says_what_becomes_of_it_with_depth(judge, costs, said):
    assert said in judge(costs=costs)[1]


def test_one_depth_judges_nothing(judge):
    claim, verdict, state = judge(made_up.RUNS)
    assert claim == (None, "no run") and state == "not yet run"
    assert "+0.061 at 6 layers" in verdict and "One depth says nothing of a trend." in verdict


def test_depths_without_a_plain_model_are_left_out(judge):
    claim, _, state = judge([run for run in ALL if run != "depth_12"])
    assert claim == ("+0.020 +0.040 +0.061 (2, 4, 6 layers)", "yes") and state == "measured"


def test_without_seeds_the_noise_is_not_known(judge):
    claim, verdict, state = judge(["baseline", "separate", "depth_2", "separate_depth_2"])
    assert claim == ("+0.020 +0.060 (2, 6 layers)", "within noise") and state == "measured"
    assert "(noise not known: no seeds). So whether it gains or pays cannot be told." in verdict
    # (0.06 - 0.02) / log2(6 / 2)
    assert "changes by +0.025 nats (noise not known: no seeds): whether there is a trend cannot be told." in verdict


def test_without_runs_nothing_is_judged(judge):
    for runs in ([], ["baseline", "depth_2"]):
        claim, verdict, state = judge(runs)
        assert claim == (None, "no run") and state == "not yet run"
        assert verdict == "No model with separate heads stands beside a plain model of its depth yet."


def test_the_slope_is_that_of_least_squares():
    # Against 1, 2, 3 doublings of one layer: 1, 3, 2 have the slope (-1 * 1 + 1 * 2) / 2, and noise of 2 the root of
    # (1 * 4 + 1 * 4) / 2 ** 2.
    slope, noise = q2.by_doubling([2, 4, 8], [1.0, 3.0, 2.0], [2.0, 2.0, 2.0])
    assert (slope, noise) == (pytest.approx(0.5), pytest.approx(2**0.5))


def test_numbers_and_runs(supervision_dir):
    with questions.connect(supervision_dir) as connection:
        table = connection.execute(q2.QUESTION.numbers).df().set_index("depth")
        runs = connection.execute(q2.QUESTION.runs).fetchall()
    assert list(table.index) == [2, 4, 6, 12]
    for depth, run in DEPTHS.items():
        assert table.loc[depth, "plain"] == pytest.approx(made_up.ordinary(depth))
        assert table.loc[depth, "separate"] == pytest.approx(made_up.ordinary(depth) + made_up.COSTS[run][0])
        assert table.loc[depth, ["difference", "noise"]].tolist() == pytest.approx([made_up.COSTS[run][0], 0.005])
    assert table.loc[6, ["plain", "separate", "pairs"]].tolist() == pytest.approx([2.89, 2.95, 3])
    names = {row[0] for row in runs}
    assert names == {
        *DEPTHS.values(), "depth_2", "depth_4", "depth_12", "baseline", "probes", "probes_seed_1", "probes_seed_2",
        "probes_ema", "separate", "separate_seed_1", "separate_seed_2",
    }  # fmt: skip
    assert all(row[-1] for row in runs) and set(q2.QUESTION.signed) <= set(table.columns)
