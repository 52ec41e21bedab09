import functools
import os
import subprocess
import sys

import drawn
import made_up_results as made_up
import matplotlib
import pandas as pd
import pytest
from cycler import cycler
from drawn import assert_apart, texts
from matplotlib.figure import Figure
from matplotlib.image import imread
from matplotlib.text import Text

from perlayer import questions
from perlayer.report.figures import (
    FIGURES,
    final_loss_by_layer,
    last_layer_curves,
    layer_curves,
    lens_agreement,
    lenses,
    noise_floor,
    retrained_heads,
    retraining_curves,
    style,
)
from perlayer.report.plot import drawn as figure_of
from perlayer.report.plot import plot


@pytest.fixture(scope="module")
def figures(supervision_dir, tmp_path_factory):
    folder = tmp_path_factory.mktemp("figures")
    plot(supervision_dir, folder)
    return folder


@pytest.fixture(scope="module")
def connection(warehouse_dir):
    with questions.connect(warehouse_dir) as connection:
        yield connection


@pytest.fixture(scope="module")
def settled(connection):
    """A function that draws a figure, once for all tests."""

    return functools.cache(lambda module: drawn.settled(module, connection))


@pytest.fixture
def without_png(monkeypatch):
    """`plot` draws no PNG: the SVG is the same drawing."""
    write = Figure.savefig

    def savefig(figure, path, **options):
        path.touch() if path.suffix == ".png" else write(figure, path, **options)

    monkeypatch.setattr(Figure, "savefig", savefig)


