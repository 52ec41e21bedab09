import pytest

from perlayer.algorithms.ema.settings import Settings as Ema
from perlayer.errors import UserError, require
from perlayer.model.config import design_names
from perlayer.params import load, parse
from perlayer.plan import check_params
from perlayer.runs import TrainSettings, parse_run


def parsed(mapping, name="mine"):
    return parse_run({"runs": {name: mapping}}, name)


GOOD = {"residual": "sandwich", "readouts": "probes", "seed": 3}


def test_every_run_that_ships_is_good():
    params = load()
    assert {parse_run(params, name).name for name in params["runs"]} == set(params["runs"])


def test_optional_keys_are_the_settings_of_algorithms():
    run = parsed({**GOOD, "layers": 2, "ema": {"half_life": 5}})
    assert (run.layers, run.algorithms["ema"]) == (2, Ema(half_life=5))
    assert list(parsed({**GOOD, "readouts": "none"}).algorithms) == []


@pytest.mark.parametrize(("steps", "expected"), [(None, 1200), (7, 7), (0.5, 600), (0.0001, 1)])
def test_a_run_may_take_more_or_fewer_updates_than_its_recipe(steps, expected):
    assert parsed({**GOOD, "steps": steps}).updates(1200) == expected


def test_a_run_may_not_end_within_the_warm_up():
    params = load()
    params["recipes"]["nano"]["optimizer"]["warmup"] = 100
    params["runs"]["short"] = {**GOOD, "steps": 100}
    with pytest.raises(UserError) as error:
        check_params(params)
    assert str(error.value) == (
        "params.yaml: runs.short.steps: expected more updates than the 100 of the warm-up, found 100"
    )


def test_the_value_of_an_only_field_may_stand_alone():
    assert parsed({**GOOD, "ema": 5}) == parsed({**GOOD, "ema": {"half_life": 5}})


def test_an_algorithm_may_look_at_the_whole_run(monkeypatch):
    def check(self, run):
        require(run["readouts"] != "shared", "ema", "readouts other than shared beside it", run["readouts"])

    monkeypatch.setattr(Ema, "check", check, raising=False)
    assert parsed({**GOOD, "ema": 5}).algorithms["ema"] == Ema(5)
    with pytest.raises(UserError) as error:
        parsed({**GOOD, "ema": 5, "readouts": "shared"})
    expected = "params.yaml: runs.mine.ema: expected readouts other than shared beside it, found 'shared'"
    assert str(error.value) == expected


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"residal": "x"}, "runs.mine.residal: unknown key; did you mean residual?"),
        ({"residual": "highway"}, f"runs.mine.residual: expected one of {', '.join(design_names())}, found 'highway'"),
        ({"residual": "protocol"}, "runs.mine.residual: expected one of "),
        ({"readouts": "probe"}, "runs.mine.readouts: expected one of none, probes, separate"),
        ({"seed": -1}, "runs.mine.seed: expected a whole number from 0"),
        ({"seed": True}, "runs.mine.seed: expected a whole number, found True"),
        ({"seed": 0.5}, "runs.mine.seed: expected a whole number, found 0.5"),
        ({"layers": 0}, "runs.mine.layers: expected from 1 to 4096, found 0"),
        ({"layers": 10**26}, "runs.mine.layers: expected from 1 to 4096"),
        ({"steps": 0}, "runs.mine.steps: expected from 1 to 1000000000 updates, or a share of the recipe's below 1"),
        ({"steps": 1.0}, "runs.mine.steps: expected from 1 to 1000000000 updates"),
        ({"steps": -0.5}, "runs.mine.steps: expected from 1 to 1000000000 updates"),
        ({"steps": "half"}, "runs.mine.steps: expected a whole number or a number, found 'half'"),
        ({"ema": {"half_life": 0}}, "runs.mine.ema.half_life: expected from 1 to 1000000000 updates, found 0"),
        ({"ema": {"halflife": 3}}, "runs.mine.ema.halflife: unknown key; did you mean half_life?"),
        ({"ema": True}, "runs.mine.ema.half_life: expected a whole number, found True"),
        ({"ema": None}, "runs.mine.ema: expected a mapping of keys, found None"),
        ({"multi_token": 2}, "runs.mine.multi_token: unknown key"),
    ],
)
def test_a_bad_run_is_named(change, message):
    with pytest.raises(UserError) as error:
        parsed({**GOOD, **change})
    assert message in str(error.value) and "\n" not in str(error.value)


def test_a_missing_key_and_a_missing_run_are_named():
    with pytest.raises(UserError, match="runs.mine.seed: missing"):
        parsed({"residual": "sandwich", "readouts": "none"})
    with pytest.raises(UserError, match="runs.other: no such run; runs: mine"):
        parse_run({"runs": {"mine": GOOD}}, "other")
    with pytest.raises(UserError, match="runs.mine: expected a mapping of keys, found 'probes'"):
        parsed("probes")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"steps": 0}, "train.steps: expected from 1 to 1000000000 updates"),
        ({"batch": 0}, "train.batch: expected from 1 to 1048576 sequences"),
        ({"compute_dtype": "float16"}, "train.compute_dtype: expected float32 or bfloat16"),
    ],
)
def test_a_bad_train_section_is_named(change, message):
    with pytest.raises(UserError, match=message):
        parse(TrainSettings, {"steps": 1, "batch": 1, "compute_dtype": "float32", **change}, "train")
