"""Growth training: its stages, what stands still in them, and what it costs."""

from types import SimpleNamespace

import pytest
import torch
from composer.core import Algorithm, Event

from perlayer.algorithms.ema.algorithm import WeightAverage
from perlayer.algorithms.growth.algorithm import Growth, scale_layers, stage_at
from perlayer.algorithms.growth.compute import relative_cost
from perlayer.algorithms.growth.settings import Settings
from perlayer.algorithms.growth.stages import Stage, by_importance, plan_stages
from perlayer.errors import InvalidValue, UserError
from perlayer.losses.reading import LayerMetric, Reading
from perlayer.model.config import ModelConfig
from perlayer.model.decoder import Decoder
from perlayer.model.flops import training_flops
from perlayer.params import load
from perlayer.plan import check_params
from perlayer.training.composer_model import PerLayerModel

SIX = Settings(protocol="six_stages")


def layers_of(stages):
    return [stage.layers for stage in stages]


@pytest.mark.parametrize(
    ("layers", "expected"),
    [
        # the source's own 12-layer model, its layers counted from 0: 4-5, 1-2, 8-9, 7-10, the rest, all
        (12, [(5, 6), (2, 3), (9, 10), (8, 9, 10, 11), (1, 4, 7, 12), ()]),
        # middles of six layers in twelfths of the depth: 1, 3, 5, 7, 9, 11
        (6, [(3,), (1,), (5,), (4, 5), (2, 6), ()]),
        # middles of three, in twelfths: 2, 6, 10; parts without one take the nearest, and no layer is left over
        (3, [(2,), (1,), (3,), (3,), ()]),
        (1, [(1,), (1,), (1,), (1,), ()]),
    ],
)
def test_six_stages_lie_where_the_source_has_them(layers, expected):
    assert layers_of(plan_stages(SIX, layers, 1000)) == expected


def test_stages_last_their_share_of_the_updates():
    # shares 0.30, 0.20, 0.20, 0.10, 0.05, and 0.15 for the whole, of 1200 updates
    assert [stage.start for stage in plan_stages(SIX, 6, 1200)] == [0, 360, 600, 840, 960, 1020]
    stages = plan_stages(SIX, 6, 1200)
    assert [stage_at(stages, update).layers for update in (0, 359, 360, 1019, 1020, 1199)] == [
        (3,),
        (3,),
        (1,),
        (2, 6),
        (),
        (),
    ]


def test_stages_too_short_for_an_update_are_left_out():
    # 0.30, 0.20, 0.20, 0.10 and 0.05 of five updates are 1.5, 1, 1, 0.5 and 0.25: to even, 2, 1, 1 and none
    assert plan_stages(SIX, 6, 5) == (Stage((3,), 0), Stage((1,), 2), Stage((5,), 3), Stage((), 4))
    assert plan_stages(SIX, 6, 1) == (Stage((), 0),)


def test_by_importance_the_most_important_layers_come_first():
    # seven layers without layer 4 are six in five stages: 2 1 1 1 1, in order of 9, 8, 7, 5, 2, 1
    settings = by_importance([5, 9, 1, 99, 7, 2, 8], [4])
    assert [stage["layers"] for stage in settings.stages] == [[2, 7], [5], [1], [6], [3]]
    assert [stage["share"] for stage in settings.stages] == [0.30, 0.20, 0.20, 0.10, 0.05]
    assert (settings.excluded, settings.protocol) == ([4], None)
    assert layers_of(plan_stages(settings, 7, 100)) == [(2, 7), (5,), (1,), (6,), (3,), ()]
    for layers, sizes in ((7, [2, 2, 1, 1, 1]), (12, [3, 3, 2, 2, 2])):  # evenly, the first stages one more
        even = by_importance(list(range(layers, 0, -1)), [])
        assert [len(stage["layers"]) for stage in even.stages] == sizes
        assert sum((stage["layers"] for stage in even.stages), []) == list(range(1, layers + 1))
    few = by_importance([1.0, 3.0], [])
    assert [stage["layers"] for stage in few.stages] == [[2], [1]]
    assert by_importance([1.0], [1]).stages == []


def test_excluded_layers_wait_for_the_end():
    stages = plan_stages(Settings(protocol="six_stages", excluded=[3, 6]), 6, 1000)
    assert layers_of(stages) == [(1,), (5,), (4, 5), (2,), ()]


