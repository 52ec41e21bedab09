"""The rule of comparison, held against scipy and against a reference written here.

The scatter over seeds in SCATTER is that of the committed results at size nano.
"""

import math
from collections import Counter
from dataclasses import replace
from decimal import Decimal
from statistics import fmean, variance

import numpy as np
import pytest
from scipy import stats

from perlayer.comparison import Judged, Row, Rule, by_chance, judge, rows_of
from perlayer.errors import InvalidValue, UserError

RULE = Rule(confidence=0.99, smallest_effect=0.02)


def made_up(mean: float, std: float, seeds: int) -> list[float]:
    """Values of exactly this mean and standard deviation."""
    places = np.arange(seeds) - (seeds - 1) / 2
    return list(mean + std * places / places.std(ddof=1)) if seeds > 1 else [mean]


def contrast(*terms, side="above", claim="claim", part="part", question="Q0", threshold=0.0, **said) -> list[Row]:
    """Rows of one part; a term is (coefficient, group, values, pool), and the seeds of a run are its number."""
    return [
        Row(question, claim, part, side, threshold, coefficient, group, f"{group} {seed}", float(value), pool, **said)
        for coefficient, group, values, pool in terms
        for seed, value in enumerate(values)
    ]


def given(value, low, high, part="part", side="above", **said) -> list[Row]:
    ends = {"low": low, "high": high, "covers": "text"}
    return [Row("Q0", "claim", part, side, 0.0, 1.0, "model", "model", value, None, **ends, **said)]


def judged(rows: list[Row], rule: Rule = RULE) -> Judged:
    return judge(rows, {row.run: row.run.split()[-1] for row in rows if row.run}, rule)


def verdict(rows: list[Row], rule: Rule = RULE) -> str:
    (claim,) = judged(rows, rule).claims
    return claim.verdict


def interval(rows: list[Row]) -> tuple[float, float]:
    (found,) = judged(rows).contrasts
    return pytest.approx((found.low, found.high))


def test_two_groups_of_one_pool_are_compared_by_students_t():
    one, other = made_up(1.0, 0.1, 5), made_up(0.7, 0.1, 4)
    expected = stats.ttest_ind(one, other).confidence_interval(0.99)
    assert interval(contrast((1, "a", one, "pool"), (-1, "b", other, "pool"))) == tuple(expected)


def test_two_groups_of_pools_of_their_own_are_compared_by_welchs_t():
    one, other = [1.0, 1.1, 0.9, 1.3, 0.95], [0.2, 0.8, 0.5, 0.9, 0.4, 0.1]
    expected = stats.ttest_ind(one, other, equal_var=False)
    rows = contrast((1, "a", one, "one"), (-1, "b", other, "other"))
    assert interval(rows) == tuple(expected.confidence_interval(0.99))
    assert judged(rows).contrasts[0].degrees_of_freedom == pytest.approx(expected.df)


def test_runs_that_share_their_beginning_are_compared_by_differences_of_one_seed():
    one, other = [1.0, 1.5, 0.9, 1.3, 0.95], [0.9, 1.2, 0.85, 1.1, 0.8]
    terms = (1, "a", one, "pool"), (-1, "b", [*other, 7.0], "pool")
    assert interval(contrast(*terms, paired=True)) == tuple(stats.ttest_rel(one, other).confidence_interval(0.99))
    assert judged(contrast(*terms, paired=True)).contrasts[0].seeds == 5
    # Pairs of the same kind share their scatter, here of three and three.
    rows = contrast((1, "a", one[:3], "pool"), (-1, "b", other[:3], "pool"), paired=True)
    rows += contrast((1, "c", one[2:], "pool"), (-1, "b", other, "pool"), paired=True, part="second")
    assert judged(rows).contrasts[0].degrees_of_freedom == 2 + 2


