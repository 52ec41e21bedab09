"""The figure of growth training."""

import made_up_growth
import pytest
from drawn import assert_apart, offsets, settled, texts, titles

from perlayer.questions.a6_growth.question import QUESTION as A6
from perlayer.report.figures import growth


def test_it_stands_beside_uniform_training():
    with made_up_growth.in_memory(question=A6) as connection:
        table = growth.data(connection)
        curves = table[table["budget"].isna()].set_index("run")
        assert curves.loc["grown", "compute"] == 80 and curves.loc["baseline", "compute"] == 100
        assert set(table["budget"].dropna()) == set(growth.BUDGETS)
        figure = settled(growth, connection)
    left, right = figure.axes
    ends = {end for ends in left.collections for end in offsets(ends)}
    assert {(100.0, 3.0), (80.0, 3.2), (30.0, 3.4)} <= ends
    assert {"uniform", "six stages"} <= set(texts(figure)) and titles(figure) == ["Loss", "Growth minus uniform"]
    heights = [height for line in right.get_lines() if line.get_marker() == "D" for height in line.get_ydata()]
    assert heights == pytest.approx([0.18, 0.18, 0.35])  # at equal steps, at equal compute, at half the budget


def test_each_method_of_growth_has_a_look_of_its_own():
    stages = [{"layers": [1], "share": share} for share in (0.1, 0.2, 0.3, 0.4, 0.5)]
    grown = {
        f"grown_{number}": (None, 0, {"growth": {"stages": [stage]}}, 100, 3.1 + 0.1 * number, [(1, 0.8)])
        for number, stage in enumerate(stages)
    }
    grown |= {"baseline": made_up_growth.RUNS["baseline"], "seed_1": made_up_growth.RUNS["probes_seed_1"]}
    with made_up_growth.in_memory(grown, question=A6) as connection:
        figure = settled(growth, connection)
    (legend,) = figure.legends
    looks = {(line.get_color(), line.get_marker()) for line in legend.get_lines()}
    assert len(legend.get_texts()) == len(looks) == 6  # and uniform training
    left, right = figure.axes
    ends = {round(height, 6) for dots in left.collections for _, height in offsets(dots)}
    assert ends == {3.0, 3.1, 3.2, 3.3, 3.4, 3.5}
    differences = {round(height, 6) for line in right.get_lines() for height in line.get_ydata()}
    assert differences >= {0.05, 0.15, 0.25, 0.35, 0.45}  # beside the mean of 3.0 and 3.1


def test_panels_do_not_overlap():
    with made_up_growth.in_memory(question=A6) as connection:
        assert_apart([axes.get_tightbbox() for axes in settled(growth, connection).axes], 0.97)


@pytest.mark.filterwarnings("error")
def test_without_runs_it_says_so():
    with made_up_growth.in_memory({}, A6) as connection:
        assert "No growth training is here yet." in texts(settled(growth, connection))