class Watch(Algorithm):
    """Keeps the weights, and what the optimizer holds of them, before each update."""

    def __init__(self):
        self.seen = []

    def match(self, event, state):
        return event == Event.BATCH_END

    def apply(self, event, state, logger):
        optimizer = state.optimizers[0]
        named = state.model.decoder.named_parameters()
        self.seen.append(
            {
                name: (
                    parameter.detach().clone(),
                    {key: torch.as_tensor(value).clone() for key, value in optimizer.state[parameter].items()},
                )
                for name, parameter in named
            }
        )


def changed(before, after):
    return {name for name, (weight, _) in after.items() if not torch.equal(weight, before[name][0])}


@pytest.mark.parametrize("outside", ["trained", "frozen"])
def test_only_the_layers_of_a_stage_move_and_their_state_with_them(train, outside):
    settings = Settings(stages=[{"layers": [2], "share": 0.5}, {"layers": [1, 3], "share": 0.25}], outside=outside)
    watch = Watch()
    train([Growth(settings, 8), watch], steps=8)
    names = set(watch.seen[0])
    of_layer = {n: {name for name in names if name.startswith(f"model.layers.{n - 1}.")} for n in (1, 2, 3)}
    rest = names - set.union(*of_layer.values())
    usual = rest if outside == "trained" else set()
    # updates from 0: layer 2 in 0 to 3, layers 1 and 3 in 4 and 5, all in 6 and 7; seen are the weights after each
    expected = [of_layer[2] | usual] * 3 + [of_layer[1] | of_layer[3] | usual] * 2 + [names] * 2
    for before, after, moved in zip(watch.seen, watch.seen[1:], expected):
        assert changed(before, after) == moved
        for name in names - moved:
            assert before[name][1].keys() == after[name][1].keys()
            for key, value in before[name][1].items():
                assert torch.equal(value, after[name][1][key]), (name, key)
    # the bias correction of a norm counts the updates of its own layer: 2 + 2, 4 + 2 and 2 + 2
    counts = [watch.seen[-1][f"model.layers.{n}.self_attn.q_norm.weight"][1]["step"].item() for n in range(3)]
    assert counts == [4, 6, 4]
    for name in names:  # MuonH and AdamH keep norms, frozen or not
        if "_proj" in name or "lm_head" in name:
            first, last = watch.seen[0][name][0], watch.seen[-1][name][0]
            torch.testing.assert_close(last.norm(), first.norm(), rtol=1e-5, atol=0)


def test_the_whole_from_the_first_update_is_uniform_training(train):
    plain, losses = train(steps=5)
    grown, same = train([Growth(Settings(stages=[]), 5)], steps=5)
    assert same == losses
    for one, other in zip(plain.decoder.parameters(), grown.decoder.parameters()):
        assert torch.equal(one, other)


def test_only_matrices_of_excluded_layers_are_scaled():
    decoder, usual = Decoder(CONFIG), Decoder(CONFIG)
    for one in (decoder, usual):
        one.initialize(0)
    scale_layers(decoder, [2], 0.9)
    for (name, found), expected in zip(decoder.named_parameters(), usual.parameters()):
        scaled = name.startswith("model.layers.1.") and expected.ndim == 2
        torch.testing.assert_close(found, 0.9 * expected if scaled else expected, rtol=1e-6, atol=0)


CONFIG = ModelConfig("pre_ln", 6, 32, 112, 2, 2, 16, 10000.0, 1e-5, 512, 64, 0, True)


def test_what_an_update_costs():
    # Operations of a token, by hand: a layer has 4 x 32 x 32 in its projections, 3 x 32 x 112 in its MLP and
    # 2 x 64 x 32 in its attention, the head 32 x 512; two for each.
    layer, head = 2 * (4 * 32 * 32 + 3 * 32 * 112 + 2 * 64 * 32), 2 * 32 * 512
    whole = 3 * (6 * layer + head)
    assert 64 * whole == training_flops(CONFIG, 1, 64, 1)
    forward = 6 * layer + head
    costs = {
        ((1, 2, 3, 4, 5, 6), True): whole,
        ((3,), True): 2 * forward + layer + head,
        ((3,), False): forward + (4 * layer + head) + layer,
        ((5, 6), False): forward + (2 * layer + head) + 2 * layer,
    }
    for (layers, outside), cost in costs.items():
        assert relative_cost(CONFIG, layers, outside) == pytest.approx(cost / whole, rel=1e-12)