def test_every_figure_is_written_as_image_and_as_numbers(figures):
    expected = {f"{name}.{kind}" for name in FIGURES for kind in ("png", "svg", "csv")}
    assert {path.name for path in figures.iterdir()} == expected
    for name in FIGURES:
        assert (figures / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        # These runs do not predict later tokens, were asked no problems, and none of them grows.
        empty = ("future_layers", "multi_token_sizes", "depth_by_group", "growth")
        assert pd.read_csv(figures / f"{name}.csv").empty == (name in empty)


def test_figures_are_written_anew_and_not_through_links(tmp_path):
    kinds = ("png", "svg", "csv")
    for kind in kinds:
        (tmp_path / f"cached.{kind}").write_text("kept")
        (tmp_path / f"figure.{kind}").symlink_to(f"cached.{kind}")
    style.save(style.new_figure(1, 1), pd.DataFrame(), tmp_path, "figure")
    assert all((tmp_path / f"cached.{kind}").read_text() == "kept" for kind in kinds)
    assert not any((tmp_path / f"figure.{kind}").is_symlink() for kind in kinds)


def test_no_label_is_cut_off_at_an_edge(figures):
    for path in figures.glob("*.png"):
        pixels = imread(path)[..., :3]
        edges = (pixels[0], pixels[-1], pixels[:, 0], pixels[:, -1])
        assert all((edge == 1).all() for edge in edges), path.name


def test_the_same_results_give_the_same_bytes_by_many_processes(figures, supervision_dir, tmp_path, without_png):
    plot(supervision_dir, tmp_path, processes=2)
    for path in [*figures.glob("*.svg"), *figures.glob("*.csv")]:
        assert path.read_bytes() == (tmp_path / path.name).read_bytes(), path.name


def test_files_carry_no_date_and_no_version(figures):
    for path in figures.glob("*.svg"):
        assert "<dc:date>" not in path.read_text() and "matplotlib.org" not in path.read_text()
    for path in figures.glob("*.png"):
        assert b"matplotlib" not in path.read_bytes()


def test_final_loss_by_layer_holds_depth_matched_baselines_means_and_single_runs(connection):
    table = final_loss_by_layer.data(connection).set_index("layer")
    assert list(table.index) == [1, 2, 3, 4, 5, 6]
    for layer in table.index:
        assert table.loc[layer, "depth_matched"] == pytest.approx(made_up.DEPTH_MATCHED[layer])
        for setup in style.TRAINED:
            members = [run for run, definition in made_up.RUNS.items() if definition["readouts"] == setup]
            losses = [made_up.final(made_up.RUNS[run], layer) for run in members]
            assert [table.loc[layer, f"{run}_run"] for run in members] == pytest.approx(losses)
            assert table.loc[layer, setup] == pytest.approx(sum(losses) / len(losses))


def test_layer_curves_are_running_means_against_backbone_compute(connection):
    table = layer_curves.data(connection).set_index("step")
    # 120 steps: a twentieth (6) to average over, from a tenth (12) on, every step.
    assert list(table.index) == list(range(12, 121))
    rows = made_up.layer_metrics("separate", made_up.RUNS["separate"])
    for layer in (1, 6):
        of_layer = rows[(rows["layer"] == layer) & (rows["metric"] == "loss") & (rows["split"] == "train")]
        expected = of_layer.set_index("step")["value"].rolling(6).mean().loc[12:]
        assert table[f"separate_{layer}"].to_numpy() == pytest.approx(expected.to_numpy())
        flops = 6 * made_up.PARAMETERS * layer * made_up.TOKENS * table.index
        assert table[f"backbone_flops_{layer}"].to_numpy() == pytest.approx(flops.to_numpy())
    assert {f"depth_matched_{layer}" for layer in range(1, 7)} <= set(table.columns)


def test_last_layer_curves_subtract_the_baseline_of_the_same_seed(connection):
    table = last_layer_curves.data(connection).iloc[-1]
    assert table["step"] == made_up.STEPS
    assert table["separate"] - table["baseline"] == pytest.approx(made_up.GAPS["separate"][6])
    # Pairs of seeds 0, 1, 2: 0.06 + (0, 0.004, -0.002); single seeds of the last step, 0.12.
    assert table["separate_minus_baseline"] == pytest.approx(0.06 + 0.002 / 3)
    assert table["shared_stop_gradient_minus_baseline"] == pytest.approx(0.12)


def test_noise_floor_stands_beside_the_effects(connection):
    table = noise_floor.data(connection).set_index("layer")
    assert table.loc[6, "spread"] == pytest.approx(0.005) and table.loc[1, "spread"] == pytest.approx(0.031)
    assert list(table["runs"]) == [4] * 6
    assert table.loc[2, "shared"] == pytest.approx(made_up.GAPS["shared"][2])
    assert table.loc[6, "separate"] == pytest.approx(0.06 + 0.001 / 3)  # of means over seeds, not the lowest seed's
    assert table.loc[6, "probes"] == 0.0


def test_retrained_heads_stand_beside_the_gap(connection):
    table = retrained_heads.data(connection).set_index("layer")
    assert list(table.index) == [1, 2, 3, 4, 5, 6]
    for setup in made_up.RETRAINED:
        before = [made_up.held_out(made_up.RUNS[setup], layer) for layer in table.index]
        assert list(table[f"{setup}_before"]) == pytest.approx(before)
        assert list(table[f"{setup}_change"]) == pytest.approx(list(made_up.CHANGES[setup].values()))
    assert list(table["gap_before"]) == pytest.approx([0.35, 0.65, 0.49, 0.25, 0.045, -0.06])
    assert list(table["gap_after"]) == pytest.approx([0.29, 0.585, 0.448, 0.24, 0.017, -0.074])
    half = 2.5758293 * made_up.CHANGE_ERROR  # of a normal interval at 0.99
    assert list(table["separate_change_high"] - table["separate_change"]) == pytest.approx([half] * 6)


def test_retraining_curves_go_from_before_to_after(connection):
    table = retraining_curves.data(connection).set_index("step")
    assert list(table.index) == [0, 5, 10, 15, 20]
    assert list(table["tokens"]) == [step * made_up.TOKENS for step in table.index]
    for setup in made_up.RETRAINED:
        for layer in (1, 6):
            before = made_up.held_out(made_up.RUNS[setup], layer)
            expected = [before + made_up.CHANGES[setup][layer] * step / 20 for step in table.index]
            assert list(table[f"{setup}_{layer}"]) == pytest.approx(expected)


def test_lenses_show_every_model_that_has_been_read(connection, settled):
    table = lenses.data(connection)
    leads = ["baseline", "probes", "separate", "shared", "shared_stop_gradient"]
    models = list(dict.fromkeys(table["run"]))
    assert models[:5] == leads and models[5:10] == [f"depth_{depth}" for depth in range(1, 6)]
    assert models[-1] == "deep_model" and set(models) == {*made_up.RUNS, "deep_model"}
    rows = table.set_index(["run", "layer"])
    last = made_up.held_out(made_up.RUNS["separate"], 6)
    assert rows.loc[("separate", 2), ["logit_lens", "tuned_lens"]].tolist() == pytest.approx(
        [last + 1.55, last + 0.775]
    )
    assert rows.loc[("separate", 2), "trained"] == pytest.approx(made_up.held_out(made_up.RUNS["separate"], 2))
    titles = [axes.get_title(loc="left") for axes in settled(lenses).axes]
    assert [title for title in titles if title] == models


def test_lens_agreement_is_a_line_a_setup_and_published_model(connection, settled):
    table = lens_agreement.data(connection)
    names = ["baseline", "separate", "shared", "shared_stop_gradient", "deep_model"]
    assert list(dict.fromkeys(table["name"])) == names
    rows = table.set_index(["name", "readout", "layer"])
    for layer, above in made_up.EXCESS.items():
        assert rows.loc[("baseline", "logit_lens", layer), "kl_final_lens"] == pytest.approx(above / 2)
        assert rows.loc[("baseline", "tuned_lens", layer), "top5_overlap"] == pytest.approx(1 / (1 + above / 2))
    assert rows.loc[("deep_model", "logit_lens", 3), "depth"] == 0.25
    labels = texts(settled(lens_agreement))
    assert [labels.count(style.SETUPS[name][0]) for name in names[:4]] == [1] * 4 and labels.count("deep_model") == 1
    assert "Depth (share of the layers)" in labels


def test_lens_agreement_of_equal_depths_counts_layers(gather, tmp_path):
    some = {run: made_up.RUNS[run] for run in ("probes", "shared")}
    analysed = {key: table for key, table in made_up.analyses(some).items() if key[0] == "lens"}
    with questions.connect(gather(some, analysed=analysed)) as connection:
        assert set(lens_agreement.data(connection)["name"]) == {"baseline", "shared"}  # probes stand for the baseline
        labels = texts(drawn.settled(lens_agreement, connection))
    assert "Layer" in labels and "logit lens" in labels and "tuned lens" not in labels


def test_a_users_matplotlibrc_changes_no_byte(connection, tmp_path):
    hostile = {
        "axes.prop_cycle": cycler(color=["red"]),
        "axes.unicode_minus": False,
        "figure.facecolor": "black",
        "font.size": 20,
        "image.cmap": "hot",
        "lines.linewidth": 9,
        "path.simplify": False,
        "savefig.bbox": "tight",
        "savefig.transparent": True,
        "text.usetex": True,
    }
    with matplotlib.rc_context(hostile), style.theme():
        style.save(*figure_of(noise_floor, connection), tmp_path, "found")
    with style.theme():
        style.save(*figure_of(noise_floor, connection), tmp_path, "expected")
    for kind in ("png", "svg", "csv"):
        assert (tmp_path / f"found.{kind}").read_bytes() == (tmp_path / f"expected.{kind}").read_bytes()


def test_a_matplotlibrc_that_cannot_be_read_is_one_line(tmp_path):
    (tmp_path / "matplotlibrc").write_bytes(b"# caf\xe9\n")
    code = "from perlayer.report.figures import style\nwith style.theme(): pass"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=os.environ, capture_output=True, text=True)
    assert "UserError: matplotlibrc: expected UTF-8, found something else" in done.stderr


