"""The weight of each layer at a step, against values computed by hand from the formulae of the sources.

The sources count layers from 0; a model of L layers has their layers 0 to L-1, which are 1 to L here.
"""

import math
import subprocess
import sys

import pytest
from algorithm_settings import ALGORITHMS

from perlayer.algorithms.per_layer_loss import shapes, weighting
from perlayer.algorithms.per_layer_loss.settings import Settings
from perlayer.algorithms.per_layer_loss.training_state import TrainingState
from perlayer.algorithms.per_layer_loss.weighting import SECTIONS, choices, layer_weights, needs_losses
from perlayer.catalogue import catalogue
from perlayer.errors import InvalidValue, UserError
from perlayer.params import load
from perlayer.runs import parse_run


def weights(weighting=None, schedule=None, layers=6, **state):
    found = layer_weights(weighting, schedule, TrainingState(layers, **state))
    assert list(found) == list(range(1, layers + 1))
    return list(found.values())


def test_by_default_every_loss_weighs_exactly_the_same():
    assert weights() == weights({"shape": "uniform"}, {"kind": "constant"}, step=3) == [1.0] * 6


ROOTS = [1, 1.4142136, 1.7320508, 2, 2.2360680, 2.4494897]


@pytest.mark.parametrize(
    ("weighting", "expected"),
    [
        ({"shape": "uniform", "weight": 0.2}, [0.2, 0.2, 0.2, 0.2, 0.2, 1]),  # five of them: they sum to one
        ({"shape": "linear", "weight": 0.2}, [1 / 15, 2 / 15, 3 / 15, 4 / 15, 5 / 15, 1]),  # (k+1)/15, k = 0..4
        ({"shape": "linear"}, [2 / 6, 4 / 6, 6 / 6, 8 / 6, 10 / 6, 1]),  # s_k = 2(k+1)/6
        ({"shape": "single", "at": 2, "weight": 0.1}, [0, 0.1, 0, 0, 0, 1]),
        ({"shape": "list", "weights": [0.1, 0, 0, 3, 0.5]}, [0.1, 0, 0, 3, 0.5, 1]),
        # 1, 3, 6, 10, 15, 21 sum to 56; the first five halved to 38.5
        ({"shape": "sum"}, [1 / 56, 3 / 56, 6 / 56, 10 / 56, 15 / 56, 21 / 56]),
        ({"shape": "sum", "scale": 0.5}, [0.5 / 38.5, 1.5 / 38.5, 3 / 38.5, 5 / 38.5, 7.5 / 38.5, 21 / 38.5]),
        # the roots of 1 to 6 sum to 10.8318221, of which the last is 2.4494897; the others times 0.2 are 1.6764665
        ({"shape": "sqrt"}, [root / 10.8318221 for root in ROOTS]),
        ({"shape": "sqrt", "scale": 0.2}, [*(0.2 * root / 4.1259562 for root in ROOTS[:5]), 2.4494897 / 4.1259562]),
        # 1, 1/2 ... 1/6 are 60, 30, 20, 15, 12, 10 of 60, which sum to 147
        ({"shape": "inverse"}, [60 / 147, 30 / 147, 20 / 147, 15 / 147, 12 / 147, 10 / 147]),
        ({"shape": "inverse", "scale": 0}, [0, 0, 0, 0, 0, 1]),
        # e(l) = 0.2 (0 + ... + l): 0, 0.2, 0.6, 1.2, 2; e(5) = 5 + 0.2 (0 + 1 + 2 + 3 + 4) = 7; together 11
        ({"shape": "layerskip", "scale": 0.2}, [0, 0.2 / 11, 0.6 / 11, 1.2 / 11, 2 / 11, 7 / 11]),
        # at scale 1: 0, 1, 3, 6, 10 and 5 + 10 = 15; together 35
        ({"shape": "layerskip", "scale": 1}, [0, 1 / 35, 3 / 35, 6 / 35, 10 / 35, 15 / 35]),
    ],
)
def test_a_shape_over_six_layers(weighting, expected):
    assert weights(weighting) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("weighting", "layers", "expected"),
    [
        ({"shape": "linear", "weight": 0.2}, 2, [0.2, 1]),  # 0.2 * 2 * 1/2
        ({"shape": "layerskip", "scale": 0.2}, 2, [0, 1]),  # e(0) = 0, e(1) = 1 + 0
        ({"shape": "layerskip", "scale": 0.2}, 3, [0, 0.2 / 2.4, 2.2 / 2.4]),  # e(1) = 0.2, e(2) = 2 + 0.2
        ({"shape": "sum"}, 3, [0.1, 0.3, 0.6]),
        ({"shape": "layerskip"}, 1, [1]),
        ({"shape": "uniform", "weight": 0.2}, 1, [1]),
    ],
)
def test_a_shape_over_other_depths(weighting, layers, expected):
    assert weights(weighting, layers=layers) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("schedule", "step", "expected"),
    [
        ({"kind": "linear_to_zero", "steps": 150}, 0, [1, 1, 1, 1, 1]),
        ({"kind": "linear_to_zero", "steps": 150}, 75, [0.5, 0.5, 0.5, 0.5, 0.5]),
        ({"kind": "linear_to_zero", "steps": 150}, 149, [1 / 150] * 5),
        ({"kind": "linear_to_zero", "steps": 150}, 150, [0, 0, 0, 0, 0]),
        ({"kind": "linear_to_zero", "steps": 150}, 4000, [0, 0, 0, 0, 0]),
        ({"kind": "off", "step": 80}, 79, [1, 1, 1, 1, 1]),  # the first 80 updates
        ({"kind": "off", "step": 80}, 80, [0, 0, 0, 0, 0]),
        # LayerSkip's rotation: every R-th layer, one further each step, each on once in R steps
        ({"kind": "rotational", "every": 5}, 0, [1, 0, 0, 0, 0]),
        ({"kind": "rotational", "every": 5}, 1, [0, 1, 0, 0, 0]),
        ({"kind": "rotational", "every": 5}, 4, [0, 0, 0, 0, 1]),
        ({"kind": "rotational", "every": 5}, 5, [1, 0, 0, 0, 0]),
        ({"kind": "rotational", "every": 2}, 0, [1, 0, 1, 0, 1]),
        ({"kind": "rotational", "every": 2}, 1, [0, 1, 0, 1, 0]),
        ({"kind": "rotational", "every": 1}, 7, [1, 1, 1, 1, 1]),
        ({"kind": "rotational", "every": 9}, 7, [0, 0, 0, 0, 0]),
        # where R does not divide L, torchtune's roll of six flags would put block 0 beside block 2 here
        ({"kind": "rotational", "every": 4}, 2, [0, 0, 1, 0, 0]),
        # LayerSkip's gradual: of T = 120 steps, one layer more every T/(2L) = 10, all at 60
        ({"kind": "gradual"}, 0, [0, 0, 0, 0, 0]),
        ({"kind": "gradual"}, 19, [0, 0, 0, 0, 0]),
        ({"kind": "gradual"}, 20, [0, 0, 0, 0, 1]),
        ({"kind": "gradual"}, 30, [0, 0, 0, 1, 1]),
        ({"kind": "gradual"}, 59, [0, 1, 1, 1, 1]),
        ({"kind": "gradual"}, 60, [1, 1, 1, 1, 1]),
        ({"kind": "gradual"}, 119, [1, 1, 1, 1, 1]),
    ],
)
def test_a_schedule_of_a_run_of_120_updates(schedule, step, expected):
    assert weights({"shape": "uniform"}, schedule, step=step, steps=120) == pytest.approx([*expected, 1])


