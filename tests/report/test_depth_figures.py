"""The figures of how finished models use their depth."""

import made_up_depth
import made_up_results as made_up
import pytest
from drawn import assert_apart, settled, texts, titles
from made_up_depth import PROFILE
from matplotlib.text import Text

from perlayer import questions
from perlayer.report.figures import (
    contributions,
    depth_and_width,
    depth_by_group,
    depth_profile,
    depth_scores,
    erasure,
    integrated_gradients,
    linear_maps,
    skip_effects,
)

MODULES = (contributions, skip_effects, depth_profile, depth_scores)
TOKEN_MODULES = (erasure, integrated_gradients)
LABELS = ["baseline", "separate heads", "shared head"]


@pytest.fixture(scope="module")
def connection(warehouse_dir):
    with questions.connect(warehouse_dir) as connection:
        yield connection


def test_contributions_are_bars_cut_where_the_source_cuts_them(connection):
    table = contributions.data(connection).set_index(["label", "layer", "part"])
    assert table.loc[("separate heads", 4, "mlp"), "relative_contribution"] == pytest.approx(0.4 * 0.5)
    assert table.loc[("baseline", 3, "layer"), "cosine"] == pytest.approx(-0.2)
    figure = settled(contributions, connection)
    assert titles(figure) == LABELS
    bars = figure.axes[0].patches
    shown = [min(share, 1.5) for part in ("layer", "attention", "mlp") for share in PROFILE["shares"][part]]
    assert [bar.get_height() for bar in bars] == pytest.approx(shown)
    assert "8" in texts(figure)  # where the first bar ends
    cosines = figure.axes[len(LABELS)].get_lines()[1].get_ydata()
    assert list(cosines) == pytest.approx(PROFILE["cosines"]["layer"])


def test_maps_of_skipping_share_one_scale(connection):
    figure = settled(skip_effects, connection)
    maps = [axes for axes in figure.axes if axes.images]
    assert len(maps) == 3 * len(LABELS) and {axes.images[0].get_clim() for axes in maps} == {(0, 1)}
    future = maps[1].images[0].get_array()
    assert future[1, 4] == pytest.approx(PROFILE["later"][1]) and future.mask[4, 1]
    assert maps[0].images[0].get_array()[1, 4] == pytest.approx(PROFILE["later"][1] + 0.5)
    assert maps[0].get_title(loc="left") == "all tokens" and maps[0].get_ylim() == (6.5, 0.5)
    assert [axes.texts[0].get_text() for axes in maps[::3]] == LABELS


def test_the_profile_has_one_depth_axis(connection):
    table = depth_profile.data(connection).set_index(["label", "layer"])
    assert table.loc[("shared head", 0), "kl_lens_final"] == 6.0
    assert table.loc[("shared head", 5), "output_effect_all"] == pytest.approx(0.3)
    figure = settled(depth_profile, connection)
    assert titles(figure) == LABELS
    assert len({axes.get_xlim() for axes in figure.axes}) == 1
    effects, lens, overlap = (figure.axes[row * len(LABELS)] for row in range(3))
    assert effects.get_yscale() == "log" and list(effects.get_lines()[1].get_xdata()) == [1, 2, 3, 4, 5]
    assert list(lens.get_lines()[0].get_ydata()) == PROFILE["kl"]
    assert list(overlap.get_lines()[0].get_ydata()) == PROFILE["overlap"]
    assert [axes.get_lines()[-1].get_xdata()[0] for axes in (effects, lens, overlap)] == [
        3.5
    ] * 3  # the fall to layer 4


def test_depth_scores_have_layers(connection):
    table = depth_scores.data(connection).set_index("label")
    assert list(table.index) == LABELS and table.loc["baseline", "cosine_layer"] == 4
    figure = settled(depth_scores, connection)
    left, right = figure.axes
    assert list(left.get_lines()[0].get_xdata()) == pytest.approx([2.2] * 3)
    assert [tick.get_text() for tick in left.get_yticklabels()] == LABELS
    assert list(right.get_lines()[3].get_xdata()) == [4] * 3