def test_lines_are_named_where_they_are(settled):
    found = texts(settled(final_loss_by_layer))
    for setup in ("depth_matched", *style.TRAINED):
        assert found.count(style.SETUPS[setup][0]) == 1


@pytest.mark.parametrize(
    "module, labels",
    [
        (last_layer_curves, [4, 4]),
        (retrained_heads, [2, 4]),
        (retraining_curves, [6, 6, 6, 6]),
        (lens_agreement, [5, 0]),
    ],
)
def test_labels_do_not_overlap_or_leave_the_figure(settled, module, labels):
    figure = settled(module)
    assert [len(axes.texts) for axes in figure.axes] == labels
    for axes in figure.axes:
        boxes = [Text.get_window_extent(text) for text in axes.texts]
        assert_apart(boxes)
        assert all(figure.bbox.x0 <= box.x0 and box.x1 <= figure.bbox.x1 for box in boxes)


def test_a_published_model_far_beyond_the_runs_flattens_none_of_them(connection, monkeypatch):
    table = lenses.data(connection)
    table.loc[(table["run"] == "deep_model") & (table["layer"] == 0), "logit_lens"] = 110.0
    monkeypatch.setattr(lenses, "data", lambda _: table)
    figure = drawn.settled(lenses, connection)
    assert figure.axes[0].get_ylim()[1] < 10 and texts(figure).count("110 nats") == 1


def test_panels_of_lenses_do_not_overlap(settled):
    boxes = [axes.get_tightbbox() for axes in settled(lenses).axes if axes.axison]
    assert len(boxes) == len(made_up.RUNS) + 1
    assert_apart(boxes, 0.99)


@pytest.mark.parametrize(
    "places, moved",
    [
        ([0.0, 5.0], [0.0, 5.0]),  # far enough apart
        ([1.0, 1.0], [0.5, 1.5]),  # a pair moves apart around its middle
        ([0.0, 0.0, 0.0, 9.0], [-1.0, 0.0, 1.0, 9.0]),
        ([0.0, 0.5, 1.4], [-0.36667, 0.63333, 1.63333]),  # one block: starts 0, -0.5, -0.6 average to -0.36667
        ([], []),
    ],
)
def test_spread_moves_as_little_as_needed(places, moved):
    assert style.spread(places, 1.0) == pytest.approx(moved, abs=1e-5)