def test_the_threshold_of_deeply_supervised_nets():
    # 1 - t/N = 1 - 30/120 where the loss is above the threshold, nothing where it is at or below
    losses = {1: 4.0, 2: 3.51, 3: 3.5, 4: 3.49, 5: 2.0}
    found = weights(
        {"shape": "uniform", "weight": 0.3}, {"kind": "threshold", "loss": 3.5}, step=30, steps=120, losses=losses
    )
    assert found == pytest.approx([0.225, 0.225, 0, 0, 0, 1])
    assert needs_losses({"kind": "threshold", "loss": 3.5}) and not needs_losses({"kind": "gradual"})
    assert not needs_losses(None)


@pytest.mark.parametrize(
    ("schedule", "step", "expected"),
    [
        # e = 0, 0.2, 0.6, 1.2, 2, 7 over the layers that are on, the last always
        ({"kind": "rotational", "every": 5}, 0, [0, 0, 0, 0, 0, 1]),
        ({"kind": "rotational", "every": 5}, 1, [0, 0.2 / 7.2, 0, 0, 0, 7 / 7.2]),
        ({"kind": "rotational", "every": 5}, 4, [0, 0, 0, 0, 2 / 9, 7 / 9]),
        ({"kind": "rotational", "every": 2}, 0, [0, 0, 0.6 / 9.6, 0, 2 / 9.6, 7 / 9.6]),
        ({"kind": "rotational", "every": 2}, 1, [0, 0.2 / 8.4, 0, 1.2 / 8.4, 0, 7 / 8.4]),
        ({"kind": "gradual"}, 10, [0, 0, 0, 0, 0, 1]),
        ({"kind": "gradual"}, 20, [0, 0, 0, 0, 2 / 9, 7 / 9]),
        ({"kind": "gradual"}, 39, [0, 0, 0, 1.2 / 10.2, 2 / 10.2, 7 / 10.2]),
        ({"kind": "gradual"}, 60, [0, 0.2 / 11, 0.6 / 11, 1.2 / 11, 2 / 11, 7 / 11]),
    ],
)
def test_layerskip_over_training(schedule, step, expected):
    found = weights({"shape": "layerskip", "scale": 0.2}, schedule, step=step, steps=120)
    assert found == pytest.approx(expected)