def reference(parts: list[list[tuple]]) -> list[tuple[float, float, float]]:
    """Estimate, standard error and degrees of freedom of contrasts over seeds, straight from the definition."""
    pools = {}
    for _, group, values, pool in sum(parts, []):
        pools.setdefault(pool, {})[group] = values
    pooled = {}
    for pool, groups in pools.items():
        several = [values for values in groups.values() if len(values) >= 2]
        degrees = sum(len(values) - 1 for values in several)
        pooled[pool] = sum((len(values) - 1) * variance(values) for values in several) / degrees, degrees
    found = []
    for terms in parts:
        shares = Counter()
        for coefficient, _, values, pool in terms:
            square = max(pooled[pool][0], variance(values)) if len(values) >= 3 else pooled[pool][0]
            shares[pool] += coefficient**2 * square / len(values)
        total = sum(shares.values())
        degrees = total**2 / sum(share**2 / pooled[pool][1] for pool, share in shares.items())
        found.append((sum(c * fmean(values) for c, _, values, _ in terms), math.sqrt(total), degrees))
    return found


def test_contrasts_over_several_pools_are_those_of_a_plain_reference():
    draw = np.random.default_rng(3)
    groups = [
        (f"group {n}", list(draw.normal(size=seeds) * draw.uniform(0.1, 3)), pool)
        for pool in ("one", "two", "three")
        for n, seeds in enumerate((1, 2, 2, 3, 3, 6))
    ]
    groups = [(f"{name} of {pool}", values, pool) for name, values, pool in groups]
    chosen = [draw.choice(len(groups), size=size, replace=False) for size in draw.integers(1, 5, 40)]
    parts = [[(float(draw.normal()), *groups[n]) for n in numbers] for numbers in chosen]
    parts += [[(1.0, *group)] for group in groups]  # every group is in its pool
    rows = sum((contrast(*terms, part=f"part {n}") for n, terms in enumerate(parts)), [])
    found = [(c.estimate, c.standard_error, c.degrees_of_freedom) for c in judged(rows).contrasts]
    assert np.array(found) == pytest.approx(np.array(reference(parts)))


SIDES = {
    # plainly above the threshold, plainly below, plainly at it, and above it by less than the smallest effect
    "above": ("yes", "no", "no effect", "yes"),
    "below": ("no", "yes", "no effect", "no"),
    "differs": ("yes", "yes", "no effect", "yes"),
    "within": ("no", "no", "yes", "yes"),
}


@pytest.mark.parametrize("side", SIDES)
def test_every_side_knows_the_plain_cases(side):
    for estimate, expected in zip((0.5, -0.5, 0.0, 0.01), SIDES[side]):
        for threshold in (0.0, 3.0):
            terms = (1, "a", made_up(threshold + estimate, 0.001, 4), "pool"), (1, "b", made_up(0.0, 0.001, 3), "pool")
            assert verdict(contrast(*terms, side=side, threshold=threshold)) == expected, (estimate, threshold)
        assert verdict(given(estimate, estimate - 0.005, estimate + 0.005, side=side)) == expected
        assert verdict(given(0.0, -0.02, 0.02, side=side)) == SIDES[side][2]  # as far as the smallest effect
        # So much scatter that nothing is known, and what would be plain from too few seeds.
        wide = (1, "a", made_up(estimate, 1.0, 4), "pool"), (1, "b", made_up(0.0, 1.0, 3), "pool")
        assert verdict(contrast(*wide, side=side)) == "undecided"
        single = (1, "a", [estimate], "pool"), (-1, "b", made_up(0.0, 0.001, 6), "pool")
        assert verdict(contrast(*single, side=side)) == "undecided"  # a group of one seed
        few = (1, "a", made_up(estimate, 1e-6, 3), "pool"), (-1, "b", made_up(0.0, 1e-6, 2), "pool")
        assert verdict(contrast(*few, side=side)) == "undecided"  # three degrees of freedom
        enough = (1, "a", made_up(estimate, 1e-6, 3), "pool"), (-1, "b", made_up(0.0, 1e-6, 3), "pool")
        assert verdict(contrast(*enough, side=side)) == expected


