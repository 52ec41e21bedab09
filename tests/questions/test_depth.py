"""The claims of D1 to D6: each plainly true, plainly false and plainly nil, and where too little is known."""

import made_up_depth
import made_up_results as made_up
import pytest
from made_up_depth import PROFILE, by_group, dissection

from perlayer.questions.d1_contributions.question import QUESTION as D1
from perlayer.questions.d2_skipping.question import QUESTION as D2
from perlayer.questions.d3_logit_lens_depth.question import QUESTION as D3
from perlayer.questions.d4_composition.question import QUESTION as D4
from perlayer.questions.d5_difficulty.question import QUESTION as D5
from perlayer.questions.d6_linear_maps.question import QUESTION as D6

DEPTH = (D1, D2, D3, D4, D5)
PLAIN = {"residual": "sandwich", "readouts": "none", "seed": 0}
SEEDS = (0.99, 1.0, 1.01, 1.0, 0.99)  # of the baseline: what its second half adds beside the profile
TRUE = {
    "layers": "yes", "attention": "yes", "attention_most": "yes", "middle_fall": "yes", "cosine": "yes",
    "future_tokens": "yes", "later_layers": "yes", "future_share": "yes", "kl": "yes", "overlap": "yes",
    "erasure_flat": "yes", "erasure_middle": "yes", "attribution_flat": "yes", "difficulty": "yes", "hops": "yes",
}  # fmt: skip
TOKENS = {"one": {"erasure": [3, 3, 4, 3, 3], "attribution": [3, 3, 3, 3, 3]}}
SCORES = {"sums": 0.1, "hops": -0.1}  # what the depth score grows by


def alike(share, fourth=None):
    """What six layers add when all but the first and perhaps the fourth add the same."""
    return [9.0, share, share, share if fourth is None else fourth, share, share]


FLAT = {part: alike(0.5) for part in PROFILE["shares"]}
RISING = {part: [9.0, 0.1, 0.2, 0.4, 0.6, 0.8] for part in PROFILE["shares"]}


def verdicts(asked=DEPTH, seeds=SEEDS, further=(), scores=SCORES, growths=(0.0, 0.01, -0.01, 0.01, 0.0), **profile):
    """Of a baseline of some seeds with a profile beside `PROFILE`, and of further runs of the usual one."""
    profile = {"tokens": TOKENS, "depths": {"kl": 4, "overlap": 4}} | profile
    runs = {f"seed_{seed}": {**PLAIN, "seed": seed} for seed in range(len(seeds))}
    tables = []
    for run, factor, more in zip(runs, seeds, growths):
        shares = {
            part: [share * (factor if layer > 3 else 1.0) for layer, share in enumerate(values, 1)]
            for part, values in profile.get("shares", PROFILE["shares"]).items()
        }
        groups = {
            f"{name}: {place} {name}": 2.0 + (growth + more) * (place - 2) / 4
            for name, growth in scores.items()
            for place in (2, 4, 6)
        }
        tables += [dissection(run, **profile | {"shares": shares}), *([by_group(run, groups)] if groups else [])]
    tables += [dissection(run) for run in dict(further)]
    with made_up.in_memory(made_up.together(*tables), runs | dict(further), made_up_depth.LAYERS, asked) as connection:
        return made_up.verdicts(connection)


def shares(**parts):
    return {"shares": PROFILE["shares"] | parts}


def cosines(layer):
    return {"cosines": PROFILE["cosines"] | {"layer": layer}}


def tokens(**until):
    return {"tokens": {"one": TOKENS["one"] | until}}


def test_all_claims_may_hold():
    assert verdicts() == TRUE


@pytest.mark.parametrize(
    "claim, changes, verdict",
    [
        ("layers", shares(layer=RISING["layer"]), "no"),
        ("layers", shares(layer=alike(0.5)), "no effect"),
        ("attention", shares(attention=RISING["attention"]), "no"),
        ("attention", shares(attention=alike(0.5)), "no effect"),
        ("attention_most", shares(mlp=[0.9, 0.5, 0.5, 0.1, 0.1, 0.1]), "no"),
        ("attention_most", shares(mlp=PROFILE["shares"]["attention"]), "no effect"),
        ("middle_fall", shares(layer=[9.0, 0.8, 0.4, 0.4, 0.4, 0.4]), "no"),  # it falls before the middle
        ("middle_fall", shares(layer=alike(0.5)), "no effect"),
        ("cosine", cosines([0.0, 0.1, 0.2, -0.3, -0.2, 0.0]), "no"),
        ("cosine", cosines([0.1, -0.1, -0.2, 0.0, 0.2, 0.1]), "no effect"),  # it ends at 0
        ("future_tokens", {"future": [0.1, 0.01, 0.01, 0.05, 0.05, 0.0]}, "no"),
        ("future_tokens", {"future": [0.1, 0.05, 0.05, 0.05, 0.05, 0.0]}, "no effect"),
        ("later_layers", {"later": [0.5, 0.1, 0.1, 0.2, 0.2]}, "no"),
        ("later_layers", {"later": [0.5, 0.1, 0.1, 0.1, 0.1]}, "no effect"),
        ("future_share", {"everywhere": [0.5, 0.8, 0.8, 0.01, 0.01, 0.2]}, "no"),
        ("future_share", {"everywhere": [0.5] * 6, "future": [0.1, 0.05, 0.05, 0.05, 0.05, 0.0]}, "no effect"),
        ("kl", {"depths": {"kl": 6, "overlap": 4}}, "no"),
        ("kl", {"depths": {"overlap": 4}}, "no"),  # in no layer
        ("kl", {"depths": {"kl": 5, "overlap": 4}}, "undecided"),  # a layer is as much as counts as near
        ("kl", {"depths": {"kl": 3, "overlap": 3}, "shares": FLAT, "seeds": [1.0] * 5}, "no effect"),
        ("kl", {"shares": RISING}, "no"),  # nothing falls
        ("overlap", {"depths": {"kl": 4, "overlap": 1}}, "no"),
        ("erasure_flat", tokens(erasure=[1, 2, 3, 4, 5]), "no"),
        ("erasure_middle", tokens(erasure=[5, 5, 5, 5, 5]), "no"),
        ("attribution_flat", tokens(attribution=[5, 4, 3, 2, 1]), "no"),
        ("difficulty", {"scores": SCORES | {"sums": 0.5}}, "no"),
        ("difficulty", {"scores": SCORES | {"sums": -0.5}}, "no"),
        ("difficulty", {"scores": {"hops": 0.1}}, "not run"),
        ("hops", {"scores": SCORES | {"hops": 0.5}}, "no"),
    ],
)
def test_claims_that_do_not_hold(claim, changes, verdict):
    asked = next(question for question in DEPTH if claim in [one.name for one in question.claims])
    assert verdicts(asked, **changes)[claim] == verdict