def test_layerskip_at_the_size_of_its_paper():
    # 24 layers, R = 23: one layer a step beside the last. At t = 22 that is l = 22: e(22) = 0.2 * 253 = 50.6,
    # e(23) = 23 + 0.2 * 253 = 73.6
    found = weights(
        {"shape": "layerskip", "scale": 0.2}, {"kind": "rotational", "every": 23}, layers=24, step=22, steps=50000
    )
    assert found[:22] == [0] * 22
    assert found[22:] == pytest.approx([50.6 / 124.2, 73.6 / 124.2])


def test_a_cumulated_weight_is_the_same_whichever_layers_are_on():
    # blocks 1, 3 and 5 of six: 3, 10, 21 of 34. torchtune cumulates what is on alone: 2, 2+4, 2+4+6
    found = weights({"shape": "sum"}, {"kind": "rotational", "every": 2}, step=1)
    assert found == pytest.approx([0, 3 / 34, 0, 10 / 34, 0, 21 / 34])
    assert found != pytest.approx([0, 2 / 20, 0, 6 / 20, 0, 12 / 20])


def test_a_share_that_fades_goes_to_the_others():
    # halfway: 0.5 * 1, 0.5 * 3 and the last's 6, of 8
    found = weights({"shape": "sum"}, {"kind": "linear_to_zero", "steps": 100}, layers=3, step=50)
    assert found == pytest.approx([0.5 / 8, 1.5 / 8, 6 / 8])


def test_a_duration_may_be_a_share_of_the_run():
    # off at step 80 of 4959 (Chai 2026) is 1.61 % of the run: 19 of 1200 updates
    for steps, ends in ((4959, 80), (1200, 19), (30, 1)):
        schedule = {"kind": "off", "step": 0.0161}
        found = [weights(None, schedule, step=step, steps=steps)[0] for step in (0, ends - 1, ends)]
        assert found == [1, 1, 0]
    assert weights(None, {"kind": "linear_to_zero", "steps": 0.5}, step=25, steps=100)[0] == 0.5


def test_llal_taps_one_layer_and_fades():
    # 0.1 to 0 over the first 10k of 90k updates
    def at(step):
        schedule = {"kind": "linear_to_zero", "steps": 10000}
        return weights({"shape": "single", "at": 1, "weight": 0.1}, schedule, step=step, steps=90000)

    assert [at(step)[0] for step in (0, 2500, 9999, 10000)] == pytest.approx([0.1, 0.075, 0.00001, 0])
    assert at(5000)[1:] == [0, 0, 0, 0, 1]
    listed = weights({"shape": "list", "weights": [0.1, 0, 0, 0, 0]}, {"kind": "linear_to_zero", "steps": 10000})
    assert listed == at(0)


def rows(section):
    """What the table of settings says of each shape or schedule."""
    weighted = [settings for row in ALGORITHMS.values() for folder, settings in row if folder == "per_layer_loss"]
    said = [getattr(settings, section) for settings in weighted if getattr(settings, section)]
    return {row[SECTIONS[section].name]: row for row in said}.values()