def test_a_yes_of_less_than_the_smallest_effect_is_small():
    for estimate, small in ((0.019, True), (0.021, False)):
        found = judged(contrast((1, "a", made_up(estimate, 0.001, 5), "pool")))
        assert (found.claims[0].verdict, found.claims[0].small, found.contrasts[0].small) == ("yes", small, small)
        beside = contrast((1, "a", made_up(3.0 + estimate, 0.001, 5), "pool"), threshold=3.0)
        assert judged(beside).claims[0].small == small
    own = contrast((1, "a", made_up(0.019, 0.001, 5), "pool"), smallest_effect=0.01)
    assert not judged(own).claims[0].small
    assert not judged(contrast((1, "a", made_up(0.019, 1e-6, 5), "pool"), side="within")).claims[0].small


def test_runs_of_one_group_and_one_seed_count_once():
    probes, baseline = made_up(0.1, 0.01, 3), made_up(0.0, 0.01, 3)
    rows = contrast((1, "a", probes, "pool"), (-1, "b", baseline, "pool"))
    twice = rows + [replace(row, run=f"looked at {row.run}") for row in rows]
    assert judged(twice) == judged(rows)


def test_what_is_the_same_runs_is_exactly_nil():
    # The head of runs with probes is that of the baseline of one seed: both are runs of one group.
    losses = [2.96799, 2.95735, 2.96159]
    rows = contrast((1, "baseline", losses, "pool"), (-1, "baseline", losses, "pool"))
    (found,) = judged([replace(row, run=f"probes {row.run}") if row.coefficient > 0 else row for row in rows]).contrasts
    assert (found.estimate, found.standard_error, found.low, found.high) == (0.0, 0.0, 0.0, 0.0)
    assert (found.verdict, found.degrees_of_freedom, found.covers) == ("no effect", None, "nothing")
    assert verdict(contrast((1, "one", [3.0], "pool"), (-1, "one", [3.0], "pool"), side="within")) == "yes"
    # Coefficients of one group add up, and to nothing where only rounding is left: 3 * 0.1 - 0.3 is 5.6e-17.
    tenths = [(0.1, "a", made_up(0.3, 0.01, 5), "pool")] * 3
    assert judged(contrast(*tenths)).contrasts[0].estimate == pytest.approx(0.09)
    assert judged(contrast(*tenths, (-0.3, *tenths[0][1:]))).contrasts[0].standard_error == 0.0


def test_values_that_are_all_alike_decide_but_for_steps():
    alike = contrast((1, "a", [1.0] * 5, "pool"))
    assert (judged(alike).contrasts[0].standard_error, verdict(alike)) == (0.0, "yes")
    stepped = [replace(row, step=0.5) for row in alike]
    assert judged(stepped).contrasts[0].standard_error == pytest.approx(0.5 / math.sqrt(12) / math.sqrt(5))
    scattered = contrast((1, "a", made_up(1.0, 0.3, 5), "pool"), step=0.5)  # by more than rounding to steps does
    assert judged(scattered).contrasts[0].standard_error == pytest.approx(0.3 / math.sqrt(5))
    pairs = contrast((1, "a", [1.0] * 5, "pool"), (-1, "b", [0.0] * 5, "pool"), step=0.5, paired=True)
    assert judged(pairs).contrasts[0].standard_error == pytest.approx(math.sqrt(2 * 0.25 / 12 / 5))


def test_an_own_run_is_judged_by_a_pool_and_changes_no_other_verdict():
    rows = contrast((1, "a", made_up(0.1, 0.01, 4), "pool"), (-1, "b", made_up(0.0, 0.01, 4), "pool"))
    own = contrast(
        (1, "mine", made_up(0.1, 9.0, 2), "pool"), (-1, "b", made_up(0.0, 0.01, 4), "pool"), claim="mine", pooled=False
    )  # fmt: skip
    both = judged(rows + own)
    assert both.contrasts[:1] == judged(rows).contrasts
    assert both.claims[1].verdict == "yes" and both.contrasts[1].degrees_of_freedom == 6
    mine = judged(own)  # without the pool nothing says how it scatters
    assert (mine.contrasts[0].standard_error, mine.claims[0].verdict) == (None, "undecided")


PARTS = {"yes": (0.5, 0.4, 0.6), "no": (-0.5, -0.6, -0.4), "no effect": (0, -0.01, 0.01), "undecided": (0, -1, 1)}