def test_what_scatters_as_much_as_it_grows_is_undecided():
    found = verdicts(seeds=(0.5, 2.0, 3.0, 1.0, 4.0), growths=(0.0, 0.4, -0.4, 0.2, -0.2))
    assert found["layers"] == found["difficulty"] == found["hops"] == "undecided"


def test_four_seeds_decide_nothing():
    assert verdicts(seeds=SEEDS[:4]) == dict.fromkeys(TRUE, "undecided")


def test_claims_are_about_the_baseline():
    others = {
        "shared": {**PLAIN, "readouts": "shared"},
        "keel": {**PLAIN, "residual": "keel"},
        "deep": {**PLAIN, "layers": 12},
    }
    assert verdicts(further=others) == TRUE
    assert verdicts(seeds=(), further=others) == dict.fromkeys(TRUE, "not run")
    assert verdicts(seeds=()) == dict.fromkeys(TRUE, "not run")


def mapped(pairs, runs):
    """Verdicts where the layers that map best onto each are given by pair."""
    every = {run: {**PLAIN, **definition} for run, definition in runs.items()}
    tables = [made_up_depth.maps(pair, best, runs[source]["layers"]) for pair, (source, _, best) in pairs.items()]
    connection = made_up.in_memory(made_up.together(*tables), every, 8)
    for pair, (source, target, _) in pairs.items():
        connection.execute("INSERT INTO pairs VALUES (?, ?, ?)", [pair, source, target])
    made_up.write_claims(connection, [D6])
    return made_up.verdicts(connection)["diagonal"]


SHALLOW_AND_DEEP = {"four": {"layers": 4}, "eight": {"layers": 8}, "three": {"layers": 3}}


@pytest.mark.parametrize(
    "best, verdict",
    [
        ([1, 1, 2, 2, 3, 3, 4, 4], "yes"),
        ([4, 4, 4, 4, 1, 1, 1, 1], "no"),
        ([1, 2, 1, 2, 3, 4, 1, 2], "undecided"),
    ],
)
def test_a_diagonal_is_held_against_chance(best, verdict):
    assert mapped({"up": ("four", "eight", best)}, SHALLOW_AND_DEEP) == verdict
    pairs = {"up": ("four", "eight", best), "again": ("three", "eight", [1, 1, 1, 2, 2, 2, 3, 3])}
    assert mapped(pairs, SHALLOW_AND_DEEP) == verdict  # all pairs must agree


@pytest.mark.parametrize(
    "shallow",
    [{"residual": "keel"}, {"readouts": "separate"}, {"gradient_surgery": "per_token", "readouts": "separate"}],
)
def test_pairs_that_are_not_two_plain_models_of_one_design_are_not_judged(shallow):
    runs = {"four": {"layers": 4, **shallow}, "eight": {"layers": 8}}
    assert mapped({"up": ("four", "eight", [1, 1, 2, 2, 3, 3, 4, 4])}, runs) == "not run"
    assert mapped({}, runs) == "not run"


def test_numbers_and_runs_are_of_all_setups():
    runs = {"a": PLAIN, "shared": {**PLAIN, "readouts": "shared"}, "to_do": {**PLAIN, "readouts": "separate"}}
    rows = made_up.together(dissection("a"), by_group("a", {"s: 1": 2.0, "s: 2": 2.1}), dissection("shared"))
    with made_up.in_memory(rows, runs, made_up_depth.LAYERS, DEPTH) as connection:
        for question in DEPTH:
            found = connection.execute(question.sql("numbers")).df()
            assert list(found["setup"]) == ["baseline", "shared head"] and set(found["seeds"]) == {1}
            read = connection.execute(f"SELECT run, present FROM ({question.sql('runs')})").fetchall()
            assert dict(read) == {"a": True, "shared": True, "to_do": False}