@pytest.mark.parametrize("weighting", rows("weighting"), ids=lambda row: row["shape"])
@pytest.mark.parametrize("schedule", rows("schedule"), ids=lambda row: row["kind"])
def test_every_shape_goes_with_every_schedule(weighting, schedule):
    Settings("separate", weighting, schedule)
    for step in range(10):
        found = weights(weighting, schedule, layers=3, step=step, steps=10, losses={1: 4.0, 2: 2.0})
        assert all(math.isfinite(weight) and weight >= 0 for weight in found) and found[-1] > 0
        if weighting["shape"] in ("sum", "sqrt", "inverse", "layerskip"):
            assert sum(found) == pytest.approx(1)


RUN = {"residual": "sandwich", "readouts": "separate", "seed": 0}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"weighting": "linear"}, "weighting: expected a mapping, found 'linear'"),
        (
            {"weighting": {"shape": "linnear"}},
            f"weighting.shape: expected one of {', '.join(choices('weighting'))}, found 'linnear'",
        ),
        ({"weighting": {"weight": 1}}, f"weighting.shape: expected one of {', '.join(choices('weighting'))}"),
        ({"weighting": {"shape": ["sum"]}}, f"weighting.shape: expected one of {', '.join(choices('weighting'))}"),
        (
            {"weighting": {"shape": "uniform", "wieght": 1}},
            "weighting: expected the keys shape, weight, found {'shape': 'uniform', 'wieght': 1}",
        ),
        ({"weighting": {"shape": "sum", "weight": 1}}, "weighting: expected the keys shape, scale, found"),
        ({"weighting": {"shape": "single", "at": 1}}, "weighting: expected the keys shape, at, weight, found"),
        (
            {"weighting": {"shape": "uniform", "weight": -0.1}},
            "weighting.weight: expected 0, or 1e-6 to 1e6, found -0.1",
        ),
        (
            {"weighting": {"shape": "uniform", "weight": True}},
            "weighting.weight: expected 0, or 1e-6 to 1e6, found True",
        ),
        (
            {"weighting": {"shape": "uniform", "weight": float("nan")}},
            "weighting.weight: expected 0, or 1e-6 to 1e6, found nan",
        ),
        ({"weighting": {"shape": "sum", "scale": "1e-1x"}}, "weighting.scale: expected 0, or 1e-6 to 1e6"),
        ({"weighting": {"shape": "single", "at": 0, "weight": 1}}, "weighting.at: expected a whole number from 1"),
        (
            {"weighting": {"shape": "list", "weights": [0.1, "x"]}},
            "weighting.weights: expected a list, each 0, or 1e-6 to 1e6, found [0.1, 'x']",
        ),
        (
            {"weighting": {"shape": "list", "weights": 1}},
            "weighting.weights: expected a list, each 0, or 1e-6 to 1e6",
        ),
        (
            {"weighting": {"shape": "list", "weights": [0.1, 0]}, "layers": 4},
            "weighting.weights: expected 3 numbers, one for each layer below the last, found [0.1, 0]",
        ),
        (
            {"weighting": {"shape": "single", "at": 4, "weight": 1}, "layers": 4},
            "weighting.at: expected a layer below the last of 4, found 4",
        ),
        ({"schedule": "off"}, "schedule: expected a mapping, found 'off'"),
        (
            {"schedule": {"kind": "never"}},
            "schedule.kind: expected one of constant, gradual, linear_to_zero, off, rotational, threshold, "
            "found 'never'",
        ),
        ({"schedule": {"kind": "off"}}, "schedule: expected the keys kind, step, found {'kind': 'off'}"),
        (
            {"schedule": {"kind": "off", "step": 0}},
            "schedule.step: expected updates, a whole number from 1, or a share of the run between 0 and 1, found 0",
        ),
        (
            {"schedule": {"kind": "off", "step": 2.5}},
            "schedule.step: expected updates, a whole number from 1, or a share of the run between 0 and 1, found 2.5",
        ),
        ({"schedule": {"kind": "gradual", "steps": 3}}, "schedule: expected the key kind alone, found"),
        ({"schedule": {"kind": "rotational", "every": True}}, "schedule.every: expected a whole number from 1"),
        (
            {"schedule": {"kind": "linear_to_zero", "steps": -1}},
            "schedule.steps: expected updates, a whole number from 1, or a share",
        ),
        (
            {"schedule": {"kind": "threshold", "loss": None}},
            "schedule.loss: expected 0, or 1e-6 to 1e6, found None",
        ),
        (
            {"readouts": "probes", "weighting": {"shape": "sum"}},
            "weighting: expected readouts separate, shared, shared_stop_gradient beside it, found 'probes'",
        ),
        ({"readouts": "none", "schedule": {"kind": "gradual"}}, "schedule: expected readouts separate, shared, "),
    ],
)
def test_a_bad_choice_is_named_in_one_line(change, message):
    with pytest.raises(UserError) as error:
        parse_run({"runs": {"mine": {**RUN, **change}}}, "mine")
    assert str(error.value).startswith(f"params.yaml: runs.mine.{message}") and "\n" not in str(error.value)


