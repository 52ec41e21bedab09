"""The README says what is so: commands, keys, statements, sizes, variables and paths, held against the project."""

import re
from dataclasses import fields
from pathlib import Path

import pytest

from perlayer.environment import PREFIX, Machine
from perlayer.model.published_settings import parse_published
from perlayer.params import load
from perlayer.questions import connect
from perlayer.training.settings import parse_run
from perlayer.warehouse.collect import collect

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def overrides():
    return re.findall(r"-S ['\"]?([^\s'`]+(?: [^'`]*?\})?)['\"]?", README)


def test_every_override_names_a_key_that_exists_or_adds_one_that_may():
    params = load(ROOT / "params.yaml")
    assert len(overrides()) >= 6
    for override in overrides():
        key, value = override.split("=", 1)
        path = key.lstrip("+").split(".")
        if path[0] == "runs":
            run = dict(params["runs"].get(path[1], {}))
            if len(path) == 2:
                run = dict(pair.split(": ") for pair in value.strip("{}").split(", "))
                run["seed"] = int(run["seed"])
            else:
                assert (path[2] in run) != key.startswith("++"), override
                run[path[2]] = int(value) if value.isdigit() else value
            if "NAME" in run.values():
                continue
            parse_run({"runs": {path[1]: run}}, path[1])
        elif path[0] == "published" and key.startswith("+"):
            pairs = dict(pair.split(": ") for pair in value.strip("{}").split(", "))
            entry = {name: int(text) if text.isdigit() else text for name, text in pairs.items()}
            parse_published({"published": {path[1]: entry}, "runs": params["runs"]})
        else:
            part = params
            for name in path:
                assert name in part, override
                part = part[name]


def test_every_target_is_a_stage_and_a_run():
    params = load(ROOT / "params.yaml")
    added = {"mine"}
    targets = re.findall(r"train@(\w+)", README)
    assert targets
    assert set(targets) - {"RUN"} <= set(params["runs"]) | added


def test_every_statement_runs(tmp_path):
    collect(load(ROOT / "params.yaml"), tmp_path, tmp_path / "warehouse")
    statements = re.findall(r'perlayer query "([^"]+)"', README)
    assert statements
    with connect(tmp_path / "warehouse") as connection:
        for statement in statements:
            connection.execute(statement)


def test_every_variable_is_listed_and_no_other():
    rows = re.findall(r"^\| `(PERLAYER_\w+)` \|", README, flags=re.MULTILINE)
    assert rows == [PREFIX + field.name.upper() for field in fields(Machine)]
    assert set(re.findall(r"PERLAYER_\w+", README)) <= set(rows)
    threads = re.search(r"^\| `PERLAYER_THREADS` \|.*\| (\d+) \|$", README, flags=re.MULTILINE)
    assert int(threads[1]) == Machine().threads


def test_every_size_is_listed_with_its_shape():
    params = load(ROOT / "params.yaml")
    rows = re.findall(r"^\| `(\w+)` \| (\d+) x (\d+) \| ([\d.]+) (\w+) \|", README, flags=re.MULTILINE)
    units = {"thousand": 1e3, "million": 1e6, "billion": 1e9}
    assert [row[0] for row in rows] == list(params["recipes"])
    for size, layers, width, tokens, unit in rows:
        recipe = params["recipes"][size]
        assert (int(layers), int(width)) == (recipe["model"]["layers"], recipe["model"]["hidden_size"])
        drawn = recipe["train"]["steps"] * recipe["train"]["batch"] * recipe["data"]["sequence_length"]
        assert float(tokens) * units[unit] == pytest.approx(drawn, rel=0.02), size


def test_every_path_exists():
    kept = ("src/", "tests/", "stages/", "report/", "params.yaml", "constraints.txt", "dvc.yaml")
    paths = re.findall(r"\]\(([^)#:]+)\)|`((?:src|tests|stages)/[\w./]+)`", README)
    assert paths
    for link, code in paths:
        path = link or code
        assert path.startswith(kept), path
        assert (ROOT / path).exists(), path


def test_every_make_target_exists():
    makefile = (ROOT / "Makefile").read_text()
    for target in set(re.findall(r"^make (\w+)|`make (\w+)`", README, flags=re.MULTILINE)):
        assert re.search(rf"^{target[0] or target[1]}:", makefile, flags=re.MULTILINE), target
