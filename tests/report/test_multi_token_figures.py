"""The figures of multi-token prediction."""

import made_up_multi_token as multi
import made_up_results as made_up
import pandas as pd
import pytest
from drawn import settled, texts

from perlayer.report.figures import future_layers, multi_token_sizes
from perlayer.report.plot import plot
from perlayer.warehouse import database

BOTH = (future_layers, multi_token_sizes)


@pytest.fixture(scope="module")
def connection(multi_token_dir):
    with database.connect(multi_token_dir) as connection:
        yield connection


def seeds_of(way):
    return (0, 1) if way == multi.DEEPSEEK else (0,)


def test_layers_hold_losses_differences_and_single_pairs(connection):
    table = future_layers.data(connection).set_index(["way", "ahead", "layer"])
    assert len(table) == 2 * 2 * 6
    for (way, ahead, layer), row in table.iterrows():
        change = multi.CHANGES[way][ahead][layer - 1]
        assert row["difference"] == pytest.approx(change + (0.002 if way == multi.DEEPSEEK else 0.0))
        assert row["loss"] - row["plain"] == pytest.approx(row["difference"])
        for seed in (0, 1):
            single = change + multi.PAIRS[seed] if seed in seeds_of(way) else float("nan")
            assert row[f"seed_{seed}"] == pytest.approx(single, nan_ok=True)


def test_layers_are_drawn_for_both_tokens_with_noise_and_the_module(connection):
    figure = settled(future_layers, connection)
    next_loss, later_loss, next_change, later_change = figure.axes
    assert [axes.get_title(loc="left") for axes in figure.axes] == [*future_layers.TOKENS.values(), "", ""]
    plain, sequential, plain_parallel, parallel = next_loss.get_lines()
    assert list(plain.get_ydata()) == pytest.approx([loss + 0.01 for loss in multi.LOSS[1]])  # the pairs of two seeds
    assert list(plain_parallel.get_ydata()) == pytest.approx(multi.LOSS[1])  # of the first seed
    assert plain_parallel.get_color() == parallel.get_color() != plain.get_color() == sequential.get_color()
    assert list(parallel.get_ydata()) == pytest.approx(
        [multi.final(multi.RUNS["multi_token_parallel"], k) for k in range(1, 7)]
    )
    assert len(sequential.get_ydata()) == 6
    stars = [offset for points in later_loss.collections for offset in points.get_offsets()]
    assert [star[1] for star in stars] == pytest.approx([multi.MODULE + 0.01, multi.MODULE])
    assert all(len(points.get_offsets()) == 0 for points in next_loss.collections)  # no module for the next token
    for axes, floor in ((next_change, 0.03), (later_change, 0.02)):
        assert [bar.get_height() for bar in axes.patches] == pytest.approx([2 * floor] * 6)
        assert [bar.get_y() for bar in axes.patches] == pytest.approx([-floor] * 6)
        lengths = [path[1][1] - path[0][1] for bars in axes.containers[1:] for path in bars[2][0].get_segments()]
        assert lengths == pytest.approx([2 * floor] * 12)  # both ways, on every layer
    names = {"without multi-token prediction", multi.DEEPSEEK, multi.GLOECKLE, "the module itself"}
    assert names <= set(texts(figure))


def test_sizes_go_up_on_a_logarithmic_axis(connection):
    table = multi_token_sizes.data(connection).set_index(["way", "size"])
    for rung in multi.RUNGS:
        row = table.loc[(multi.DEEPSEEK, rung)]
        assert row[["seed_0", "seed_1", "seed_2"]].tolist() == pytest.approx(
            [multi.RUNG_CHANGES[rung] + multi.PAIRS[seed] for seed in (0, 1, 2)]
        )
        assert row["difference"] == pytest.approx(multi.RUNG_CHANGES[rung] + 0.002 / 3)
    figure = settled(multi_token_sizes, connection)
    (axes,) = figure.axes
    assert axes.get_xscale() == "log"
    assert [label.get_text().split("\n") for label in axes.get_xticklabels()] == [
        ["10\u202fk", "width_16"], ["90\u202fk", "nano"], ["300\u202fk", "width_48"], ["720\u202fk", "width_64"],
    ]  # fmt: skip
    assert [bar.get_height() for bar in axes.patches] == pytest.approx([0.06] * 4)  # the noise floor to both sides
    single = [y for points in axes.collections for _, y in getattr(points, "get_offsets", list)() if y == y]
    pairs = [multi.RUNG_CHANGES[rung] + more for rung in multi.RUNGS for more in multi.PAIRS.values()]
    pairs += [0.01, 0.014, 0.04]  # of nano, in both ways
    assert {round(y, 6) for y in single} >= {round(y, 6) for y in pairs}
    left, right = axes.get_xlim()
    assert left < 10_000 and right > 720_000


def test_what_is_absent_is_noted():
    runs = {run: keys for run, keys in multi.RUNS.items() if run != "probes_future_seed_1"}
    with multi.in_memory(runs, {"width_16": 3}) as connection:
        gone = ("multi_token_seed_1", "width_16_multi_token", "probes_future")
        connection.execute("UPDATE runs SET present = false WHERE list_contains($gone, run)", {"gone": gone})
        figure = settled(future_layers, connection)
        assert "Not drawn, no results yet: multi_token_seed_1" in texts(figure)
        assert "No pair has been read for this token yet." in texts(figure)
        note = "Not drawn, no results yet: multi_token_seed_1, width_16_multi_token"
        assert note in texts(settled(multi_token_sizes, connection))


@pytest.mark.filterwarnings("error")
def test_one_pair_without_noise_is_drawn():
    first = {run: keys for run, keys in multi.RUNS.items() if keys["seed"] == 0}
    with multi.in_memory(first, rungs={}) as connection:
        for module in BOTH:
            figure = settled(module, connection)
            assert multi.DEEPSEEK in texts(figure)
            assert not any(axes.patches for axes in figure.axes)  # no noise floor


@pytest.mark.filterwarnings("error")
def test_the_last_layer_alone_is_drawn():
    runs = {run: {**keys, "readouts": "none"} for run, keys in multi.RUNS.items()}
    for keys in runs.values():
        keys.pop("future_probes", None)
    with multi.in_memory(runs, rungs={}) as connection:
        figure = settled(future_layers, connection)
    assert [len(line.get_xdata()) for line in figure.axes[0].get_lines()] == [1, 1, 1, 1]


@pytest.mark.filterwarnings("error")
def test_figures_without_runs_say_so():
    with made_up.in_memory([], {}) as connection:
        for module in BOTH:
            said = " ".join(texts(settled(module, connection)))
            assert "No model with multi-token prediction stands beside a plain model of its" in said
            assert module.data(connection).empty


def test_files_are_the_same_bytes_every_time(connection, multi_token_dir, tmp_path, monkeypatch):
    figures = {module.__name__.rpartition(".")[2]: module for module in BOTH}
    monkeypatch.setattr("perlayer.report.plot.FIGURES", figures)
    for name in ("one", "two"):
        plot(multi_token_dir, tmp_path / name)
    for name, module in figures.items():
        for kind in ("png", "svg", "csv"):
            one, two = (tmp_path / folder / f"{name}.{kind}" for folder in ("one", "two"))
            assert one.read_bytes() == two.read_bytes()
        assert len(pd.read_csv(one)) == len(module.data(connection))