@pytest.mark.parametrize(
    "parts, expected",
    [
        (["yes", "yes"], "yes"),
        (["yes", "no"], "no"),
        (["no effect", "no", "undecided"], "no"),
        (["no effect", "yes"], "no effect"),
        (["no effect", "undecided"], "no effect"),
        (["yes", "undecided"], "undecided"),
    ],
)
def test_several_parts(parts, expected):
    assert verdict(sum((given(*PARTS[name], part=str(n)) for n, name in enumerate(parts)), [])) == expected


def test_among_several_parts_it_takes_more_to_say_no():
    # Of four parts, one must be no at 0.9975: a normal interval is wider by the ratio of the quantiles.
    ratio = stats.norm.ppf(1 - 0.0025 / 2) / stats.norm.ppf(1 - 0.01 / 2)
    others = sum((given(*PARTS["undecided"], part=str(n)) for n in range(3)), [])
    for high, expected in ((-1 + 0.999 / ratio, "no"), (-1 + 1.001 / ratio, "undecided")):
        assert verdict(given(-1, -2, high)) == "no"
        assert verdict(given(-1, -2, high) + others) == expected
    # Where the interval leaves the estimate out, it is widened from its nearer end, here to -3 + 2.4 ratio.
    assert verdict(given(-5, -3, -0.6) + others) == "no" and -5 + 4.4 * ratio > 0 > -3 + 2.4 * ratio
    # Nor is it no effect where a part may be no.
    doubtful = given(-1, -2, -1 + 1.001 / ratio)
    assert verdict(doubtful + given(*PARTS["no effect"], part="nil") + others) == "undecided"
    seeds = stats.t.ppf(1 - 0.0025 / 2, 4) * 0.1 / math.sqrt(5)
    for mean, expected in ((-1.001 * seeds, "no"), (-0.999 * seeds, "undecided")):
        assert verdict(contrast((1, "a", made_up(mean, 0.1, 5), "pool")) + others) == expected


def test_an_interval_that_is_given_is_turned_by_its_coefficient():
    (row,) = given(0.5, 0.3, 0.6, side="below")
    (found,) = judged([replace(row, coefficient=-2.0)]).contrasts
    assert (found.estimate, found.low, found.high) == pytest.approx((-1.0, -1.2, -0.6))
    assert (found.verdict, found.covers, found.seeds, found.standard_error) == ("yes", "text", None, None)
    unknown = judged(given(0.5, -math.inf, math.inf))
    assert (unknown.claims[0].verdict, unknown.contrasts[0].low, unknown.claims[0].more_seeds) == (
        "undecided",
        None,
        None,
    )


@pytest.mark.parametrize("degrees, quantile", [(None, 2.575829), (5, 4.032143), (3, math.inf)])
def test_a_standard_error_is_turned_into_an_interval(degrees, quantile):
    """Quantiles of the normal distribution and of Student's t, from tables; three degrees of freedom decide nothing."""
    (row,) = given(0.5, 0.5, 0.5)
    row = replace(row, low=None, high=None, standard_error=0.1, degrees_of_freedom=degrees)
    (found,) = judged([row]).contrasts
    ends = (0.5 - 0.1 * quantile, 0.5 + 0.1 * quantile) if degrees != 3 else (None, None)
    assert (found.low, found.high) == pytest.approx(ends, abs=1e-6)
    with pytest.raises(UserError, match="what they cover"):
        replace(row, covers=None)


def test_a_claim_whose_runs_are_missing_is_not_run():
    rows = contrast((1, "a", made_up(1.0, 0.01, 5), "pool"))
    there, absent = rows[0], replace(rows[0], group="b", run=None, value=None, pool=None)
    found = judged([*rows, absent, *(replace(row, part="second") for row in rows)])
    assert [contrast.verdict for contrast in found.contrasts] == ["not run", "yes"]
    assert found.contrasts[0].estimate is None
    assert (found.claims[0].verdict, found.claims[0].more_seeds) == ("not run", None)
    assert verdict([replace(there, value=None)]) == "not run"
    # One run that has not been measured is not there.
    assert judged([*rows, replace(there, run="a 9", value=None)]) == judged(rows)