def test_the_cost_of_a_stage_is_logged_at_its_first_update():
    model, logged = PerLayerModel(Decoder(CONFIG)), {}
    growth = Growth(Settings(stages=[{"layers": [3], "share": 0.5}], outside="frozen"), 6)
    logger = SimpleNamespace(log_metrics=lambda metrics: logged.setdefault(update, metrics))
    timestamp = SimpleNamespace(batch=SimpleNamespace(value=0))
    state = SimpleNamespace(model=model, run_name="test", optimizers=[], timestamp=timestamp)
    growth.apply(Event.INIT, state, logger)
    for update in range(6):
        state.timestamp.batch.value = update
        growth.apply(Event.BATCH_START, state, logger)
    name = LayerMetric("compute", Reading(6, "head")).name
    assert logged == {0: {name: relative_cost(CONFIG, (3,), False)}, 3: {name: 1.0}}


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({}, "protocol: expected six_stages, or stages written out, found None"),
        ({"protocol": "six"}, "protocol: expected six_stages, found 'six'"),
        ({"protocol": "six_stages", "stages": []}, "protocol: expected"),
        ({"stages": [3]}, "stages: expected a list of {layers"),
        ({"stages": [{"layers": [], "share": 0.1}]}, "stages: expected layers as a list of at least one"),
        ({"stages": [{"layers": [0], "share": 0.1}]}, "stages: expected layers as whole numbers from 1"),
        ({"stages": [{"layers": [1], "share": 1}]}, "stages: expected a share of the updates between 0 and 1"),
        ({"stages": [{"layers": [1], "share": "x"}]}, "stages: expected a share of the updates between 0 and 1"),
        (
            {"stages": [{"layers": [1], "share": 0.6}, {"layers": [2], "share": 0.4}]},
            "stages: expected shares that leave some updates to the whole model, found 1.0",
        ),
        ({"protocol": "six_stages", "excluded": ["a"]}, "excluded: expected layers as whole numbers from 1"),
        (
            {"stages": [{"layers": [1], "share": 0.5}], "excluded": [1]},
            "excluded: expected layers that no stage trains, found [1]",
        ),
        ({"stages": [{"layers": [2, 1, 2], "share": 0.5}]}, "stages: expected each layer once, found [2, 1, 2]"),
        ({"protocol": "six_stages", "excluded": [1, 1]}, "excluded: expected each layer once, found [1, 1]"),
        ({"protocol": "six_stages", "outside": "half"}, "outside: expected trained or frozen, found 'half'"),
    ],
)
def test_what_is_wrong_is_named(keys, message):
    with pytest.raises(InvalidValue) as error:
        Settings(**keys)
    assert message in str(error.value)


def test_a_layer_that_the_model_lacks_is_named():
    with pytest.raises(InvalidValue, match="growth: expected layers from 1 to 3, found 4"):
        Settings(protocol="six_stages", excluded=[4]).check_depth(3)


@pytest.mark.parametrize("rung", [None, "width_16"])
@pytest.mark.parametrize("layers", [None, 2])
def test_it_is_named_where_it_stands_before_any_work(rung, layers):
    params = load()
    usual = params["recipes"][params["size"]]["model"]["layers"]
    keys = {"residual": "sandwich", "readouts": "none", "seed": 0, "growth": {"protocol": "six_stages"}}
    keys["growth"]["excluded"] = [99]
    params["runs"]["mine"] = {**keys, "rung": rung, "layers": layers}
    least = usual if rung is None else params["rungs"][rung]["model"]["layers"]
    with pytest.raises(UserError) as error:
        check_params(params)
    expected = f"params.yaml: runs.mine.growth: expected layers from 1 to {layers or least}, found 99"
    assert str(error.value) == expected


@pytest.mark.parametrize("outside", ["trained", "frozen"])
def test_an_average_of_the_weights_is_of_all_of_them(train, outside):
    """Also of those that are frozen when it begins, against the recursion written out: half is forgotten in two."""
    settings = Settings(stages=[{"layers": [2], "share": 0.5}], outside=outside)
    average, watch = WeightAverage(half_life=2), Watch()
    model, _ = train([Growth(settings, 6), average, watch], steps=6)
    expected = {name: weight for name, (weight, _) in watch.seen[0].items()}
    for seen in watch.seen[1:]:
        expected = {name: 0.5**0.5 * expected[name] + (1 - 0.5**0.5) * seen[name][0] for name in expected}
    found = dict(average.ema_model.named_parameters())
    assert found.keys() == {name for name, _ in model.named_parameters()}
    for name, weight in expected.items():
        torch.testing.assert_close(found[f"decoder.{name}"], weight, rtol=1e-5, atol=1e-7)
