"""Depth scores and effective depths of numbers whose answer one can see."""

import pytest

from perlayer.depth.depth_score import (
    cosine_depth,
    depth_score,
    depth_scores,
    effective_depth,
    kl_depth,
    mean_effects,
    overlap_depth,
)
from perlayer.depth.tables import Contribution, DepthScore, EffectiveDepth, OutputEffect, ResidualLens, SkipEffect


def test_the_effects_of_a_layer_are_averaged_over_the_layers_after_it():
    pairs = {(1, 2): 1.0, (1, 3): 3.0, (2, 3): 0.5}
    assert mean_effects(pairs, 3) == {1: 2.0, 2: 0.5, 3: 0.0}


def test_a_depth_score_is_the_mean_layer_by_effect():
    assert depth_score({1: 2.0, 2: 0.5, 3: 0.0}) == pytest.approx((1 * 2 + 2 * 0.5) / 2.5)
    assert depth_score({1: 1.0, 2: 1.0, 3: 1.0}) == 2
    assert depth_score({1: 0.0, 2: 0.0}) is None


def test_of_two_layers_the_first_alone_changes_later_tokens():
    effects = [SkipEffect("a", 1, None, 2, "mean", effect_future=0.3)]
    outputs = [OutputEffect("a", n, None, "mean", output_effect_future=value) for n, value in ((1, 0.2), (2, 0.0))]
    assert depth_scores("a", 2, effects, outputs) == []  # where it would be 1 whatever the model does
    effects.append(SkipEffect("a", 2, None, 3, "mean", effect_future=0.3))
    outputs.append(OutputEffect("a", 3, None, "mean", output_effect_future=0.0))
    assert len(depth_scores("a", 3, effects, outputs)) == 1


def test_effective_depths_count_from_one():
    assert cosine_depth([0.1, -0.1, 0.2, -0.1, 0.0, 0.1]) == 5
    assert cosine_depth([0.1, 0.2]) is cosine_depth([-0.1, -0.2]) is None
    assert kl_depth([4.0, 5.0, 2.5, 2.4, 0.1]) == 4
    assert kl_depth([4.0, 3.0, 2.5]) is None
    assert overlap_depth([0.0, 0.2, 0.21, 0.1]) == 3
    assert overlap_depth([0.0, 0.2]) is None


def test_scores_come_from_future_effects():
    pairs, outputs = {(1, 2): 2.0, (1, 3): 2.0, (2, 3): 1.0}, {1: 0.0, 2: 1.0, 3: 0.0}
    asked = [(part, stat) for part in (None, "attention", "block") for stat in ("mean", "max")]
    found = depth_scores(
        "a",
        3,
        [SkipEffect("a", s, part, o, stat, 9.0 * s, v) for part, stat in asked for (s, o), v in pairs.items()],
        [OutputEffect("a", s, part, stat, 9.0 * s, v) for part, stat in asked for s, v in outputs.items()],
    )
    assert found == [DepthScore("a", 3, part, stat, 4 / 3, 2) for part, stat in asked if part != "block"]


def test_what_nothing_changes_has_no_depth_score():
    effects = [SkipEffect("a", s, None, o, "mean", 1.0, 0.0) for s, o in ((1, 2), (1, 3), (2, 3))]
    outputs = [OutputEffect("a", s, None, "mean", 1.0) for s in (1, 2, 3)]
    assert depth_scores("a", 3, effects, outputs) == []


def test_effective_depths_come_from_mean_cosines_and_the_lens():
    cosines = {None: (0.3, -0.3, 0.6), "attention": (0.3, -0.3, -0.3), "mlp": (0.3, 0.3, 0.3)}
    contributions = [
        Contribution("a", layer, part, cosine=value)
        for part, values in cosines.items()
        for layer, value in enumerate(values, 1)
    ]
    lens = [ResidualLens("a", layer, kl, 0.0, 1.0 if layer == 3 else 0.1) for layer, kl in enumerate((4, 3, 1, 0))]
    # the means are 0.3, -0.1 and 0.2; no layer's input shares enough tokens
    assert effective_depth("a", contributions, lens) == EffectiveDepth("a", 3, cosine=3, kl=3, overlap=None)