WRONG = {
    "a side, one of above, below, differs, within": {"side": "over"},
    "a number as value of a 1, found nan": {"value": math.nan},
    "a number as threshold of a 1, found None": {"threshold": None},
    "a number as smallest_effect of a 1, found inf": {"smallest_effect": math.inf},
    "a number as step of a 1, found -1.0": {"step": -1.0},
    "a pool for a 1": {"pool": None},
    "one side in all rows, found ('above', 'below')": {"side": "below"},
    "one pool for group a (what compares within a run is worked out in each run first)": {"pool": "other"},
    "one number of a 0 in pool 'pool'": {"run": "a 0"},
    "a 0 in one group of pool 'pool', found ('a', 'b')": {"run": "a 0", "group": "b"},
    "low and high, in this order, found (2.0, 1.0)": {"low": 2.0, "high": 1.0, "covers": "text"},
    "low and high, in this order, found (2.0, None)": {"low": 2.0},
    "beside low and high what they cover": {"low": 1.0, "high": 2.0},
    "a single row where low and high are given, found 5": {"low": 1.0, "high": 2.0, "covers": "text"},
}


@pytest.mark.parametrize("expected", WRONG)
def test_what_contradicts_is_an_error_of_one_line(expected):
    rows = contrast((1, "a", made_up(1.0, 0.1, 5), "pool"))
    with pytest.raises(UserError) as error:
        rows[1] = replace(rows[1], **WRONG[expected])
        judged(rows)
    assert str(error.value).startswith("Q0: claim 'claim', part 'part': expected ") and "\n" not in str(error.value)
    assert expected in str(error.value)


def test_a_rule_is_checked():
    for wrong in ({"confidence": 1.0}, {"confidence": 0.01}, {"smallest_effect": -1.0}, {"smallest_effect": math.nan}):
        with pytest.raises(InvalidValue):
            replace(RULE, **wrong)


def test_rows_are_what_sql_returned():
    columns = ["claim", "part", "side", "threshold", "coefficient", "group", "run", "value", "pool"]
    values = ("claim", "part", "above", 0.0, 1.0, "a", "a 0", 3.0, "pool")
    assert rows_of("Q1", columns, [values]) == [Row("Q1", *values)]
    assert rows_of("Q1", [*columns, "step"], [(*values, Decimal("0.5"))]) == [Row("Q1", *values, step=0.5)]
    for wrong, named in ((columns[:-1], "pool"), ([*columns, "steps"], "steps")):
        with pytest.raises(UserError, match=f"Q1: contrasts.sql: .* found {named} amiss"):
            rows_of("Q1", wrong, [])


def groups_of(seeds: dict[str, int]) -> list[Row]:
    """A claim of two parts, over three groups of as many seeds."""
    values = {
        "a": made_up(0.03, 0.02, seeds["a"]), "b": made_up(0.0, 0.02, seeds["b"]), "c": made_up(-0.05, 0.02, seeds["c"])
    }  # fmt: skip
    first = contrast((1, "a", values["a"], "pool"), (-1, "b", values["b"], "pool"), part="first")
    return first + contrast((1, "b", values["b"], "pool"), (-1, "c", values["c"], "pool"), part="second")


def test_a_group_of_one_seed_comes_first():
    # By variance the other group, which weighs ten times as much, would be the better choice.
    terms = (1, "a", made_up(0.5, 0.01, 6), "pool"), (-0.1, "b", [0.0], "pool")
    assert [(row.group, row.seeds) for row in judged(contrast(*terms)).more_seeds] == [("b", 1)]


@pytest.mark.parametrize("seeds", [{"a": 4, "b": 3, "c": 3}, {"a": 1, "b": 5, "c": 4}, {"a": 2, "b": 1, "c": 2}])
def test_undecided_says_how_many_more_seeds_would_decide(seeds):
    found = judged(groups_of(seeds))
    more = Counter({row.group: row.seeds for row in found.more_seeds})
    assert found.claims[0].verdict == "undecided" and found.claims[0].more_seeds == more.total() > 0
    assert verdict(groups_of(Counter(seeds) + more)) != "undecided"  # as many more of the same mean and scatter
    for group in more:
        assert verdict(groups_of(Counter(seeds) + more - Counter([group]))) == "undecided"


