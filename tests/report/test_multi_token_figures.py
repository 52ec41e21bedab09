"""The figures of multi-token prediction."""

import made_up_multi_token as multi
import made_up_results as made_up
import pytest
from drawn import settled, texts

from perlayer.questions.q7_multi_token.question import QUESTION as q7
from perlayer.questions.q8_multi_token_sizes.question import QUESTION as q8
from perlayer.report.figures import future_layers, multi_token_sizes

BOTH = (future_layers, multi_token_sizes)


QUESTIONS = (q7, q8)


@pytest.fixture
def connection():
    with multi.in_memory(question=QUESTIONS) as connection:
        yield connection


def intervals(axes):
    """The lines across the marks that are drawn."""
    segments = [path for lines in axes.collections for path in getattr(lines, "get_segments", list)()]
    return sorted((round(path[0][1], 6), round(path[1][1], 6)) for path in segments if len(path))


def judged(connection, question, *claims):
    """The intervals of claims."""
    found = connection.execute(
        "SELECT low, high FROM contrasts WHERE question = ? AND list_contains(?, claim)", [question, claims]
    ).fetchall()
    return sorted((round(low, 6), round(high, 6)) for low, high in found)


def test_layers_are_drawn_for_both_tokens_with_intervals_and_the_module(connection):
    figure = settled(future_layers, connection)
    next_loss, later_loss, next_change, later_change = figure.axes
    assert [axes.get_title(loc="left") for axes in figure.axes] == [*future_layers.TOKENS.values(), "", ""]
    plain, sequential, parallel = next_loss.get_lines()
    assert list(plain.get_ydata()) == pytest.approx([loss + 0.01 / 3 for loss in multi.LOSS[1]])  # of three seeds
    assert list(parallel.get_ydata()) == pytest.approx(
        [multi.final(multi.RUNS["multi_token_parallel"], k) for k in range(1, 7)]
    )
    assert len(sequential.get_ydata()) == 6
    stars = [offset for points in later_loss.collections for offset in points.get_offsets()]
    assert [star[1] for star in stars] == pytest.approx([multi.MODULE + 0.01, multi.MODULE])
    assert all(len(points.get_offsets()) == 0 for points in next_loss.collections)  # no module for the next token
    for axes, claim in ((next_change, "next_last"), (later_change, "after_last")):
        assert intervals(axes) == judged(connection, "Q7", claim)
    names = {"without multi-token prediction", multi.DEEPSEEK, multi.GLOECKLE, "the module itself"}
    assert names <= set(texts(figure))


def test_sizes_go_up_on_a_logarithmic_axis(connection):
    table = multi_token_sizes.data(connection).set_index(["method", "size"])
    for rung in multi.RUNGS:
        assert table.loc[(multi.DEEPSEEK, rung), "difference"] == pytest.approx(multi.RUNG_CHANGES[rung] + 0.002 / 3)
    (axes,) = settled(multi_token_sizes, connection).axes
    assert axes.get_xscale() == "log"
    assert [label.get_text().split("\n") for label in axes.get_xticklabels()] == [
        ["10\u202fk", "width_16"], ["90\u202fk", "nano"], ["300\u202fk", "width_48"], ["720\u202fk", "width_64"],
    ]  # fmt: skip
    assert intervals(axes) == judged(connection, "Q8", "no_gain")
    left, right = axes.get_xlim()
    assert left < 10_000 and right > 720_000


def test_what_is_absent_is_noted():
    runs = {run: keys for run, keys in multi.RUNS.items() if run != "probes_future_seed_1"}
    with multi.in_memory(runs, {"width_16": 3}, question=QUESTIONS) as connection:
        gone = ("multi_token_seed_1", "width_16_multi_token", "probes_future")
        connection.execute("UPDATE runs SET present = false WHERE list_contains($gone, run)", {"gone": gone})
        figure = settled(future_layers, connection)
        assert "Not drawn, no results yet: multi_token_seed_1" in texts(figure)
        assert "No plain model has been read for this token yet." in texts(figure)
        note = "Not drawn, no results yet: multi_token_seed_1, width_16_multi_token"
        assert note in texts(settled(multi_token_sizes, connection))


@pytest.mark.filterwarnings("error")
def test_one_seed_without_interval_is_drawn():
    first = {run: keys for run, keys in multi.RUNS.items() if keys["seed"] == 0}
    with multi.in_memory(first, rungs={}, question=QUESTIONS) as connection:
        for module in BOTH:
            figure = settled(module, connection)
            assert multi.DEEPSEEK in texts(figure)
            assert not any(intervals(axes) for axes in figure.axes)


@pytest.mark.filterwarnings("error")
def test_the_last_layer_alone_is_drawn():
    runs = {run: {**keys, "readouts": "none"} for run, keys in multi.RUNS.items()}
    for keys in runs.values():
        keys.pop("future_probes", None)
    with multi.in_memory(runs, rungs={}, question=QUESTIONS) as connection:
        figure = settled(future_layers, connection)
    assert [len(line.get_xdata()) for line in figure.axes[0].get_lines()] == [1, 1, 1]


@pytest.mark.filterwarnings("error")
def test_figures_without_runs_say_so():
    with made_up.in_memory([], {}, question=QUESTIONS) as connection:
        for module in BOTH:
            said = " ".join(texts(settled(module, connection)))
            assert "No model with multi-token prediction stands beside a plain model" in said
            assert module.data(connection).empty
