"""The README says what is so: commands, keys, statements, sizes, variables and paths, held against the project."""

import re
from dataclasses import fields
from pathlib import Path

import pytest

from perlayer.environment import PREFIX, Machine
from perlayer.model.config import design_names
from perlayer.model.published_settings import parse_published
from perlayer.params import load
from perlayer.questions import connect
from perlayer.runs import parse_run
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
    kept = ("docs/", "src/", "tests/", "stages/", "report/", "params.yaml", "constraints.txt", "dvc.yaml")
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


def test_the_residual_design_it_shows_works_as_the_file_alone(tmp_path, monkeypatch):
    """At the start ReZero passes the embedding on; its gains then learn."""
    import torch

    from perlayer.model import config, residual
    from perlayer.model.decoder import Decoder
    from perlayer.optim.groups import parameter_groups
    from perlayer.optim.hyperball import Hyperball
    from perlayer.optim.settings import OptimizerSettings

    (shown,) = [
        block for block in re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL) if "class Design" in block
    ]
    (tmp_path / "rezero.py").write_text(shown)
    monkeypatch.setattr(residual, "__path__", [*residual.__path__, str(tmp_path)])
    monkeypatch.setattr(config, "design_names", lambda: ["rezero"])
    monkeypatch.setattr("perlayer.model.residual.protocol.design_names", lambda: ["rezero"])
    decoder = Decoder(config.ModelConfig("rezero", 2, 16, 32, 2, 2, 8, 10000.0, 1e-5, 20, 8, 1, True))
    decoder.initialize(0)
    tokens = torch.randint(2, 20, (4, 9), generator=torch.Generator().manual_seed(0))
    first, *others = decoder(tokens[:, :-1])
    assert all(torch.equal(first, other) for other in others)
    settings = OptimizerSettings(0.02, 0.008, 0.95, 0.9, 0.98, 1e-20, 1e-5, 5, 1.0, "linear", 0.8, 0)
    optimizer = Hyperball.from_settings(parameter_groups(decoder, settings), settings)
    losses = []
    for _ in range(20):
        optimizer.zero_grad()
        logits = decoder.logits(decoder(tokens[:, :-1])[-1])
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0] - 0.5
    assert all(block.mlp_gain.weight.item() != 0 for block in decoder.model.layers)


def test_every_residual_design_is_explained():
    for name in design_names():
        assert f"`{name}`" in README
