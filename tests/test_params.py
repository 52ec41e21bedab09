from dataclasses import dataclass

import pytest

from perlayer.environment import Machine
from perlayer.errors import UserError
from perlayer.params import load, parse

GOOD = "size: a\nrecipes:\n  a: {}\nruns:\n  b: {}\n"


def loaded(tmp_path, text):
    path = tmp_path / "params.yaml"
    path.write_text(text)
    return load(path)


def test_a_good_outline_loads(tmp_path):
    assert loaded(tmp_path, GOOD) == {"size": "a", "recipes": {"a": {}}, "runs": {"b": {}}}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("size: [", "not valid YAML"),
        ("- a", "expected the keys size, recipes and runs"),
        (GOOD.replace("size: a", "sise: a"), "size is missing"),
        (GOOD.replace("size: a", "size: c"), "size: expected one of a, found 'c'"),
        (GOOD.replace("  b:", "  a/b:"), "runs: expected a name of at most 50 lower-case letters, digits and _"),
        (GOOD.replace("  b:", "  1b:"), "starting with a letter, found '1b'"),
        (GOOD.replace("  b:", "  B:"), "found 'B'"),
        (GOOD.replace("  b: {}", "  {}"), "runs: expected a mapping with at least one name"),
        (GOOD.replace("  b:", f"  {'b' * 51}:"), "runs: expected a name of at most 50 lower-case letters"),
        (GOOD.replace("  b: {}", "  b: 3"), "params.yaml: runs.b: expected a mapping of keys, found 3"),
        (GOOD.replace("  a: {}", "  a: []"), "params.yaml: recipes.a: expected a mapping of keys, found []"),
        (GOOD + "growth: [x]\n", "params.yaml: growth: expected a mapping of keys, found ['x']"),
        (GOOD + "size: a\n", "params.yaml: line 6: a key stands twice"),
        (GOOD.replace("size: a", "size: [a]"), "size: expected one of a, found ['a']"),
    ],
)
def test_a_bad_outline_is_one_line(tmp_path, text, message):
    with pytest.raises(UserError) as error:
        loaded(tmp_path, text)
    assert message in str(error.value) and "\n" not in str(error.value)


def test_a_name_of_the_greatest_length_fits_a_file_system(tmp_path):
    name = "b" * 50
    params = loaded(tmp_path, GOOD.replace("  b:", f"  {name}:"))
    assert list(params["runs"]) == [name]
    # the longest that is made of names: the checkpoints of a run, named by what they are made from
    (tmp_path / f".{name}-{'0' * 16}.partial").mkdir()


def test_what_is_not_there_is_named_where_it_would_stand(tmp_path):
    params = loaded(tmp_path, GOOD.replace("  b: {}", "  b: {growth: {stages: [{}]}}"))
    for ask, where in (
        (lambda: params["runs"]["nosuch"]["seed"], "runs.nosuch"),
        (lambda: params["runs"]["b"]["seed"], "runs.b.seed"),
        (lambda: params["growth"], "growth"),
        (lambda: params["runs"]["b"]["growth"]["protocol"], "runs.b.growth.protocol"),
    ):
        with pytest.raises(UserError, match=f"^params.yaml: {where}: missing$"):
            ask()


def test_a_missing_file_says_where_to_run(tmp_path):
    with pytest.raises(UserError, match="no such file; run the pipeline from the root"):
        load(tmp_path / "params.yaml")


def test_numbers_read_the_same_by_yaml_1_1_and_1_2():
    # DVC reads YAML 1.2, other tools 1.1, where 1e-3 is a text
    import yaml

    with open("params.yaml", encoding="utf-8") as file:
        assert yaml.safe_load(file) == load()


def test_the_machine_comes_from_the_environment():
    machine = Machine.from_environment({"PERLAYER_THREADS": "3", "PERLAYER_DEVICE": "cpu", "HOME": "/"})
    assert machine == Machine(device="cpu", threads=3)
    assert Machine.from_environment({}) == Machine()


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("PERLAYER_THREAD", "1", "PERLAYER_THREAD: unknown environment variable; known ones: PERLAYER_DEVICE"),
        ("PERLAYER_THREADS", "0", "PERLAYER_THREADS: expected a whole number from 1 to 1000000, found '0'"),
        ("PERLAYER_WORKERS", "-1", "PERLAYER_WORKERS: expected a whole number from 0 to 1000000"),
        ("PERLAYER_PROCESSES", "²", "PERLAYER_PROCESSES: expected a whole number from 1"),
        ("PERLAYER_THREADS", "9" * 30, "PERLAYER_THREADS: expected a whole number from 1"),
        ("PERLAYER_DEVICE", "tpu", "PERLAYER_DEVICE: expected auto, cpu or gpu, found 'tpu'"),
    ],
)
def test_a_bad_variable_is_named(name, value, message):
    with pytest.raises(UserError) as error:
        Machine.from_environment({name: value})
    assert message in str(error.value)


@dataclass(frozen=True)
class Section:
    rate: float


@pytest.mark.parametrize("value", [10**400, -(10**400), float("inf"), float("nan"), True, "1"])
def test_what_no_float_can_hold_is_no_number(value):
    with pytest.raises(UserError) as error:
        parse(Section, {"rate": value}, "somewhere")
    assert str(error.value).startswith("params.yaml: somewhere.rate: expected a number, found ")
    assert len(str(error.value)) < 250 and "\n" not in str(error.value)
    assert parse(Section, {"rate": 10**300}, "somewhere").rate == 1e300
