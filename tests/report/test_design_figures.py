"""The figures of the residual designs."""

import functools

import made_up_designs as designs
import made_up_results as made_up
import pytest
from drawn import settled, texts, titles
from matplotlib.text import Text

from perlayer.model.config import design_names
from perlayer.report.figures import depth_order, design_cost
from perlayer.report.figures import designs as by_design
from perlayer.warehouse import database
from perlayer.warehouse.collect import collect

NAMES = [
    "Sandwich-LN", "Pre-LN", "LayerNorm Scaling", "DeepNorm", "KEEL", "Hyper-Connections", "mHC", "AttnRes full",
    "AttnRes block", "MoDA",
]  # fmt: skip


@pytest.fixture(scope="module")
def connection(designs_dir):
    with database.connect(designs_dir) as connection:
        yield connection


@pytest.fixture
def some(tmp_path):
    """A function that connects to the results of some runs, where `designs.RUNS` are defined."""

    def some(runs, defined=designs.RUNS):
        designs.write(tmp_path, {run: designs.RUNS[run] for run in runs})
        collect(designs.params(defined), tmp_path, tmp_path / "warehouse")
        return database.connect(tmp_path / "warehouse")

    return some


@pytest.fixture(scope="module")
def shown(connection):
    """A function that draws a figure of these results, once for all tests."""
    return functools.cache(lambda module: settled(module, connection))


def test_every_design_has_a_panel_on_one_scale(connection, shown):
    table = by_design.data(connection).set_index(["design", "layer"])
    row = table.loc[("KEEL", 3)]
    assert row[["probes", "separate", "ordinary"]].tolist() == pytest.approx([2.95 + 0.88, 2.95 + 0.14, 2.95])
    figure = shown(by_design)
    assert titles(figure) == NAMES and len({axes.get_ylim() for axes in figure.axes}) == 1
    assert all(len(axes.get_lines()) == 3 for axes in figure.axes)
    assert {"probes", "separate heads", "ordinary models of Sandwich-LN"} <= set(texts(figure))


def test_costs_are_sorted_and_stand_as_shares(connection, shown):
    table = design_cost.data(connection)
    assert table["cost"].is_monotonic_increasing and list(table["design"])[:2] == ["Hyper-Connections", "mHC"]
    figure = shown(design_cost)
    left, right = figure.axes
    assert [bar.get_width() for bar in left.patches[1:]] == pytest.approx(list(table["cost"]))  # the first is the floor
    assert [bar.get_width() for bar in right.patches] == pytest.approx(list(table["fraction"]))
    assert left.get_yticklabels()[0].get_text() == "Hyper-Connections (1 pair)" and left.yaxis_inverted()
    assert "49 %" in texts(figure) and "+0.030" in texts(figure)


def test_costs_below_zero_have_the_minus_of_the_axes(some):
    costs = {"attnres_full": (0.0, 0.0, -0.08)}
    keep = dict(designs.ADDED)
    try:
        designs.ADDED.update(costs)
        with some([*made_up.RUNS, "attnres_full_probes", "attnres_full_separate"]) as connection:
            figure = settled(design_cost, connection)
    finally:
        designs.ADDED.update(keep)
    assert "\N{MINUS SIGN}0.020" in texts(figure) and not any(text.startswith("-") for text in texts(figure))


@pytest.mark.parametrize(
    "cost, said", [(0.0, "is no more than noise:"), (-0.02, "Sandwich-LN gains, beyond the noise:")]
)
def test_why_there_are_no_shares(some, monkeypatch, cost, said):
    # What seeds add to it makes a noise of 0.005.
    monkeypatch.setattr(made_up, "GAPS", {**made_up.GAPS, "separate": {**made_up.GAPS["separate"], 6: cost}})
    with some(made_up.RUNS) as connection:
        assert any(said in text for text in texts(settled(design_cost, connection)))