@pytest.mark.parametrize("module, first, unseen", [(erasure, 0, 0), (integrated_gradients, 1, 1)])
def test_maps_of_tokens_show_one_text(connection, module, first, unseen):
    column = "attribution" if first else "erasure"
    table = module.data(connection)
    assert set(table["text"]) == {"window 1"} and set(table["label"]) == set(LABELS)  # window 2 has fewer tokens
    figure = settled(module, connection)
    maps = [axes for axes in figure.axes if axes.images]
    assert titles(figure) == LABELS and len({axes.images[0].get_clim() for axes in maps}) == 1
    if module is erasure:  # no two distributions are further apart
        assert maps[0].images[0].get_clim() == pytest.approx((1e-3, 2**0.5))
    until = PROFILE["tokens"]["window 1"][column]
    for axes in maps:
        values = axes.images[0].get_array()
        assert values.shape == (7 - first, 1 + len(until) + made_up_depth.PREDICTING + unseen)
        assert abs(values[until[0] - first, 1]) == 0.16 and abs(values[until[0] + 1 - first, 1]) == 0.14
        marks = axes.collections[0].get_segments()
        assert [tuple(mark[:, 1]) for mark in marks] == [(end + 0.5, end + 0.5) for end in until]
        assert [tuple(mark[:, 0]) for mark in marks] == [(n - 0.5, n + 0.5) for n in range(1, len(until) + 1)]
    assert [tick.get_text() for tick in maps[-1].get_xticklabels()] == list("abcdefghi")[: values.shape[1]]


def test_the_first_token_does_not_set_the_scale(connection, monkeypatch):
    table = integrated_gradients.data(connection)
    table.loc[table["position"] == 0, "attribution"] = 7.0
    table.loc[table["position"] == 3, "attribution"] = -0.4
    monkeypatch.setattr(integrated_gradients, "data", lambda _: table)
    figure = settled(integrated_gradients, connection)
    assert figure.axes[0].images[0].get_clim() == (-0.4, 0.4)
    assert {"+0.1", "\N{MINUS SIGN}0.001"} <= set(texts(figure))


@pytest.mark.filterwarnings("error")
def test_tokens_are_written_as_they_are(connection, monkeypatch):
    words = [" of", "\n", "$a$", "<|begin_of_text|>", None, "\ufffd", "h", "i"]
    table = erasure.data(connection)
    table["token"] = table["position"].map(dict(enumerate(words)))
    monkeypatch.setattr(erasure, "data", lambda _: table)
    maps = [axes for axes in settled(erasure, connection).axes if axes.images]
    assert [tick.get_text() for tick in maps[-1].get_xticklabels()] == [
        "\u2423of", "\u21b5", "$a$", "<|begin_\u2026", "", "\ufffd", "h", "i",
    ]  # fmt: skip


def test_linear_maps_show_their_diagonal_and_the_mean(connection):
    figure = settled(linear_maps, connection)
    assert titles(figure) == ["shallow to deep", "baseline to\nseparate", "seed to seed"]
    axes = figure.axes[0]
    errors, means = (image.get_array() for image in axes.images)
    assert errors.shape == (6, 3) and errors[4, 0] == pytest.approx(0.45) and means[4, 0] == pytest.approx(0.95)
    diagonal, best = axes.get_lines()
    (left, right), (low, high) = diagonal.get_data()
    assert (high - low) / (right - left) == pytest.approx(2) and low == pytest.approx(2 * left)  # to layer 2k from k
    assert list(zip(*best.get_data())) == [(1, 1), (1, 2), (2, 3), (2, 4), (3, 5), (3, 6)]
    assert [tick.get_text() for tick in axes.get_xticklabels()] == ["1", "2", "3", "mean"]
    assert {"0.45", "0.95"} <= {text.get_text() for text in axes.texts}
    assert len({image.get_clim() for each in figure.axes for image in each.images}) == 1