def test_absent_runs_are_named_and_the_rest_is_drawn(gather, tmp_path):
    some = {run: made_up.RUNS[run] for run in ("baseline", "separate", "depth_1", "depth_2")}
    defined = {**some, "shared": made_up.RUNS["shared"]}
    with questions.connect(gather(some, defined)) as connection:
        for name in ("final_loss_by_layer", "layer_curves", "last_layer_curves"):
            assert "Not drawn, no results yet: shared" in texts(drawn.settled(FIGURES[name], connection))
        assert any("needs two plain runs" in text for text in texts(drawn.settled(noise_floor, connection)))
        table = final_loss_by_layer.data(connection)
    assert table["shared"].isna().all() and table["separate"].notna().all()
    assert table["depth_matched"].notna().sum() == 3


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("runs", [[], ["baseline"]])
def test_figures_without_their_runs_say_so(gather, tmp_path, without_png, runs):
    plot(gather({run: made_up.RUNS[run] for run in runs}, made_up.RUNS), tmp_path)
    assert len(list(tmp_path.glob("*.svg"))) == len(FIGURES)
    # dvc plots names these columns: they are there whatever has run
    assert "shared_stop_gradient" in pd.read_csv(tmp_path / "final_loss_by_layer.csv").columns
    assert "separate_minus_baseline" in pd.read_csv(tmp_path / "last_layer_curves.csv").columns
    assert "spread" in pd.read_csv(tmp_path / "noise_floor.csv").columns
    assert {"probes_change", "separate_change", "gap_after"} <= set(
        pd.read_csv(tmp_path / "retrained_heads.csv").columns
    )
    assert set(style.READINGS) <= set(pd.read_csv(tmp_path / "lenses.csv").columns)


@pytest.mark.filterwarnings("error")
def test_runs_that_end_exactly_alike_can_be_drawn(gather, tmp_path, without_png):
    twin = {"residual": "sandwich", "readouts": "probes", "seed": 0}
    plot(gather({"a": twin, "b": {**twin, "ema": {"half_life": 100}}}), tmp_path)
    assert (pd.read_csv(tmp_path / "noise_floor.csv")["spread"] == 0).all()


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "there, said",
    [
        ([], ["No readouts", "No readouts", "No finished model", "No finished model"]),
        (
            [("retrain_heads", "probes")],
            ["not retrained yet: separate heads"] * 2 + ["Not read by a lens yet: base", "No"],
        ),
        ([("lens", "depth_1")], ["No readouts"] * 2 + ["Not read by a lens yet: baseline, probes, sep", "No finished"]),
        ([("lens", "shared")], ["No readouts"] * 2 + ["yet: baseline, depth_1", "yet: baseline, separate heads"]),
        (
            [("published_lens", "deep_model")],
            ["No readouts"] * 2 + ["yet: baseline, depth_1", "yet: baseline, separate heads, shared"],
        ),
    ],
)
def test_figures_of_analyses_draw_what_is_there_and_name_the_rest(gather, there, said):
    runs = {run: made_up.RUNS[run] for run in ("baseline", "depth_1", "probes", "separate", "shared")}
    analyses = made_up.analyses(runs)
    with questions.connect(gather(runs, analysed={key: analyses[key] for key in there})) as connection:
        for module, words in zip((retrained_heads, retraining_curves, lenses, lens_agreement), said):
            assert any(words in text for text in texts(drawn.settled(module, connection))), module.__name__


@pytest.mark.filterwarnings("error")
def test_retraining_without_any_change_or_noise_can_be_drawn(gather, monkeypatch):
    monkeypatch.setattr(made_up, "CHANGES", {setup: dict.fromkeys(range(1, 7), 0.0) for setup in made_up.CHANGES})
    monkeypatch.setattr(made_up, "CHANGE_ERROR", 0.0)
    runs = {run: made_up.RUNS[run] for run in made_up.RETRAINED}
    with questions.connect(gather(runs, analysed=made_up.analyses(runs))) as connection:
        for module in (retrained_heads, retraining_curves):
            drawn.settled(module, connection)
        assert (retrained_heads.data(connection)["separate_change"] == 0).all()


@pytest.mark.parametrize("module", FIGURES.values(), ids=FIGURES)
def test_captions_and_titles_are_sentences(module):
    assert module.CAPTION.endswith(".") and "  " not in module.CAPTION and not module.TITLE.endswith(".")


def test_the_layout_of_figures_within_a_figure_is_rounded(tmp_path):
    figure = style.new_figure(4, 4)
    for part in figure.subfigures(2, 1, height_ratios=[2, 1]):
        part.subplots()
    style.save(figure, pd.DataFrame(), tmp_path, "figure")
    edges = [part.bbox_relative.get_points() for part in figure.subfigs]
    assert all((points == points.round(6)).all() for points in edges)  # else they end in what the solver left
