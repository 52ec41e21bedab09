"""The `growth` section of params.yaml: runs whose layers train in stages, and uniform ones beside them."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from perlayer.errors import UserError
from perlayer.params import check_keys, check_names, mapping_at, recipe
from perlayer.store import verified
from perlayer.training.settings import Run, parse_definition

BY_IMPORTANCE = "by_importance"


def growth_run(params: Mapping[str, Any], name: str) -> Run:
    """The run `growth.runs.NAME` as it stands there, with its number of layers where it goes by their importance.

    Raises:
        UserError: no such run, an unknown key, or an impossible value.
    """
    runs = mapping_at(params, "growth.runs")
    if name not in runs:
        raise UserError(f"params.yaml: growth.runs.{name}: no such run; runs: {', '.join(runs)}")
    run = parse_definition(name, runs[name], f"growth.runs.{name}")
    if goes_by_importance(run) and run.layers is None:
        return dataclasses.replace(run, layers=recipe(params, "model")[0]["layers"])
    return run


def by_importance(run: Run, importance: Path) -> Run:
    """The run with its stages written out, where it goes by the importance of layers; else as it is.

    Args:
        run: as `growth_run`.
        importance: the folder that the stage importance has left: `importance`, a number a layer, and `excluded`,
            layers.

    Raises:
        UserError: it is missing or damaged, or tells of more or fewer layers than the run has.
    """
    if not goes_by_importance(run):
        return run
    from perlayer.algorithms.growth.stages import by_importance as written_out

    found = json.loads(verified(importance / "importance.json").read_text(encoding="utf-8"))
    layers = len(found["importance"])
    if layers != run.layers:
        raise UserError(
            f"{importance}: expected the importance of {run.layers} layers, as {run.name} has, found that of {layers}; "
            f"`dvc repro importance@{run.name}` makes it anew"
        )
    settings = written_out(run.algorithms["growth"], found["importance"], found["excluded"])
    return dataclasses.replace(run, algorithms={**run.algorithms, "growth": settings})


def goes_by_importance(run: Run) -> bool:
    """Whether its stages are made of what a finished run shows."""
    growth = run.algorithms.get("growth")
    return growth is not None and growth.protocol == BY_IMPORTANCE


def check_growth(params: Mapping[str, Any]) -> list[Run]:
    """Check the whole section, and return its runs.

    Raises:
        UserError: the first key or value that is wrong.
    """
    growth = mapping_at(params, "growth")
    check_keys(growth, ("importance", "runs"), ("importance", "runs"), "growth")
    check_names(mapping_at(params, "growth.runs"), "growth.runs")
    for name in growth["runs"]:
        if name in params["runs"]:
            raise UserError(f"params.yaml: growth.runs: expected names that no other run has, found {name!r}")
    anatomy = params["anatomy"]["runs"]
    if not growth["runs"] and growth["importance"] is None:
        return []
    if growth["importance"] not in anatomy:
        raise UserError(
            f"params.yaml: growth.importance: expected one of anatomy.runs ({', '.join(anatomy)}), "
            f"found {growth['importance']!r}"
        )
    runs = [growth_run(params, name) for name in growth["runs"]]
    depth = params["runs"][growth["importance"]].get("layers") or recipe(params, "model")[0]["layers"]
    for run in runs:
        if goes_by_importance(run) and run.layers != depth:
            raise UserError(
                f"params.yaml: growth.runs.{run.name}.layers: expected the {depth} of {growth['importance']}, by whose "
                f"layers it goes, found {run.layers}"
            )
    return runs
