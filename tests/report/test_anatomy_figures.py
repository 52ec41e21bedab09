"""The figures of what layers are made of."""

import made_up_anatomy
import made_up_results as made_up
import pytest
from drawn import assert_apart, offsets, settled, texts, titles
from made_up_anatomy import PROFILE, anatomy
from matplotlib.colors import to_rgba

from perlayer.report.figures import (
    layer_importance,
    manipulations,
    recovery,
    weight_predictability,
    weight_structure,
)
from perlayer.warehouse import database

MODULES = (weight_predictability, layer_importance, recovery, manipulations, weight_structure)
LABELS = ["baseline", "separate heads"]


@pytest.fixture(scope="module")
def connection(warehouse_dir):
    with database.connect(warehouse_dir) as connection:
        yield connection


def test_importance_is_coloured_by_category_beside_the_published_table(connection):
    table = layer_importance.data(connection)
    mine = table[(table["label"] == "separate heads") & (table["way"] == "neighbour_average")]
    assert list(mine["degradation"]) == pytest.approx([0.5 * value for value in PROFILE["importance"]])
    assert list(mine["category"]) == ["critical", "important", "important", "minor", "redundant", "redundant"]
    theirs = table[table["label"] == layer_importance.SOURCE].set_index("layer")
    assert len(theirs) == 30 and theirs.loc[12, "degradation"] == 63419.2 and theirs.loc[18, "degradation"] == -0.6
    assert theirs["category"].value_counts().to_dict() == {
        "critical": 9, "important": 1, "minor": 11, "redundant": 9,
    }  # fmt: skip
    figure = settled(layer_importance, connection)
    assert titles(figure) == [*LABELS, "SmolLM2-135M,\npublished"]
    axes = figure.axes[0]
    assert axes.get_yscale() == "symlog" and axes.get_ylim()[1] > 63419 and axes.get_ylim()[0] < -0.8
    marks = axes.collections[1]  # after the bars of the intervals
    assert offsets(marks) == list(zip(range(1, 7), PROFILE["importance"]))
    last = tuple(marks.get_facecolors()[5])
    assert last == pytest.approx(to_rgba(layer_importance.CATEGORIES["anti"]))
    assert {"critical", "redundant", "gives nothing", "gives its mean"} <= set(texts(figure))


def test_predictability_stands_beside_chance_and_what_was_published(connection):
    figure = settled(weight_predictability, connection)
    assert titles(figure) == LABELS
    above, below = figure.axes[0], figure.axes[len(LABELS)]
    trained, initial, shuffled = (offsets(dots) for dots in above.collections)
    assert len(trained) == len(initial) == len(shuffled) == 6 * 7
    gate = [height for place, height in trained if place == 4]
    assert gate == pytest.approx([0.5 + 0.01 * layer for layer in range(1, 7)])
    assert {round(height, 6) for _, height in initial} == {-0.01}
    assert "published" in texts(figure) and above.get_lines()[1].get_ydata()[0] == 0.909
    assert list(below.get_lines()[1].get_ydata()) == PROFILE["replaced"] and below.get_yscale() == "symlog"


def test_the_figure_of_structure_says_what_independent_layers_give(connection):
    table = weight_structure.data(connection)
    assert table["excess"].notna().all()
    figure = settled(weight_structure, connection)
    assert sum("0.50, which independent layers give" in text for text in texts(figure)) == len(LABELS)
    above, below = figure.axes[0], figure.axes[len(LABELS)]
    assert above.get_lines()[0].get_ydata()[0] == -0.5
    assert above.get_ylim()[0] < -0.5 < 0 < above.get_ylim()[1]  # so that it is not taken for 0
    assert {round(height, 6) for _, height in offsets(above.collections[2])} == {-0.4}
    excess = [one - other for one, other in zip(PROFILE["explained"], PROFILE["explained_independent"])]
    assert list(below.get_lines()[2].get_ydata()) == pytest.approx(excess)