def test_one_part_may_decide_alone():
    # The first part needs hundreds of seeds, and the second is nearly no.
    first = contrast((1, "a", made_up(0.001, 0.1, 4), "pool"), part="first")
    second = contrast((1, "b", made_up(-0.2, 0.1, 4), "pool"), part="second")
    assert {row.group for row in judged(first + second).more_seeds} == {"b"}


def test_more_seeds_of_pairs_are_of_both():
    rows = contrast((1, "a", made_up(0.1, 0.05, 4), "pool"), (-1, "b", [0.0] * 4, "pool"), paired=True)
    found = judged(rows).more_seeds
    assert [row.group for row in found] == ["a", "b"] and found[0].seeds == found[1].seeds > 0


def test_no_number_of_seeds_is_named_where_none_decides():
    at_the_edge = contrast((1, "a", made_up(0.02, 0.01, 5), "pool"), side="within")
    too_many = contrast((1, "a", made_up(0.011, 0.1, 5), "pool"))
    no_scatter_known = contrast((1, "a", [0.5], "pool"), (-1, "b", [0.1], "pool"))
    text = given(0.1, -0.1, 0.3)
    for rows in (at_the_edge, too_many, no_scatter_known, text):
        found = judged(rows)
        assert (found.claims[0].verdict, found.claims[0].more_seeds) == ("undecided", None) and not found.more_seeds


# Seeds and standard deviation of final and of held-out losses at size nano and on its rung, by pool and group.
SCATTER = {
    "last": {
        "baseline": (4, 0.0122), "separate": (3, 0.0054), "shared": (3, 0.0038), "multi_token": (2, 0.0151),
        "shared_stop_gradient": (1, 0.0), "hyper_connections": (1, 0.0),
    },
    "probe 1": {"baseline": (4, 0.0318), "multi_token": (2, 0.0116)},
    "probe 2": {"baseline": (4, 0.0783), "multi_token": (2, 0.0645)},
    "probe 3": {"baseline": (4, 0.0713), "multi_token": (2, 0.0983)},
    "probe 4": {"baseline": (4, 0.0577), "multi_token": (2, 0.0454)},
    "probe 5": {"baseline": (4, 0.0229), "multi_token": (2, 0.0411)},
    "separate 1": {"separate": (3, 0.0615)}, "separate 2": {"separate": (3, 0.0146)},
    "separate 3": {"separate": (3, 0.0069)}, "separate 4": {"separate": (3, 0.0060)},
    "separate 5": {"separate": (3, 0.0073)},
    "last of width 16": {"plain": (3, 0.0109), "multi_token of width 16": (3, 0.0301)},
    "held out": {
        "baseline": (4, 0.0122), "growth": (3, 0.0126), "growth_half": (3, 0.0234),
        "uniform_equal_compute": (3, 0.0078),
    },
}  # fmt: skip
LAYERS = range(1, 6)
CLAIMS = {
    "separate heads cost": [("above", "last", {"separate": 1, "baseline": -1})],
    "shared head costs": [("above", "last", {"shared": 1, "baseline": -1})],
    "both cost": [("above", "last", {name: 1, "baseline": -1}) for name in ("separate", "shared")],
    "stop-gradient costs": [("above", "last", {"shared_stop_gradient": 1, "baseline": -1})],
    "order of costs": [
        ("above", "last", {"shared": 1, "separate": -1}), ("above", "last", {"shared_stop_gradient": 1, "shared": -1}),
    ],
    "shared ends level": [("within", "last", {"shared": 1, "baseline": -1})],
    "multi-token changes the last layer": [("differs", "last", {"multi_token": 1, "baseline": -1})],
    "multi-token changes layers": [("differs", f"probe {n}", {"multi_token": 1, "baseline": -1}) for n in LAYERS],
    "probes end above separate heads": [
        ("above", {"baseline": f"probe {n}", "separate": f"separate {n}"}, {"baseline": 1, "separate": -1})
        for n in LAYERS
    ],
    "no size gains": [
        ("above", "last", {"multi_token": 1, "baseline": -1}),
        ("above", "last of width 16", {"multi_token of width 16": 1, "plain": -1}),
    ],
    "larger sizes gain more": [
        (
            "below",
            {"multi_token": "last", "baseline": "last", "plain": "last of width 16",
             "multi_token of width 16": "last of width 16"},
            {"multi_token": 1, "baseline": -1, "multi_token of width 16": -1, "plain": 1},
        )
    ],
    "growth ends below": [("below", "held out", {"growth": 1, "baseline": -1})],
    "growth ends below at equal compute": [("below", "held out", {"growth": 1, "uniform_equal_compute": -1})],
    "growth ends below with half the budget": [("below", "held out", {"growth_half": 1, "baseline": -1})],
}  # fmt: skip


