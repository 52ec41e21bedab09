"""The claims of Q1 against results made so that the answer is known."""

import made_up_results as made_up
import pytest

from perlayer.questions.q1_layer_contribution.question import QUESTION

DEPTH = 4
SCATTER = (-0.001, 0.0, 0.001)  # of the seeds of every group
BASELINES = {1: 3.4, 2: 3.2, 3: 3.1, 4: 3.0}
GAPS = {
    "probes": {1: 0.5, 2: 0.4, 3: 0.2, 4: 0.0},
    "separate": {1: 0.3, 2: 0.1, 3: 0.1, 4: 0.25},  # the last layer ends above the baseline of two layers
    "shared": {1: 0.3, 2: 0.2, 3: 0.2, 4: 0.35},
    "shared_stop_gradient": {1: 0.3, 2: 0.2, 3: 0.2, 4: 0.45},
}
TRUE = dict.fromkeys((claim.name for claim in QUESTION.claims), "yes")


def judge(gaps=GAPS, baselines=BASELINES, seeds=(0, 1, 2)):
    """The verdict on each claim, where setups lie so much above baselines that end so."""
    rows, runs = [], {}

    def add(run, keys, seed, layer, readout, loss):
        runs[run] = {**made_up.PLAIN, **keys, "seed": seed}
        rows.append({"run": run, "layer": layer, "readout": readout, "value": loss + SCATTER[seed]})

    for seed in seeds:
        for depth, loss in baselines.items():
            add(f"depth_{depth}_{seed}", {"layers": depth}, seed, depth, "head", loss)
        for setup, gap in gaps.items():
            for layer, above in gap.items():
                readout = "head" if layer == DEPTH else "probe" if setup == "probes" else setup
                add(f"{setup}_{seed}", {"readouts": setup}, seed, layer, readout, BASELINES[layer] + above)
    with made_up.in_memory(rows, runs, DEPTH, QUESTION) as connection:
        return made_up.verdicts(connection)


def test_what_is_plainly_so_is_judged_so():
    assert judge() == TRUE


def changed(setup, **layers):
    return {**GAPS, setup: {**GAPS[setup], **{int(layer[1:]): gap for layer, gap in layers.items()}}}


# 3 seeds of scatter 0.001: every interval is narrower than 0.01, and the smallest effect is 0.02.
@pytest.mark.parametrize(
    "gaps, verdicts",
    [
        (changed("probes", _1=-0.5), {"probes_early": "no"}),
        (changed("probes", _1=0.0), {"probes_early": "no effect"}),
        (changed("probes", _3=-0.2), {"probes_close": "no"}),
        (changed("probes", _3=0.0), {"probes_close": "no effect"}),
        (changed("separate", _2=-0.1, _3=0.3), {"separate_every": "no"}),
        (changed("separate", _2=0.0, _3=0.2), {"separate_every": "no effect"}),
        (changed("separate", _2=0.4, _3=0.4), {"separate_middle": "no"}),
        (changed("separate", _1=0.1), {"separate_middle": "no effect"}),
        (changed("separate", _4=0.15), {"separate_shallower": "no"}),
        (changed("separate", _4=0.2), {"separate_shallower": "no effect"}),
        (changed("shared", _2=-0.1), {"shared_every": "no"}),
        (changed("shared", _2=0.0), {"shared_every": "no effect"}),
        (changed("separate", _4=-0.1), {"separate_cost": "no", "separate_every": "no", "separate_shallower": "no"}
         | {"separate_middle": "no"}),
        (changed("separate", _4=0.0), {"separate_cost": "no effect", "separate_every": "no effect"}
         | {"separate_middle": "no", "separate_shallower": "no"}),
        (changed("shared", _4=-0.1), {"shared_cost": "no", "shared_every": "no", "order": "no"}),
        (changed("shared", _4=0.0), {"shared_cost": "no effect", "shared_every": "no effect", "order": "no"}),
        (changed("shared_stop_gradient", _4=-0.1), {"shared_stop_gradient_cost": "no", "order": "no"}),
        (changed("shared_stop_gradient", _4=0.0), {"shared_stop_gradient_cost": "no effect", "order": "no"}),
        (changed("shared", _4=0.25), {"order": "no effect"}),
    ],
)  # fmt: skip
def test_what_is_not_so_is_judged_so(gaps, verdicts):
    assert judge(gaps) == TRUE | verdicts


@pytest.mark.parametrize("third, verdict", [(3.3, "no"), (3.2, "no effect")])
def test_a_layer_that_does_not_help_is_said(third, verdict):
    found = judge({}, {**BASELINES, 3: third})
    assert found.pop("depth") == verdict and set(found.values()) == {"not run"}


def test_one_seed_decides_nothing_and_none_has_not_run():
    assert set(judge(seeds=(0,)).values()) == {"undecided"}
    assert set(judge(seeds=()).values()) == {"not run"}
