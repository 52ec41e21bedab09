"""The figures of every way to supervise the layers."""

import functools

import made_up_results as made_up
import pandas as pd
import pytest
from drawn import assert_apart, settled, texts
from matplotlib.text import Text

from perlayer import questions
from perlayer.questions.q2_deeper.question import QUESTION as Q2
from perlayer.questions.q5_why_it_hurts.question import QUESTION as Q5
from perlayer.report.figures import (
    FIGURES,
    depth_cost,
    fixes,
    gradient_cosines,
    mix,
    related_work,
    switch_off,
)
from perlayer.warehouse import database

NAMES = ("depth_cost", "fixes", "gradient_cosines", "mix", "related_work", "switch_off")
FOUR = ("separate", "own_layer", "sum_to_one", "own_layer_sum_to_one")
MIXED = ("separate", "sum_to_one", "surgery_sum_to_one", "rising", "rising_surgery")
ALL = made_up.WATCHED | made_up.SUPERVISION


@pytest.fixture(scope="module")
def connection(supervision_dir):
    with questions.connect(supervision_dir) as connection:
        yield connection


@pytest.fixture(scope="module")
def shown(connection):
    """A function that draws a figure of these results, once for all tests."""
    return functools.cache(lambda module: settled(module, connection))


@pytest.mark.parametrize("module, runs", [(fixes, FOUR), (mix, MIXED)])
def test_by_layer_stands_beside_depth_matched_baselines(connection, module, runs):
    table = module.data(connection).set_index("layer")
    assert list(table.index) == [1, 2, 3, 4, 5, 6]  # no deeper model
    assert set(table.columns) == {"depth_matched", "probes", *runs, *(f"{run}_gap" for run in runs)}
    for layer in table.index:
        assert table.loc[layer, "depth_matched"] == pytest.approx(made_up.DEPTH_MATCHED[layer])
        assert table.loc[layer, "probes"] == pytest.approx(made_up.final(made_up.RUNS["probes"], layer))
        for run in runs:
            loss = made_up.final(ALL[run] if run in made_up.SUPERVISION else made_up.RUNS[run], layer)
            assert table.loc[layer, run] == pytest.approx(loss)
            if (run, layer) != ("separate", 6):
                assert table.loc[layer, f"{run}_gap"] == pytest.approx(loss - made_up.DEPTH_MATCHED[layer])
    assert table.loc[6, "separate_gap"] == pytest.approx(0.06 + 0.001 / 3)  # of means over seeds


def test_lines_by_layer_are_named_by_what_they_are(shown):
    found = texts(shown(fixes))
    for reach in ("all below", "own layer"):
        assert found.count(f"weight 1, {reach}") == found.count(f"weight 0.2, {reach}") == 1
    found = texts(shown(mix))
    for label in ("uniform 1", "uniform 0.2", "uniform 0.2, surgery", "rising, mean 0.2", "rising, mean 0.2, surgery"):
        assert found.count(label) == 1


def test_every_way_is_sorted_by_what_it_costs(connection, shown):
    table = related_work.data(connection)
    costs = {run: cost for run, (cost, _) in made_up.COSTS.items() if "layers" not in made_up.SUPERVISION[run]}
    costs |= {"separate": 0.06 + 0.001 / 3, "shared": 0.09 - 0.001 / 3, "shared_stop_gradient": 0.12}
    assert dict(zip(table["run"], table["cost"])) == pytest.approx(costs)
    assert table["cost"].is_monotonic_increasing
    judged = set(table.dropna(subset="low")["run"])
    assert judged == {
        "separate",
        "shared",
        "shared_off_early",
        "shared_off_late",
        "shared_fade",
        "llal",
        "deeply_supervised",
    }
    assert dict(zip(table["run"], table["first_layer_loss"]))["rising"] == pytest.approx(3.2 + 0.3)
    found = texts(shown(related_work))
    for label in (
        "own_layer\nweights uniform 1, own layer",
        "layerskip*\nweights layerskip 0.2, rotational 5, layer dropout 0.1 exponential",
        "rising_surgery\nweights linear 0.2, surgery",
        "shared\nweights uniform 1",
        "* by held-out loss: layers are dropped in training",
    ):
        assert label in found


