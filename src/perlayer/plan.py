"""The check of every choice, and which files of code each stage and each run uses.

A stage runs again when those change and not when others do. DVC's dependencies cannot be conditional on a run's
optional keys, and with every imported file of every stage among them DVC itself takes longer than many a stage. So a
stage depends on two files that the plan writes: the hashes of what its script uses, and those of the residual design
and the algorithms of its run. A file that comes out the same changes nothing, and hashes are of code, not of comments.
Beside its code, that of a run holds its rung, which DVC cannot find by the name that the run gives.
"""

from __future__ import annotations

import compileall
import json
import py_compile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from perlayer.anatomy.settings import AnatomyRuns, AnatomySettings
from perlayer.closure import ImportClosure
from perlayer.code_hash import code_hash
from perlayer.comparison import Rule
from perlayer.data.settings import DataSettings
from perlayer.depth.prompt_sets import chosen_prompts
from perlayer.depth.settings import (
    DepthRuns,
    DepthSettings,
    MapSettings,
    RoutedRuns,
    check_length,
    parse_pairs,
    parse_prompts,
    published_settings,
)
from perlayer.errors import UserError, at
from perlayer.heads.settings import RetrainedRuns, RetrainSettings
from perlayer.lens.settings import LensSettings, TunedLensSettings, TunedRuns
from perlayer.model.config import ModelSettings
from perlayer.model.published_settings import parse_published, read_published_config
from perlayer.optim.settings import OptimizerSettings
from perlayer.params import check_keys, mapping_at, parse, recipe
from perlayer.project import PACKAGE
from perlayer.runs import Run, TrainSettings, check_rungs, check_size, check_warmup, parse_recipe, parse_run
from perlayer.store import replace_text

SECTIONS = (
    "size",
    "recipes",
    "runs",
    "rungs",
    "retrain_heads",
    "lens",
    "routing",
    "depth",
    "depth_maps",
    "anatomy",
    "published",
    "report",
)
RECIPE_SECTIONS = {
    "data": DataSettings,
    "model": ModelSettings,
    "optimizer": OptimizerSettings,
    "train": TrainSettings,
    "retrain_heads": RetrainSettings,
    "lens": LensSettings,
    "tuned_lens": TunedLensSettings,
    "depth": DepthSettings,
    "depth_maps": MapSettings,
    "anatomy": AnatomySettings,
}


def check_params(params: Mapping[str, Any]) -> list[Run]:
    """Check every recipe, every run, what is done with finished runs and published models, and return the runs.

    Raises:
        UserError: the first key or value that is wrong.
    """
    check_keys(params, SECTIONS, SECTIONS, "params")
    for size in params["recipes"]:
        parsed = {section: parse(cls, *recipe(params, section, size)) for section, cls in RECIPE_SECTIONS.items()}
        check_keys(params["recipes"][size], RECIPE_SECTIONS, RECIPE_SECTIONS, f"recipes.{size}")
        check_warmup(f"recipes.{size}", parsed["optimizer"], parsed["train"])
    parse(Rule, params["report"], "report")
    check_rungs(params)
    runs = [parse_run(params, name) for name in params["runs"]]
    for run in runs:
        usual = parse_recipe(params, run.rung)
        check_size(run, usual.model.layers, usual.optimizer, usual.train, f"runs.{run.name}")
    retrained = parse(RetrainedRuns, params["retrain_heads"], "retrain_heads").runs
    dissected = parse(DepthRuns, params["depth"], "depth").runs
    anatomy = parse(AnatomyRuns, params["anatomy"], "anatomy")
    named = {
        "retrain_heads.runs": retrained,
        "lens.tuned": parse(TunedRuns, params["lens"], "lens").tuned,
        "routing.runs": parse(RoutedRuns, params["routing"], "routing").runs,
        "depth.runs": dissected,
        "anatomy.runs": anatomy.runs,
    }
    _check_named({**named, **_runs_of_pairs(params)}, runs)
    for run in runs:
        if run.name in retrained and run.readouts not in ("probes", "separate"):
            raise UserError(
                f"params.yaml: retrain_heads.runs: expected runs with probes or separate heads, and {run.name} has "
                f"{run.readouts}"
            )
    if dissected:
        data, where = recipe(params, "data")
        with at(where):
            check_length(data["sequence_length"])
    for prompts in parse_prompts(params).values():
        chosen_prompts(prompts)
    pairs, published = parse_pairs(params), parse_published(params)
    _check_apart(pairs, published, "depth_maps", "a published model")
    for name in anatomy.published_recovery:
        if name not in published:
            raise UserError(
                "params.yaml: anatomy.published_recovery: expected names of published models "
                f"({', '.join(published) or 'there are none'}), found {name!r}"
            )
    _check_designs(params, runs)
    _check_routed(params["routing"]["runs"], runs)
    for name, settings in published.items():
        published_settings(name, settings.depth)
        with at(f"published.{name}"):
            check_length(settings.sequence_length)
        read_published_config(settings.path, settings.sequence_length)
    return runs