@pytest.mark.filterwarnings("error")
def test_many_layers_and_one_kind_are_drawn_without_numbers(gather):
    maps = made_up_depth.maps("wide", [min(-(-layer // 2), 12) for layer in range(1, 31)], 12)["linear_maps"]
    table = {"linear_maps": maps[maps["kind"] == "residual"]}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(made_up, "PAIRS", {"wide": ("depth_1", "baseline", [])})
        runs = {run: made_up.RUNS[run] for run in ("depth_1", "baseline")}
        with questions.connect(gather(runs, runs, {("depth_maps", "wide"): table})) as connection:
            figure = settled(linear_maps, connection)
    maps = [axes for axes in figure.axes if len(axes.images) == 2]
    assert len(maps) == 1 and not maps[0].texts and len(maps[0].get_yticks()) <= 8


PROMPTS = {"sums: 2 operands": 2.0, "sums: 4 operands": 2.2, "sums: 10 operands": 2.1}
DEEP = {
    "shares": {part: [each for each in values for _ in "12"] for part, values in PROFILE["shares"].items()},
    "cosines": {part: [each for each in values for _ in "12"] for part, values in PROFILE["cosines"].items()},
    "later": [each for each in (*PROFILE["later"], 0.005) for _ in "12"],
    "everywhere": [each for each in PROFILE["everywhere"] for _ in "12"],
    "future": [each for each in PROFILE["future"] for _ in "12"],
    "kl": [60.0, *(each for each in PROFILE["kl"][1:] for _ in "12")],
    "overlap": [0.0, *(each for each in PROFILE["overlap"][1:] for _ in "12")],
}  # of twelve layers, whose lens begins far from the output


def with_problems(run, scores):
    return made_up_depth.dissection(run) | made_up_depth.by_group(run, scores)


@pytest.mark.filterwarnings("error")
def test_scores_of_groups_stand_in_order_of_difficulty(gather):
    runs = {run: made_up.RUNS[run] for run in ("baseline", "probes_seed_1", "separate")}
    raised = {group: score + 0.4 for group, score in PROMPTS.items()}
    analysed = {
        ("depth", "baseline"): with_problems("baseline", PROMPTS),
        ("depth", "probes_seed_1"): with_problems("probes_seed_1", raised),
        ("depth", "separate"): with_problems("separate", PROMPTS),
    }
    with questions.connect(gather(runs, runs, analysed)) as connection:
        table = depth_by_group.data(connection)
        assert list(table[table["run"] == "baseline"]["prompt_group"]) == ["2 operands", "4 operands", "10 operands"]
        figure = settled(depth_by_group, connection)
        assert titles(figure) == ["baseline", "separate heads"]
        left, right = figure.axes
        assert list(left.get_lines()[0].get_ydata()) == pytest.approx([2.2, 2.4, 2.3])  # the mean of two seeds
        assert [tick.get_text() for tick in left.get_xticklabels()] == ["2", "4", "10"]
        assert left.get_xlabel() == "Operands" and left.get_ylim() == right.get_ylim()
        assert "Left out, as longer than a model reads: baseline 3 of 15, separate heads 3 of 15" in texts(figure)


@pytest.mark.filterwarnings("error")
def test_a_number_within_a_word_is_no_difficulty(gather):
    runs = {"baseline": made_up.RUNS["baseline"]}
    analysed = {("depth", "baseline"): with_problems("baseline", {"school: gsm8k": 2.0})}
    with questions.connect(gather(runs, runs, analysed)) as connection:
        (axes,) = settled(depth_by_group, connection).axes
        assert [tick.get_text() for tick in axes.get_xticklabels()] == ["gsm8k"] and axes.get_xlabel() == ""


@pytest.mark.filterwarnings("error")
def test_models_of_few_layers_say_what_they_do_not_have(gather):
    one = {name: {part: values[:1] for part, values in PROFILE[name].items()} for name in ("shares", "cosines")}
    one |= {"kl": PROFILE["kl"][-2:], "overlap": PROFILE["overlap"][-2:], "scores": {}, "depths": {}, "tokens": {}}
    runs = {"baseline": made_up.RUNS["baseline"]}
    problems = made_up_depth.by_group("baseline", PROMPTS, error=None, layers=1)["group_scores"]
    problems = problems.assign(depth_score=None, output_depth_score=None, depth_score_by_max=None)
    rows = made_up_depth.dissection("baseline", **one) | {"group_scores": problems}
    with questions.connect(gather(runs, runs, {("depth", "baseline"): rows})) as connection:
        assert texts(settled(skip_effects, connection)) == ["No dissected model has a layer after its first."]
        said = "No model that has read problems has a depth score on them, which takes three layers."
        assert texts(settled(depth_by_group, connection)) == [said]
        for module in TOKEN_MODULES:
            assert texts(settled(module, connection))[0].startswith("No token has been looked at alone yet in a model")
        for module in (contributions, depth_profile, depth_scores):
            assert "baseline" in texts(settled(module, connection))


@pytest.mark.filterwarnings("error")
def test_a_published_model_stands_beside_the_runs(gather):
    runs = {"baseline": made_up.RUNS["baseline"]}
    levels = {"levels: level 1": 6.0, "levels: level 5": 6.6}
    theirs = made_up_depth.dissection("deep_model", **DEEP)
    theirs |= made_up_depth.by_group("deep_model", levels | PROMPTS, layers=12)
    analysed = {
        ("depth", "baseline"): with_problems("baseline", PROMPTS),
        ("published_depth", "deep_model"): theirs,
    }
    with questions.connect(gather(runs, runs, analysed)) as connection:
        for module in (contributions, depth_profile):
            figure = settled(module, connection)
            assert titles(figure) == ["baseline", "deep_model"]
        table = contributions.data(connection)
        assert list(table[(table["label"] == "deep_model") & (table["part"] == "layer")]["layer"]) == [*range(1, 13)]
        lens = figure.axes[3]  # below the effects of both
        assert list(lens.get_lines()[0].get_ydata()) == DEEP["kl"] and lens.get_ylim()[1] == pytest.approx(1.08 * 6.0)
        assert [axes.texts[0].get_text() for axes in settled(skip_effects, connection).axes if axes.texts] == [
            "baseline",
            "deep_model",
        ]
        figure = settled(depth_by_group, connection)
        assert titles(figure) == ["baseline", "deep_model:\nlevels", "deep_model: sums"]
        assert [axes.get_xlabel() for axes in figure.axes] == ["Operands", "Level", "Operands"]
        assert list(figure.axes[1].get_lines()[0].get_ydata()) == pytest.approx([0.5, 0.55])  # shares of the depth
        assert [tick.get_text() for tick in settled(depth_scores, connection).axes[0].get_yticklabels()] == [
            "baseline",
            "deep_model",
        ]


@pytest.mark.filterwarnings("error")
def test_without_problems_the_figure_says_so(connection):
    assert "No problems of known difficulty have been read yet." in texts(settled(depth_by_group, connection))


def test_loss_by_depth_and_its_regression(connection):
    table = depth_and_width.data(connection)
    row = connection.execute("SELECT intercept, by_depth, runs FROM depth_regression").fetchone()
    assert len(table) == row[2] == 9
    one = table[table["layers"] == 1].iloc[0]
    assert one["fitted"] == pytest.approx(row[0]) and one["loss"] == pytest.approx(made_up.DEPTH_MATCHED[1])
    figure = settled(depth_and_width, connection)
    assert "least squares, size in use" in texts(figure) and "nano" in texts(figure)


@pytest.mark.filterwarnings("error")
def test_models_of_other_depths_and_designs_and_what_is_absent(gather):
    keel = {"residual": "keel", "readouts": "probes", "seed": 0}
    runs = {"baseline": made_up.RUNS["baseline"], "depth_2": made_up.RUNS["depth_2"]}
    defined = runs | {"shared": made_up.RUNS["shared"], "keel_probes": keel}
    shallow = {
        "shares": {part: values[:2] for part, values in PROFILE["shares"].items()},
        "cosines": {part: values[:2] for part, values in PROFILE["cosines"].items()},
        "kl": PROFILE["kl"][-3:],
        "overlap": PROFILE["overlap"][-3:],
        "depths": {},
    }
    analysed = {
        ("depth", "baseline"): made_up_depth.dissection("baseline"),
        ("depth", "depth_2"): made_up_depth.dissection("depth_2", **shallow),
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(made_up.DISSECTED, "depth_2", 1.0)
        with questions.connect(gather(runs, defined, analysed)) as connection:
            for module in MODULES:
                found = texts(settled(module, connection))
                assert "Not drawn, not dissected yet: keel_probes, shared" in found
            assert titles(settled(contributions, connection)) == ["baseline", "baseline, 2\nlayers"]
            assert [titles(settled(module, connection)) for module in TOKEN_MODULES] == [["baseline"]] * 2
            figure = settled(depth_scores, connection)
            assert "Share of the depth" in texts(figure)
            right = figure.axes[1]
            shown = [x for line in right.get_lines() for x in line.get_xdata() if x == x]
            assert max(shown) == 1.5 < right.get_xlim()[1]  # of two layers, one beyond the last


@pytest.mark.filterwarnings("error")
def test_figures_without_dissections_say_so(gather):
    with questions.connect(gather({}, made_up.RUNS)) as connection:
        for module in (*MODULES, *TOKEN_MODULES):
            assert "No finished model has shown yet how it uses its depth." in texts(settled(module, connection))
        assert "No pair of models has been mapped onto each other yet." in texts(settled(linear_maps, connection))
        assert "No plain model is here yet." in texts(settled(depth_and_width, connection))


@pytest.fixture(scope="module")
def of_many_designs(tmp_path_factory):
    """Connections to dissected runs of eight designs, without and with the results of their training."""
    designs = ("pre_ln", "layernorm_scaling", "deepnorm", "keel", "hyper_connections", "mhc", "attnres_full", "moda")
    runs = {f"{design}_probes": {"residual": design, "readouts": "probes", "seed": 0} for design in designs}
    analysed = {("depth", run): with_problems(run, PROMPTS) for run in runs}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(made_up, "DISSECTED", dict.fromkeys(runs, 1.0))
        tables = [made_up.gathered(tmp_path_factory.mktemp("many"), some, runs, analysed) for some in ({}, runs)]
    with questions.connect(tables[0]) as untrained, questions.connect(tables[1]) as trained:
        yield untrained, trained


def test_dissections_count_where_there_are_results_of_training(of_many_designs):
    counts = [each.execute("SELECT count(*) FROM dissected_runs").fetchone() for each in of_many_designs]
    assert counts == [(0,), (8,)]


@pytest.mark.parametrize("module", [*MODULES, depth_by_group])
def test_many_panels_do_not_overlap(of_many_designs, module):
    figure = settled(module, of_many_designs[1])
    boxes = [axes.get_window_extent() for axes in figure.axes if axes.axison]
    for axes in figure.axes:
        frame = axes.get_window_extent()
        words = [text for text in (*axes.get_children(), axes.xaxis.label, axes.yaxis.label) if isinstance(text, Text)]
        extents = [Text.get_window_extent(text) for text in words if text.get_text()]
        boxes += [box for box in extents if not frame.contains(*((box.p0 + box.p1) / 2))]  # without numbers on bars
    assert_apart(boxes, 0.96, 0.9)