def test_switched_off_heads_stand_beside_the_baseline_of_their_seed(connection, shown):
    table = switch_off.data(connection).set_index("step")
    runs = ["shared", "shared_fade", "shared_off_early", "shared_off_late"]
    assert set(table.columns) == {"tokens", *runs, *(f"{run}_early" for run in runs)}
    # 120 steps: a tenth of them each by itself, and from step 12 on means over 6.
    assert list(table.index) == list(range(1, made_up.STEPS + 1))
    assert table["shared_early"].notna().sum() == 12 and table["shared"].first_valid_index() == 12
    for run in runs[1:]:
        cost = made_up.COSTS[run][0]
        assert table.loc[made_up.STEPS, run] == pytest.approx(cost)
        # At step s of the first 70, a shared head has 0.04 (1 - s / 70) of its cost still before it.
        assert table.loc[7, f"{run}_early"] == pytest.approx(cost - 0.04 * 0.9)
    assert table.loc[made_up.STEPS, "shared"] == pytest.approx(0.09)  # the mean of 0.09 + (0, 0.001, -0.001)
    found = texts(shown(switch_off))
    for label in ("on throughout", "off after step 2", "off after step 4", "to zero by step 4"):
        assert found.count(label) == 1


def test_shares_of_the_run_are_said_in_updates(gather):
    fade = {**made_up.SHARED, "schedule": {"kind": "linear_to_zero", "steps": 0.04}}
    off = {**made_up.SHARED, "schedule": {"kind": "off", "step": 0.02}}
    with questions.connect(gather({"baseline": ALL["baseline"], "fade": fade, "off": off})) as found:
        figure = settled(switch_off, found)
        labels = texts(figure)
    assert "to zero by step 5" in labels and "off after step 2" in labels  # of 120: 4.8 and 2.4
    lines = {tuple(line.get_xdata()) for line in figure.axes[0].lines if line.get_linestyle() == ":"}
    assert lines == {(2, 2), (5, 5)}


def test_gradients_are_shown_over_training_and_over_the_layers(connection, shown):
    table = gradient_cosines.data(connection)
    assert list(dict.fromkeys(table["setup"])) == ["baseline", "separate", "shared"]
    assert set(table["step"]) == {1, 51, 101}
    separate = table[table["setup"] == "separate"]
    sums = separate[separate["layer"].isna()]
    assert list(sums["cosine"]) == pytest.approx([0.85, 0.86, 0.87]) and sums["backbone_layer"].isna().all()
    pairs = separate[(separate["step"] == 101) & separate["layer"].notna()].fillna({"backbone_layer": 0})
    found = {(row.layer, row.backbone_layer): row.cosine for row in pairs.itertuples()}
    expected = {(layer, other): layer / 6 - 0.01 * other for layer in range(1, 6) for other in range(layer + 1)}
    assert found == pytest.approx(expected)
    figure = shown(gradient_cosines)
    labels = texts(figure)
    assert labels.count("layer 1") == 3 and labels.count("sum") == 3
    assert labels.count("0.82") == 3  # loss 5 at layer 1 of the model: 5/6 - 0.01


def test_gradients_of_deep_models_are_colours_alone(gather):
    deep = {**made_up.SUPERVISION["separate_depth_12"], "gradient_cosines": {"every": 60}}
    with database.connect(gather({"deep": {key: value for key, value in deep.items() if key != "layers"}})) as found:
        assert len(settled(gradient_cosines, found).axes) == 2  # of six layers
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(made_up, "LAYERS", 12)
        with database.connect(gather({"deep": deep})) as found:
            figure = settled(gradient_cosines, found)
    assert len(figure.axes) == 3 and "Cosine" in texts(figure) and "0.82" not in texts(figure)


def test_costs_stand_against_depth(connection, shown):
    table = depth_cost.data(connection).set_index("depth")
    assert list(table.index) == [2, 4, 6, 12]
    costs = [made_up.COSTS[f"separate_depth_{depth}"][0] for depth in (2, 4, 12)]
    assert list(table["cost"]) == pytest.approx([*costs[:2], 0.06 + 0.001 / 3, costs[2]])
    assert (table["low"] < table["cost"]).all() and (table["cost"] < table["high"]).all()
    assert list(table["plain"]) == pytest.approx([made_up.depth_matched(depth) for depth in table.index])
    for layer in range(1, 13):
        loss = made_up.final(made_up.SUPERVISION["separate_depth_12"], layer)
        assert table.loc[12, f"layer_{layer}"] == pytest.approx(loss)
    assert pd.isna(table.loc[2, "layer_3"])
    labels = texts(shown(depth_cost))
    assert {"2 layers", "12 layers", "+0.060", "+0.090", "plain models"} <= set(labels)