def test_depth_order_begins_with_attnres_and_rings_the_rises(shown):
    figure = shown(depth_order)
    assert titles(figure) == [*NAMES[:1], *NAMES[7:9], *NAMES[1:7], NAMES[9], "How far from falling with depth"]
    panels = {axes.get_title(loc="left"): axes for axes in figure.axes}
    rings = [ring.get_offsets() for ring in panels["AttnRes full"].collections]
    assert [list(ring[:, 0]) for ring in rings] == [[2, 5], [2, 4], []]  # probes, logit lens, tuned lens
    assert "above the layer before, beyond the noise" in texts(figure)
    tau = panels["How far from falling with depth"]
    probes = tau.collections[0].get_offsets()
    assert list(probes[:, 1])[:3] == pytest.approx([-1, 2 * 5 / 15 - 1, -1])
    # 3 rising pairs of 15 are the first with a probability of 0.05 or more: 49 of 720 orders have no more.
    assert tau.patches[0].get_y() == pytest.approx(2 * 2.5 / 15 - 1)


@pytest.mark.parametrize("module", [by_design, design_cost, depth_order])
def test_panels_and_names_do_not_overlap(shown, module):
    figure = shown(module)
    boxes = [axes.get_tightbbox() for axes in figure.axes]
    for axes in figure.axes:
        labels = [label for label in (*axes.get_xticklabels(), *axes.texts) if label.get_text()]
        boxes = [Text.get_window_extent(label) for label in labels]
        for number, box in enumerate(boxes):
            assert not any(box.overlaps(other) for other in boxes[number + 1 :])
    boxes = [axes.get_tightbbox().shrunk(0.97, 0.97) for axes in figure.axes]
    for number, box in enumerate(boxes):
        assert not any(box.overlaps(other) for other in boxes[number + 1 :])


@pytest.mark.filterwarnings("error")
def test_absent_designs_are_named(some):
    present = ["probes", "separate", "keel_probes", "mhc_probes", "mhc_separate"]
    defined = {run: designs.RUNS[run] for run in (*present, "keel_separate", "moda_probes", "depth_1")}
    others = ", ".join(name for name in NAMES if name not in ("Sandwich-LN", "KEEL", "mHC", "MoDA"))
    with some(present, defined) as connection:
        for module in (by_design, design_cost):
            note = f"Not drawn, no results yet: keel_separate, moda_probes. Named by no run: {others}"
            assert note in texts(settled(module, connection))
        figure = settled(depth_order, connection)
        assert f"Without probes or logit lens yet: MoDA. Named by no run: {others}" in texts(figure)
        assert titles(settled(by_design, connection)) == ["Sandwich-LN", "KEEL", "mHC"]
        assert "above the layer before, beyond the noise" not in texts(figure)  # nothing rises
        # Without seeds nothing tells the noise of the cost, and so no share is shown.
        said = "Whether what Sandwich-LN pays is more than noise\nis not known: shares of it say nothing."
        assert said in texts(settled(design_cost, connection))


@pytest.mark.filterwarnings("error")
def test_figures_without_runs_say_so(some):
    with some([]) as connection:
        said = [texts(settled(module, connection)) for module in (by_design, design_cost, depth_order)]
    assert "No residual design has been trained yet." in said[0]
    assert "No design has been trained with separate heads and plain from one seed yet." in said[1]
    assert "No plain model has been read after every layer yet." in said[2]


@pytest.mark.filterwarnings("error")
def test_a_design_of_ones_own_is_drawn(some, monkeypatch):
    monkeypatch.setattr("perlayer.model.config.design_names", lambda: [*design_names(), "my_own"])
    mine = {
        f"mine_{readouts}": {"residual": "my_own", "readouts": readouts, "seed": 0}
        for readouts in ("probes", "separate")
    }
    monkeypatch.setattr(designs, "RUNS", designs.RUNS | mine)
    with some([*made_up.RUNS, *mine], designs.RUNS) as connection:
        assert titles(settled(by_design, connection)) == ["Sandwich-LN", "my own"]
        assert "my own (1 pair)" in texts(settled(design_cost, connection))
        assert titles(settled(depth_order, connection))[:2] == ["Sandwich-LN", "my own"]
