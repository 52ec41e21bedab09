import made_up_results as made_up
import pytest
from drawn import assert_apart, settled, texts, titles

from perlayer.report.figures import routing
from perlayer.warehouse import database
from perlayer.warehouse.collect import collect

DESIGNS = {"separate": "hyper_connections", "shared": "attnres_full"}
RUNS = {run: {**made_up.RUNS[run], "residual": residual} for run, residual in DESIGNS.items()}


STREAM_PANELS = ["Hyper-Connections\nread", "write", "product of mixing matrices"]
SOURCE_PANELS = ["AttnRes full\nattention over depth"]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("there", "panels", "note"),
    [
        (["separate", "shared"], STREAM_PANELS + SOURCE_PANELS, None),
        (["separate"], STREAM_PANELS, "Not drawn, not dissected yet: shared"),
        (["shared"], SOURCE_PANELS, "Not drawn, not dissected yet: separate"),
        ([], [], "No finished model has shown yet how it routes."),
    ],
)
def test_what_is_there_is_drawn_and_the_rest_is_named(gather, there, panels, note):
    analysed = {("routing", run): made_up.routing(run) for run in there}
    with database.connect(gather(RUNS, analysed=analysed)) as connection:
        table = routing.data(connection)
        figure = settled(routing, connection)
    assert set(table["run"]) == set(there) and {"read", "write", "source_weight"} <= set(table.columns)
    assert titles(figure) == panels
    absent = [text for text in texts(figure) if text.startswith(("Not drawn", "No finished"))]
    assert absent == ([note] if note else [])
    assert ("at the greatest token" in texts(figure)) == ("separate" in there)


def test_a_run_that_is_not_asked_is_not_missed(tmp_path):
    made_up.write_analyses(tmp_path, {("routing", "separate"): made_up.routing("separate")})
    collect(made_up.params(RUNS) | {"routing": {"runs": ["separate"]}}, tmp_path, tmp_path / "warehouse")
    with database.connect(tmp_path / "warehouse") as connection:
        assert not [text for text in texts(settled(routing, connection)) if text.startswith("Not drawn")]


def test_maps_hold_the_weights_where_the_axes_say(gather):
    analysed = {("routing", run): made_up.routing(run) for run in DESIGNS}
    with database.connect(gather(RUNS, analysed=analysed)) as connection:
        figure = settled(routing, connection)
    panels = {axes.get_title(loc="left"): axes for axes in figure.axes}
    read = panels["Hyper-Connections\nread"].images[0]
    assert read.get_array()[1, 7] == pytest.approx(0.27)  # stream 2 at place 7
    assert read.get_extent() == [-0.5, 11.5, 0.5, 2.5]
    attention = panels["AttnRes full\nattention over depth"]
    assert attention.images[0].get_array()[3, 2] == pytest.approx(0.3)  # the second MLP, of 1 + 2 + 3 + 4
    assert attention.yaxis_inverted() and attention.images[0].get_array().mask[2, 3]  # no later source
    assert attention.get_yticklabels()[-1].get_text() == "head"
    assert [tick.get_text() for tick in panels["write"].get_xticklabels()] == ["1", "2", "3", "4", "5", "6"]
    gains = panels["product of mixing matrices"]
    forward = next(line for line in gains.get_lines() if line.get_label() == "forward gain")
    assert forward.get_ydata()[-1] == pytest.approx(2.1)


@pytest.mark.filterwarnings("error")
def test_negative_weights_and_exploding_gains_can_be_drawn(gather):
    table = made_up.routing("separate")["routing"]
    table["read"] *= -1
    gains = table["forward_gain"].notna()
    for gain in ("forward_gain", "greatest_forward_gain", "backward_gain", "greatest_backward_gain"):
        table.loc[gains, gain] = 10.0 ** table.loc[gains, "layer"]
    analysed = {("routing", "separate"): {"routing": table}}
    with database.connect(gather(RUNS, analysed=analysed)) as connection:
        figure = settled(routing, connection)
    panels = {axes.get_title(loc="left"): axes for axes in figure.axes}
    assert panels["product of mixing matrices"].get_yscale() == "log"
    low, high = panels["Hyper-Connections\nread"].images[0].get_clim()
    assert low == -high < 0


@pytest.mark.filterwarnings("error")
def test_panels_of_many_runs_do_not_overlap(tmp_path):
    runs, tables = {}, {}
    for kind, seeds in (("separate", 2), ("shared", 4)):
        for seed in range(seeds):
            run = f"{kind}_seed_{seed}"
            runs[run] = {**RUNS[kind], "seed": seed}
            tables["routing", run] = {"routing": made_up.routing(kind)["routing"].assign(run=run)}
    made_up.write_analyses(tmp_path, tables)
    collect(made_up.params(runs) | {"routing": {"runs": list(runs)}}, tmp_path, tmp_path / "warehouse")
    with database.connect(tmp_path / "warehouse") as connection:
        figure = settled(routing, connection)
    assert len(titles(figure)) == 2 * 3 + 4
    assert "Hyper-Connections\nseparate_seed_1\nread" in titles(figure)
    boxes = [axes.get_tightbbox() for axes in figure.axes if axes.axison]
    assert len(boxes) == 2 * 3 + 4 + 2 * 2 + 4  # and the scales of the colours
    assert_apart(boxes, 0.98)