def scattered() -> tuple[list[Row], dict[str, str]]:
    """The claims over seeds that the default's runs can be held to, with each group's seeds and scatter."""
    rows = []
    for claim, parts in CLAIMS.items():
        for n, (side, pools, coefficients) in enumerate(parts):
            of = {name: pools if isinstance(pools, str) else pools[name] for name in coefficients}
            terms = [
                (coefficient, name, made_up(0.0, *reversed(SCATTER[of[name]][name])), of[name])
                for name, coefficient in coefficients.items()
            ]
            rows += contrast(*terms, side=side, claim=claim, part=str(n))
    return rows, {row.run: row.run.split()[-1] for row in rows}


def test_chance_makes_few_verdicts():
    rows, seeds = scattered()
    shares = by_chance(rows, seeds, RULE)
    assert len(shares) == len(CLAIMS) and 0 < np.mean(list(shares.values())) <= 0.02
    # Where one group scatters twice as much as was measured, more of them; of two seeds only most.
    twice = {
        group: np.mean(list(by_chance(rows, seeds, RULE, {group: 2.0}).values()))
        for group in {row.group for row in rows}
    }
    assert max(twice, key=twice.get) == "multi_token" and twice["multi_token"] <= 0.03


def test_chance_makes_as_many_verdicts_as_confidence_leaves():
    # Three groups of two seeds that scatter alike: the pooled t interval is exact.
    terms = [
        (1, "a", made_up(0, 1, 2), "pool"),
        (-1, "b", made_up(0, 1, 2), "pool"),
        (1, "c", made_up(0, 1, 3), "pool"),
    ]
    rows = contrast(*terms[:2], claim="above") + contrast(
        *terms[:2], side="within", claim="within", smallest_effect=0.0
    )
    rows += contrast(terms[2], claim="c")
    rows += [replace(row, claim="text") for row in given(5.0, 3.0, 7.0)]
    seeds = {row.run: row.run.split()[-1] for row in rows}
    shares = by_chance(rows, seeds, replace(RULE, confidence=0.9), draws=20_000)
    for claim in ("above", "within", "text"):
        assert shares["Q0", claim] == pytest.approx(0.1, abs=0.01)  # five standard errors of 20,000 draws
    assert shares == by_chance(rows, seeds, replace(RULE, confidence=0.9), draws=20_000)


def test_chance_scatters_each_group_as_measured_and_judges_within_by_no():
    wide, narrow = (
        (1, "wide", made_up(0, 3, 2), "pool"),
        [(1, f"narrow {n}", made_up(0, 0.1, 2), "pool") for n in range(4)],
    )
    rows = contrast(wide, claim="wide") + sum((contrast(term, claim=term[1]) for term in narrow), [])
    rows += contrast((1, "near", made_up(5, 1e-4, 5), "own"), side="within", claim="within")
    shares = by_chance(rows, {row.run: row.run.split()[-1] for row in rows}, RULE)
    assert (
        shares["Q0", "wide"] > 0.02 > 0.01 > shares["Q0", "narrow 0"]
    )  # the pool holds the one too narrow, the others too wide
    assert shares["Q0", "within"] == 0.0
