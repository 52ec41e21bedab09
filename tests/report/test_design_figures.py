"""The figures of the residual designs."""

import functools

import made_up_designs as designs
import made_up_results as made_up
import pytest
from drawn import assert_apart, settled, texts, titles
from matplotlib.text import Text

from perlayer import questions
from perlayer.report.figures import depth_order, design_cost
from perlayer.report.figures import designs as by_design
from perlayer.warehouse.collect import collect

NAMES = [
    "Sandwich-LN", "Pre-LN", "LayerNorm Scaling", "DeepNorm", "KEEL", "Hyper-Connections", "mHC", "AttnRes full",
    "AttnRes block", "MoDA",
]  # fmt: skip


@pytest.fixture(scope="module")
def connection(designs_dir):
    with questions.connect(designs_dir) as connection:
        yield connection


@pytest.fixture
def some(tmp_path):
    """A function that connects to the results of some runs, where `designs.RUNS` are defined."""

    def some(runs, defined=designs.RUNS):
        designs.write(tmp_path, {run: designs.RUNS[run] for run in runs})
        collect(designs.params(defined), tmp_path, tmp_path / "warehouse")
        return questions.connect(tmp_path / "warehouse")

    return some


@pytest.fixture(scope="module")
def shown(connection):
    """A function that draws a figure of these results, once for all tests."""
    return functools.cache(lambda module: settled(module, connection))


def test_every_design_has_a_panel_on_one_scale(connection, shown):
    table = by_design.data(connection).set_index(["design", "layer"])
    row = table.loc[("KEEL", 3)]
    assert row[["probes", "separate", "depth_matched"]].tolist() == pytest.approx([2.95 + 0.88, 2.95 + 0.14, 2.95])
    figure = shown(by_design)
    assert titles(figure) == NAMES and len({axes.get_ylim() for axes in figure.axes}) == 1
    assert all(len(axes.get_lines()) == 3 for axes in figure.axes)
    assert {"probes", "separate heads", "depth-matched baselines of Sandwich-LN"} <= set(texts(figure))


def test_costs_are_sorted_and_stand_beside_that_of_the_baseline(connection, shown):
    table = design_cost.data(connection)
    assert table["cost"].is_monotonic_increasing and list(table["design"])[:2] == ["Hyper-Connections", "mHC"]
    left, right = shown(design_cost).axes
    assert [bar.get_width() for bar in left.patches] == pytest.approx(list(table["cost"]))
    beside = table.dropna(subset="minus_baseline")
    baseline = table.set_index("residual").loc["sandwich", "cost"]
    assert len(beside) == len(table) - 1 and list(beside["minus_baseline"]) == pytest.approx(beside["cost"] - baseline)
    assert [bar.get_width() for bar in right.patches] == pytest.approx(list(beside["minus_baseline"]))
    ends = [tuple(line[:, 0]) for line in right.collections[0].get_segments() if len(line)]
    assert ends == [pytest.approx(row) for row in beside[["low", "high"]].itertuples(index=False, name=None)]
    assert left.get_yticklabels()[0].get_text() == "Hyper-Connections (1 seed)" and left.yaxis_inverted()


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


def test_depth_order_begins_with_attnres(shown):
    figure = shown(depth_order)
    assert titles(figure) == [*NAMES[:1], *NAMES[7:9], *NAMES[1:7], NAMES[9], "How far from falling with depth"]
    tau = figure.axes[-1]
    probes = tau.collections[0].get_offsets()  # four seeds of the baseline, then a design each
    assert list(probes[:, 1])[:6] == pytest.approx([-1, -1, -1, -1, 2 * 5 / 15 - 1, -1])
    # 3 rising pairs of 15 are the first with a probability of 0.05 or more: 49 of 720 orders have no more.
    assert tau.patches[0].get_y() == pytest.approx(2 * 2.5 / 15 - 1)


@pytest.mark.parametrize("module", [by_design, design_cost, depth_order])
def test_panels_and_names_do_not_overlap(shown, module):
    figure = shown(module)
    for axes in figure.axes:
        labels = [label for label in (*axes.get_xticklabels(), *axes.texts) if label.get_text()]
        assert_apart([Text.get_window_extent(label) for label in labels])
    assert_apart([axes.get_tightbbox().shrunk(0.97, 0.97) for axes in figure.axes])


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


@pytest.mark.filterwarnings("error")
def test_figures_without_runs_say_so(some):
    with some([]) as connection:
        said = [texts(settled(module, connection)) for module in (by_design, design_cost, depth_order)]
    assert "No residual design has been trained yet." in said[0]
    assert "No design has been trained with separate heads and plain yet." in said[1]
    assert "No plain model has been read after every layer yet." in said[2]


@pytest.mark.filterwarnings("error")
def test_a_design_that_is_not_published_is_drawn(some):
    mine = {
        f"mine_{readouts}": {"residual": "mhc_lite", "readouts": readouts, "seed": 0}
        for readouts in ("probes", "separate")
    }
    designs.RUNS.update(mine)
    try:
        with some([*made_up.RUNS, *mine]) as connection:
            assert titles(settled(by_design, connection)) == ["Sandwich-LN", "mHC-lite"]
            assert "mHC-lite (1 seed)" in texts(settled(design_cost, connection))
            assert titles(settled(depth_order, connection))[:2] == ["Sandwich-LN", "mHC-lite"]
    finally:
        for run in mine:
            del designs.RUNS[run]