def test_what_depends_on_the_depth_is_checked_once_that_is_known():
    settings = Settings("shared", {"shape": "list", "weights": [0.1, 0]})
    settings.check_depth(3)
    with pytest.raises(InvalidValue, match="weighting.weights: expected 3 numbers"):
        settings.check_depth(4)
    Settings("shared").check_depth(4)


def test_a_good_choice_arrives_in_the_settings_and_in_the_warehouse():
    keys = {"weighting": {"shape": "linear", "weight": 0.2}, "schedule": {"kind": "off", "step": 80}}
    params = {
        **load(),
        "runs": {"mine": {**RUN, **keys}, "same": {**RUN, **keys, "seed": 1}, "plain": {**RUN, "weighting": None}},
    }
    assert parse_run(params, "mine").algorithms["per_layer_loss"] == Settings("separate", **keys)
    assert parse_run(params, "plain").algorithms["per_layer_loss"] == Settings("separate")
    rows = {row.run: row for row in catalogue(params)}
    assert (rows["mine"].weighting, rows["mine"].schedule) == ("linear 0.2", "off 80")
    assert (rows["mine"].changes, rows["plain"].changes) == ("schedule, weighting", "")
    assert [rows[run].seed_group for run in ("mine", "same", "plain")] == ["mine", "mine", "plain"]


def test_a_choice_is_checked_without_the_libraries_of_training():
    code = (
        "import sys; from perlayer.algorithms.per_layer_loss.settings import Settings\n"
        "Settings('separate', {'shape': 'sum'}, {'kind': 'gradual'}).check_depth(6)\n"
        "print(sorted({'torch', 'composer', 'numpy'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def broken_shape(monkeypatch, folder, text):
    (folder / "mine.py").write_text(text)
    monkeypatch.setattr(shapes, "__path__", [*shapes.__path__, str(folder)])
    monkeypatch.setattr(weighting, "choices", lambda section: ["mine"])
    sys.modules.pop(f"{shapes.__name__}.mine", None)


@pytest.mark.parametrize(
    "text, message",
    [
        ("NORMALIZED = False\ndef wieght(layer, layers): return 1.0", r"mine\.py: expected weight, as the other files"),
        ("def weight(layer, layers): return 1.0", r"mine\.py: expected NORMALIZED, as the other files"),
        (
            "NORMALIZED = False\ndef weight(layer, layers, *, much: str): return 1.0",
            r"mine\.py: much: expected one of the types float, int, .*, found str",
        ),
        (
            "NORMALIZED = False\ndef weight(layer, layers, *, much): return 1.0",
            r"mine\.py: much: expected one of the types float, int, .*, found",
        ),
    ],
)
def test_a_slip_in_a_shape_is_named_in_one_line(tmp_path, monkeypatch, text, message):
    broken_shape(monkeypatch, tmp_path, text)
    with pytest.raises(UserError, match=message):
        weighting.check_section("weighting", {"shape": "mine"} | ({"much": 0.5} if "*" in text else {}))


def test_the_type_of_an_argument_need_not_be_a_text(tmp_path, monkeypatch):
    broken_shape(monkeypatch, tmp_path, "NORMALIZED = False\ndef weight(layer, layers, *, much: float): return much")
    weighting.check_section("weighting", {"shape": "mine", "much": 0.5})
    with pytest.raises(InvalidValue, match="much"):
        weighting.check_section("weighting", {"shape": "mine", "much": "half"})
    said = weighting.describe({"shape": "mine", "much": 0.5}, None, TrainingState(4))
    assert (said["weighting"], said["total"], said["weighted_layers"]) == ("mine 0.5", 1.5, 3)
