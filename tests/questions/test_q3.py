"""The claims of Q3 against results made so that the answer is known."""

import made_up_results as made_up
import pytest

from perlayer.questions.q3_residual_design.question import QUESTION

LAYERS = 3
SCATTER = (-0.003, 0.0, 0.003)
ALL = ("probes", "separate", "last", "cost")
APART = {"keel": (0.3, 0.2, 0.15), "mhc": (-0.1, -0.2, -0.25)}  # what a design adds to layers 1, 2 and 3


def judge(plain, separate=None, seeds=(0, 1, 2), without=()):
    """The verdicts, where designs add so much to the layers of plain models and of those with separate heads."""
    rows, runs = [], {}
    for readouts, added in (("probes", plain), ("separate", separate or {})):
        for residual, more in {"sandwich": (0.0,) * LAYERS, **added}.items():
            for seed in () if (residual, readouts) in without else seeds:
                run = f"{residual}_{readouts}_{seed}"
                runs[run] = {"residual": residual, "readouts": readouts, "seed": seed}
                for layer in range(1, LAYERS + 1):
                    readout = "head" if layer == LAYERS else made_up.READOUT.get(readouts, readouts)
                    value = 4.0 - 0.3 * layer + more[layer - 1] + SCATTER[seed]
                    rows.append({"run": run, "layer": layer, "readout": readout, "value": value})
    with made_up.in_memory(rows, runs, LAYERS, QUESTION) as connection:
        return made_up.verdicts(connection)


COSTLY = {residual: tuple(2 * value for value in more) for residual, more in APART.items()}


def test_designs_that_differ_everywhere():
    assert judge(APART, COSTLY) == dict.fromkeys(ALL, "yes")


@pytest.mark.parametrize(
    "claim, plain, separate",
    [
        ("probes", {"keel": (0.3, 0.2, 0.2)}, {}),  # as much at layer 3
        ("separate", {}, {"keel": (0.3, 0.3, 0.1)}),
        ("last", {"keel": (0.3, 0.2, 0.0)}, {}),
        ("cost", {"keel": APART["keel"]}, {"keel": APART["keel"]}),
    ],
)
def test_one_layer_that_is_like_the_baseline(claim, plain, separate):
    assert judge({**APART, **plain}, {**COSTLY, **separate})[claim] == "no effect"


def test_equal_designs():
    same = dict.fromkeys(APART, (0.0,) * LAYERS)
    assert judge(same, same) == dict.fromkeys(ALL, "no effect")


def test_what_has_run():
    assert judge(APART, COSTLY, seeds=(1,)) == dict.fromkeys(ALL, "undecided")
    assert judge({}) == judge(APART, COSTLY, seeds=()) == dict.fromkeys(ALL, "not run")
    assert judge(APART) == {"probes": "yes", "separate": "not run", "last": "yes", "cost": "not run"}
    without = judge(APART, COSTLY, without=[("sandwich", "separate")])
    assert without == {"probes": "yes", "separate": "not run", "last": "yes", "cost": "not run"}
