"""The numbers by which claims are judged, against their definitions and layers that have a known part in common."""

import math

import numpy as np
import pytest
import torch

from perlayer.anatomy.ablation import importance_estimates
from perlayer.anatomy.controls import measure_controls
from perlayer.anatomy.perplexity import over_text

TARGETS = torch.full((40,), 10.0, dtype=torch.float64)


def nats_of(*changes, scatter=0.0):
    """Of 40 documents: of the model as it is 3 nats a token, and after changes, a number each, more."""
    noise = scatter * np.random.default_rng(0).standard_normal((len(changes), 40))
    after = torch.tensor(3.0 + np.array(changes)[:, None] + noise)
    return torch.cat([torch.full((1, 40), 3.0, dtype=torch.float64), after]) * TARGETS


def found(estimates):
    return {(row.statistic, row.part) if row.part else row.statistic: row for row in estimates}


def test_an_interval_over_text_is_that_of_a_mean_over_documents():
    nats = nats_of(0.5, scatter=0.1)
    interval = over_text(lambda changes: changes[:, 0], nats, TARGETS, 0.99)
    each = ((nats[1] - nats[0]) / TARGETS).numpy()
    assert interval.value == pytest.approx(each.mean())
    reach = 2.5758 * each.std() / math.sqrt(40)  # the normal's quantile; all documents are as long
    assert (interval.low, interval.high) == pytest.approx((each.mean() - reach, each.mean() + reach), abs=0.15 * reach)


def test_importance_of_all_layers_together():
    rows = found(importance_estimates("mine", nats_of(0.1, 2.0, 0.001, 0.4), TARGETS, 0.99))
    span = math.log(math.expm1(2.0) / 0.02)  # less than 2 % counts as that
    assert rows["importance_span"].value == pytest.approx(span)
    assert rows["most_important_early"].value == 1.0
    assert rows["least_importance"].value == pytest.approx(0.001)
    assert {(row.run, row.covers) for row in rows.values()} == {("mine", "text")}
    late = found(importance_estimates("mine", nats_of(0.1, 0.2, 2.0, 0.4), TARGETS, 0.99))
    assert late["most_important_early"].high == 0.0
    assert importance_estimates("mine", nats_of(0.1), TARGETS, 0.99) == []


def test_the_least_importance_is_not_below_0_for_being_the_least_of_many():
    scattered = found(importance_estimates("mine", nats_of(*[0.0] * 12, scatter=0.2), TARGETS, 0.99))
    assert scattered["least_importance"].value < 0 < scattered["least_importance"].high


def test_few_documents_have_no_interval():
    rows = importance_estimates("mine", nats_of(0.1, 2.0)[:, :19], TARGETS[:19], 0.99)
    assert {(row.low, row.high) for row in rows} == {(None, None)}


def matrices(share, layers=5):
    """Layers that have a share of their variance in common, of two kinds."""
    draw = torch.Generator().manual_seed(0)
    found = {}
    for name in ("mlp.gate_proj.weight", "mlp.up_proj.weight"):
        common = torch.randn(40, 30, generator=draw)
        own = [torch.randn(40, 30, generator=draw) for _ in range(layers)]
        found[name] = [share**0.5 * common + (1 - share) ** 0.5 * one for one in own]
    return found


class Settings:
    entries = 1000


def test_layers_that_have_nothing_in_common_lie_within_chance():
    rows = found(measure_controls("mine", matrices(0.0), Settings, 0.99))
    for name in ("r2_beyond_chance", ("gate_lead", "up_proj"), "delta_excess"):
        assert rows[name].low < 0 < rows[name].high and rows[name].covers == "random controls"
    # both deltas hold the layer between them, with opposite signs
    assert rows["delta_correlation"].value == pytest.approx(-0.5, abs=0.03)
    assert rows["delta_correlation"].high < 0


def test_layers_that_have_much_in_common_lie_beyond_it():
    trained = matrices(0.8)
    trained["mlp.up_proj.weight"] = matrices(0.0)["mlp.up_proj.weight"]
    rows = found(measure_controls("mine", trained, Settings, 0.99))
    assert rows["r2_beyond_chance"].low > 0 and rows["gate_lead", "up_proj"].low > 0


def test_layers_that_take_turns_correlate_below_independent_ones():
    trained = {
        name: [(-1.0) ** place * layers[0] + one for place, one in enumerate(layers)]
        for name, layers in matrices(0.0).items()
    }
    assert found(measure_controls("mine", trained, Settings, 0.99))["delta_excess"].high < 0


def test_one_and_two_layers_have_fewer_numbers():
    assert measure_controls("mine", matrices(0.0, layers=1), Settings, 0.99) == []
    rows = measure_controls("mine", matrices(0.0, layers=2), Settings, 0.99)
    assert {row.statistic for row in rows} == {"r2_beyond_chance", "gate_lead"}