def _check_designs(params: Mapping[str, Any], runs: list[Run]) -> None:
    """Raise `UserError` where a design does not work, or a run asks what it or the text has not."""
    from perlayer.model.trial import trial_decoder  # takes seconds: it imports torch

    optimizer = parse(OptimizerSettings, *recipe(params, "optimizer"))
    length = recipe(params, "data")[0]["sequence_length"]
    tried: dict[tuple[str, str | None], Any] = {}
    for run in runs:
        kind = run.residual, run.value_residual
        with at(f"runs.{run.name}"):
            decoder = tried[kind] = tried.get(kind) or trial_decoder(*kind, optimizer)
            for settings in run.algorithms.values():
                settings.check_decoder(decoder)
                settings.check_length(length)


def _check_routed(routed: list[str], runs: list[Run]) -> None:
    """Raise `UserError` where a run is to show how it routes, and its residual design does not."""
    from perlayer.model.residual.protocol import ResidualDesign, design_class

    for run in runs:
        if run.name in routed and design_class(run.residual).routing is ResidualDesign.routing:
            raise UserError(
                f"params.yaml: routing.runs: expected runs whose residual design routes, and {run.name} has "
                f"{run.residual}"
            )


def _check_named(named: Mapping[str, Iterable[str]], runs: list[Run]) -> None:
    """Raise `UserError` that says of each name that is no run where it stands: who deletes a run sees all at once."""
    known = [run.name for run in runs]
    places: dict[str, list[str]] = {}
    for where, names in named.items():
        for name in names:
            if name not in known:
                places.setdefault(name, []).append(where)
    found = [f"{', '.join(where)}: expected names of runs, found {name!r}" for name, where in places.items()]
    if found:
        raise UserError(f"params.yaml: {'; '.join(found)}; runs: {', '.join(known)}")


def _runs_of_pairs(params: Mapping[str, Any]) -> dict[str, list[str]]:
    """The runs that pairs name, by where they stand; what is no pair is said when they are parsed."""
    found = {}
    for name, pair in mapping_at(params, "depth_maps").items():
        if isinstance(pair, Mapping):
            found |= {
                f"depth_maps.{name}.{key}": [pair[key]] for key in ("from", "to") if isinstance(pair.get(key), str)
            }
    return found


def _check_apart(names: Iterable[str], others: Iterable[str], where: str, what: str) -> None:
    for name in names:
        if name in others:
            raise UserError(f"params.yaml: {where}.{name}: expected another name than that of {what}")


def run_files(run: Run, closure: ImportClosure) -> list[Path]:
    """The files of designs and algorithms that `run` uses, directly or through imports.

    Of the folder of an algorithm those are the files that lie in it, not in folders below, and what `files()` of its
    settings names.

    Args:
        closure: of the package `perlayer`.
    """
    package = closure.package
    roots = [package / "model" / "residual" / f"{run.residual}.py"]
    for name, settings in run.algorithms.items():
        folder = package / "algorithms" / name
        roots += sorted(folder.glob("*.py"))
        roots += [folder / file for file in settings.files()]
    optional = (package / "model" / "residual", package / "algorithms")
    return sorted(path for path in closure.of(roots) if any(folder in path.parents for folder in optional))


def stage_files(script: Path, closure: ImportClosure) -> list[Path]:
    """The files that a stage uses whatever its run: its script, how every stage starts, and all that these use."""
    scripts = {script, script.with_name("_run.py")}
    files = closure.of(scripts) | scripts
    if closure.package / "catalogue.py" in files:  # which asks the settings of every algorithm, found by their folders
        algorithms = closure.package / "algorithms"
        settings = [*algorithms.glob("*/settings.py"), *algorithms.glob("per_layer_loss/*/*.py")]
        files |= ImportClosure(closure.package, inside_functions=False).of(settings)  # functions import what trains
    return sorted(files)


def write_plans(runs: Iterable[Run], rungs: Mapping[str, Any], closure: ImportClosure, destination: Path) -> None:
    """Write `destination/RUN.json` for each run: its rung, and the hash of each of its own files by its path."""
    for run in runs:
        rung = {} if run.rung is None else {"rung": rungs[run.rung]}
        _write(destination / f"{run.name}.json", _hashes(run_files(run, closure), closure.package) | rung)


def write_code(stages: Path, closure: ImportClosure, destination: Path) -> None:
    """Write `destination/STAGE.json` for each script in `stages`: the hash of each file that it uses."""
    for script in sorted(stages.glob("[!_]*.py")):
        _write(destination / f"{script.stem}.json", _hashes(stage_files(script, closure), closure.package))


def compile_code(package: Path) -> None:
    """Compile a package, so that what Python keeps of it holds for the contents of a source, not its date and size.

    An edit within a second that leaves the size, or one by a tool that keeps dates, would else run the code before it.
    """
    by_contents = py_compile.PycInvalidationMode.CHECKED_HASH
    compileall.compile_dir(package, quiet=2, force=True, invalidation_mode=by_contents)


def _hashes(files: Iterable[Path], package: Path) -> dict[str, Any]:
    hashes = {_in_project(path, package): code_hash(path) for path in files}
    return {"files": dict(sorted(hashes.items()))}


def _write(destination: Path, said: Mapping[str, Any]) -> None:
    destination.parent.mkdir(parents=True, exist_ok=True)
    replace_text(destination, json.dumps(said, indent=1) + "\n")


def _in_project(path: Path, package: Path) -> str:
    """The path of a file of the package or of a stage script from the project, wherever that lies and by what links."""
    inside = PACKAGE / path.relative_to(package) if package in path.parents else Path("stages", path.name)
    return inside.as_posix()