@pytest.mark.parametrize("name", NAMES)
def test_labels_of_lines_do_not_overlap_or_leave_the_figure(shown, name):
    figure = shown(FIGURES[name])
    for axes in figure.axes:
        boxes = [Text.get_window_extent(text) for text in axes.texts]
        assert_apart(boxes)
        for box in (*boxes, axes.get_tightbbox()):
            assert figure.bbox.x0 <= box.x0 and box.x1 <= figure.bbox.x1 and figure.bbox.y0 <= box.y0


def test_other_ways_change_no_other_figure(connection, warehouse_dir):
    # but that of depth beside width, which rightly draws models of further depths
    with questions.connect(warehouse_dir) as alone:
        for name in FIGURES.keys() - {*NAMES, "depth_and_width"}:
            pd.testing.assert_frame_equal(FIGURES[name].data(connection), FIGURES[name].data(alone))


ABSENT = "Not drawn, no results yet: "


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "there, said",
    [
        (
            [],
            {
                "depth_cost": "No model with separate heads is here yet.",
                "fixes": "No run with separate heads is here yet.",
                "gradient_cosines": "No run that compares gradients is here yet.",
                "mix": "No run with separate heads is here yet.",
                "related_work": "No supervised run stands beside a baseline yet.",
                "switch_off": "No shared head stands beside a baseline of its seed yet.",
            },
        ),
        (
            ["separate", "own_layer", "shared_fade"],  # without a baseline
            {
                "depth_cost": "None stands beside a plain model of its depth yet.",
                "fixes": "No run stands beside a depth-matched baseline yet.",
                "mix": f"{ABSENT}rising, rising_surgery, sum_to_one, surgery_sum_to_one",
                "related_work": "No supervised run stands beside a baseline yet.",
                "switch_off": "No shared head stands beside a baseline of its seed yet.",
                "gradient_cosines": "Not drawn, no gradients compared yet: baseline, shared head",
            },
        ),
        (
            ["baseline", "shared_off_late", "separate_depth_2", "sum_to_one"],
            {
                "depth_cost": f"{ABSENT}depth_2, depth_4, separate_depth_4, separate, depth_12, separate_depth_12",
                "fixes": f"{ABSENT}own_layer, own_layer_sum_to_one, separate",
                "gradient_cosines": "Not drawn, no gradients compared yet: separate heads, shared head",
                "switch_off": f"{ABSENT}shared, shared_fade, shared_off_early",
                "related_work": f"{ABSENT}deeply_supervised, layerskip, llal",
            },
        ),
    ],
)
def test_figures_draw_what_is_there_and_name_the_rest(gather, there, said):
    with questions.connect(gather({run: ALL[run] for run in there}, ALL)) as connection:
        for name, words in said.items():
            assert any(words in text for text in texts(settled(FIGURES[name], connection))), name


def test_tables_have_their_columns_whatever_has_run(gather):
    with questions.connect(gather({}, ALL)) as connection:
        for module in (depth_cost, related_work):
            assert {"cost", "low", "high", "seeds"} <= set(module.data(connection).columns)
        for module in (fixes, mix):
            assert {"layer", "depth_matched", "probes"} <= set(module.data(connection).columns)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", NAMES)
def test_a_training_of_few_steps_can_be_drawn(name):
    runs = {run: ALL[run] for run in ("baseline", "separate", "sum_to_one", "rising", "shared", "shared_off_late")}
    rows = []
    for run, definition in runs.items():
        table = made_up.layer_metrics(run, definition)
        rows.append(table[table["step"] <= 8])
    ends = dict.fromkeys(runs, {"steps": 8, "tokens": 8 * 2048})
    with made_up.in_memory(pd.concat(rows), runs, made_up.LAYERS, [Q2, Q5], ends=ends) as connection:
        settled(FIGURES[name], connection)
