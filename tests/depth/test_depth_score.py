"""Depth scores and effective depths of numbers whose answer one can see."""

import pytest

from perlayer.depth.depth_score import (
    cosine_depth,
    depth_score,
    kl_depth,
    mean_effects,
    overlap_depth,
    score_depth,
    skipping_scores,
)
from perlayer.depth.tables import Number


def test_the_effects_of_a_layer_are_averaged_over_the_layers_after_it():
    pairs = {(1, 2): 1.0, (1, 3): 3.0, (2, 3): 0.5}
    assert mean_effects(pairs, 3) == {1: 2.0, 2: 0.5, 3: 0.0}


def test_a_depth_score_is_the_mean_layer_by_effect():
    assert depth_score({1: 2.0, 2: 0.5, 3: 0.0}) == pytest.approx((1 * 2 + 2 * 0.5) / 2.5)
    assert depth_score({1: 1.0, 2: 1.0, 3: 1.0}) == 2
    assert depth_score({1: 0.0, 2: 0.0}) is None


def test_of_two_layers_the_first_alone_changes_later_tokens():
    numbers = [Number(1, None, "effect_future", "mean", 0.3, 2)]
    numbers += [Number(layer, None, "output_effect_future", "mean", value) for layer, value in ((1, 0.2), (2, 0.0))]
    assert skipping_scores(numbers, 2) == []  # where it would be 1 whatever the model does
    third = [Number(2, None, "effect_future", "mean", 0.3, 3), Number(3, None, "output_effect_future", "mean", 0.0)]
    assert len(skipping_scores(numbers + third, 3)) == 2


def test_effective_depths_count_from_one():
    assert cosine_depth([0.1, -0.1, 0.2, -0.1, 0.0, 0.1]) == 5
    assert cosine_depth([0.1, 0.2]) is cosine_depth([-0.1, -0.2]) is None
    assert kl_depth([4.0, 5.0, 2.5, 2.4, 0.1]) == 4
    assert kl_depth([4.0, 3.0, 2.5]) is None
    assert overlap_depth([0.0, 0.2, 0.21, 0.1]) == 3
    assert overlap_depth([0.0, 0.2]) is None


def test_scores_come_from_future_effects_and_depths_from_means():
    def skipped(sublayer, stat, scale):
        effects = {(1, 2): 2.0, (1, 3): 2.0, (2, 3): 1.0}
        numbers = [Number(s, sublayer, "effect_future", stat, scale * v, o) for (s, o), v in effects.items()]
        numbers += [Number(s, sublayer, "effect_all", stat, 9.0 * s, 3) for s in (1, 2)]
        outputs = {1: 0.0, 2: 1.0, 3: 0.0}
        return numbers + [Number(s, sublayer, "output_effect_future", stat, v) for s, v in outputs.items()]

    skips = [skipped(part, stat, 1.0) for part in (None, "attention") for stat in ("mean", "max")]
    cosines = {None: (0.3, -0.3, 0.6), "attention": (0.3, -0.3, -0.3), "mlp": (0.3, 0.3, 0.3)}
    found = {
        "skipping": sum(skips, []),
        "contributions": [
            Number(layer, part, "cosine", "mean", value)
            for part, values in cosines.items()
            for layer, value in enumerate(values, 1)
        ],
        "logit_lens": [
            Number(layer, None, metric, "mean", value)
            for metric, values in {"kl_lens_final": (4, 3, 1, 0), "top5_overlap": (0.1, 0.1, 0.1, 1)}.items()
            for layer, value in enumerate(values)
        ],
    }
    numbers = {(one.layer, one.sublayer, one.metric, one.stat): one.value for one in score_depth(found, 3)}
    assert numbers == {
        **{(3, part, "depth_score", stat): 4 / 3 for part in (None, "attention") for stat in ("mean", "max")},
        **{(3, part, "output_depth_score", stat): 2 for part in (None, "attention") for stat in ("mean", "max")},
        (3, None, "effective_depth_cosine", "mean"): 3,  # the means are 0.3, -0.1 and 0.2
        (3, None, "effective_depth_cosine_share", "mean"): 1,
        (3, None, "effective_depth_kl", "mean"): 3,
        (3, None, "effective_depth_kl_share", "mean"): 1,
    }