def test_recovery_stands_over_importance(connection):
    figure = settled(recovery, connection)
    assert titles(figure) == [f"{label}\n(rank correlation +0.99)" for label in LABELS]
    above = figure.axes[0]
    assert offsets(above.collections[0]) == list(zip(PROFILE["importance"], PROFILE["steps"]))
    faces = [tuple(face) for face in above.collections[0].get_facecolors()]
    assert [face == to_rgba("white") for face in faces] == [True, True, False, False, False, False]
    assert {text.get_text() for text in above.texts} == set("123456")


def test_manipulations_are_lines_over_their_strength(connection):
    table = manipulations.data(connection).set_index(["label", "kind", "strength"])
    row = table.loc[("baseline", "scale", 0.1)]
    assert row["degradation"] == pytest.approx(100 * ((1.02 * 1.01) ** 0.5 - 1)) and row["layers"] == "[5, 6]"
    figure = settled(manipulations, connection)
    assert titles(figure) == [f"{label}\n(layers 5, 6)" for label in LABELS]
    axes = figure.axes[0]
    ring = axes.collections[-1]
    assert offsets(ring)[0] == pytest.approx((0.1, row["degradation"]))
    assert {"to zero", "to random weights"} <= set(texts(figure))


def test_recovery_says_what_is_missing(gather):
    run = {"baseline": made_up.RUNS["baseline"]}
    for profile, said in (
        ({"steps": [], "rank_correlation": None}, "No layer has been trained back yet."),
        (
            {
                "importance": [50.0], "skip": [50.0], "steps": [60], "remaining": [9.0], "manipulated": {1: 1.0},
                "explained": [], "rank_correlation": None,
            },
            "An only layer has no neighbours\nby which importance goes.",
        ),
    ):  # fmt: skip
        with database.connect(gather(run, run, {("anatomy", "baseline"): anatomy("baseline", **profile)})) as some:
            assert said in texts(settled(recovery, some))


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("module", MODULES)
def test_one_model_of_few_layers_and_a_published_one(gather, module):
    shallow = {
        "importance": [50.0, 10.0], "skip": [50.0, 10.0], "replaced": [5.0, 6.0], "order": [2, 1], "steps": [60, 60],
        "remaining": [9.0, 9.0], "manipulated": {2: 1.0}, "explained": [1.0], "explained_independent": [1.0],
        "rank_correlation": None,
    }  # fmt: skip
    run = {"shallow": {"residual": "sandwich", "readouts": "none", "seed": 0, "layers": 2}}
    defined = run | {name: made_up.RUNS[name] for name in ("baseline", "separate")}
    analysed = {
        ("anatomy", "shallow"): anatomy("shallow", **shallow),
        ("published_anatomy", "deep_model"): anatomy("deep_model"),
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(made_up_anatomy.SEEDS, "shallow", 1.0)
        with database.connect(gather(run, defined, analysed)) as connection:
            figure = settled(module, connection)
            assert "Not drawn, not dissected yet: baseline, separate" in texts(figure)
    assert any("deep_model" in title for title in titles(figure))


@pytest.mark.filterwarnings("error")
def test_figures_without_models_say_so(gather):
    with database.connect(gather({}, made_up.RUNS)) as connection:
        for module in MODULES:
            assert "No finished model has been dissected by anatomy yet." in texts(settled(module, connection))


@pytest.mark.parametrize("module", MODULES)
def test_panels_do_not_overlap_or_leave_the_figure(connection, module):
    figure = settled(module, connection)
    boxes = [axes.get_tightbbox() for axes in figure.axes if axes.axison]
    assert_apart(boxes, 0.97)
    for box in boxes:
        assert figure.bbox.x0 - 1 <= box.x0 and box.x1 <= figure.bbox.x1 + 1 and figure.bbox.y0 - 1 <= box.y0
