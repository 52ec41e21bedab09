"""The `ladder` section of params.yaml: the same runs at several sizes around the one in use."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from perlayer.errors import UserError
from perlayer.model.config import ModelSettings
from perlayer.optim.settings import OptimizerSettings
from perlayer.params import check_keys, check_names, ladder_name, mapping_at, parse, recipe
from perlayer.training.recipe import Recipe, parse_recipe
from perlayer.training.settings import Run, TrainSettings, check_size, check_warmup, parse_definition

SECTIONS = {"model": ModelSettings, "optimizer": OptimizerSettings, "train": TrainSettings}


def ladder_run(params: Mapping[str, Any], rung: str, name: str) -> Run:
    """The run `name` of the ladder at `rung`; see `ladder_name`.

    Raises:
        UserError: no such run, an unknown key, or an impossible value.
    """
    where = f"ladder.runs.{name}"
    runs = mapping_at(params, "ladder.runs")
    if name not in runs:
        raise UserError(f"params.yaml: {where}: no such run; runs: {', '.join(runs)}")
    run = parse_definition(name, runs[name], where)
    return dataclasses.replace(run, name=ladder_name(rung, name))


def parse_rung(params: Mapping[str, Any], name: str) -> Recipe:
    """The recipe of the size in use, but for what `ladder.rungs.NAME` says otherwise; its size is called SIZE_NAME.

    Raises:
        UserError: no such rung, an unknown key, or an impossible value.
    """
    where = f"ladder.rungs.{name}"
    rungs = mapping_at(params, "ladder.rungs")
    if name not in rungs:
        raise UserError(f"params.yaml: {where}: no such rung; rungs: {', '.join(rungs)}")
    changes = rungs[name]
    if not isinstance(changes, Mapping):
        raise UserError(f"params.yaml: {where}: expected a mapping of sections, found {changes!r}")
    check_keys(changes, SECTIONS, (), where)
    parsed = {}
    for section, kind in SECTIONS.items():
        change = changes.get(section, {})
        if not isinstance(change, Mapping):
            raise UserError(f"params.yaml: {where}.{section}: expected a mapping of keys, found {change!r}")
        usual, _ = recipe(params, section)
        parsed[section] = parse(kind, dict([*usual.items(), *change.items()]), f"{where}.{section}")
    check_warmup(where, parsed["optimizer"], parsed["train"])
    return dataclasses.replace(parse_recipe(params), size=ladder_name(params["size"], name), **parsed)


def check_ladder(params: Mapping[str, Any]) -> list[Run]:
    """Check the whole section, and return its runs, each once, under the names that they have there.

    Raises:
        UserError: the first key or value that is wrong.
    """
    ladder = mapping_at(params, "ladder")
    check_keys(ladder, ("runs", "rungs"), ("runs", "rungs"), "ladder")
    for group in ("ladder.runs", "ladder.rungs"):
        check_names(mapping_at(params, group), group)
    runs = [parse_definition(name, mapping, f"ladder.runs.{name}") for name, mapping in ladder["runs"].items()]
    names = list(params["runs"])
    for rung in ladder["rungs"]:
        size = parse_rung(params, rung)
        if rung in params["recipes"]:
            raise UserError(f"params.yaml: ladder.rungs: expected names that no size has, found {rung!r}")
        for run in runs:
            check_size(run, size.model.layers, size.optimizer, size.train, f"ladder.runs.{run.name}")
            name = ladder_name(rung, run.name)
            if name in names:
                raise UserError(f"params.yaml: ladder: expected a name of its own for each run, found {name} twice")
            names.append(name)
    return runs
