"""The check of every choice, and which files of code each run uses.

A run is trained again when those change and not when others do.

DVC's dependencies cannot be conditional on a run's optional keys. The plan makes them so: a run depends on its plan,
which holds the hashes of its residual design and its algorithms, and a plan that comes out the same changes nothing.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from perlayer.anatomy.settings import AnatomyRuns, AnatomySettings
from perlayer.closure import import_closure
from perlayer.data.settings import DataSettings
from perlayer.depth.settings import DepthRuns, DepthSettings, MapSettings, RoutedRuns, parse_pairs
from perlayer.errors import UserError, at
from perlayer.heads.settings import RetrainedRuns, RetrainSettings
from perlayer.lens.settings import LensSettings, TunedLensSettings, TunedRuns
from perlayer.model.config import ModelSettings
from perlayer.model.published_settings import parse_published, read_published_config
from perlayer.optim.settings import OptimizerSettings
from perlayer.params import check_keys, parse, recipe
from perlayer.training.ladder import check_ladder
from perlayer.training.recipe import parse_recipe
from perlayer.training.settings import ALGORITHMS, Run, TrainSettings, check_size, check_warmup, parse_run

SECTIONS = (
    "size",
    "recipes",
    "runs",
    "ladder",
    "retrain_heads",
    "lens",
    "routing",
    "depth",
    "depth_maps",
    "anatomy",
    "published",
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
    runs = [parse_run(params, name) for name in params["runs"]]
    usual = parse_recipe(params)
    for run in runs:
        check_size(run, usual.model.layers, usual.optimizer, usual.train, f"runs.{run.name}")
    on_ladder = check_ladder(params)
    retrained = parse(RetrainedRuns, params["retrain_heads"], "retrain_heads").runs
    _check_named(retrained, runs, "retrain_heads.runs")
    for run in runs:
        if run.name in retrained and run.readouts not in ("probes", "separate"):
            raise UserError(
                f"params.yaml: retrain_heads.runs: expected runs with probes or separate heads, and {run.name} has "
                f"{run.readouts}"
            )
    _check_named(parse(TunedRuns, params["lens"], "lens").tuned, runs, "lens.tuned")
    _check_named(parse(RoutedRuns, params["routing"], "routing").runs, runs, "routing.runs")
    _check_named(parse(DepthRuns, params["depth"], "depth").runs, runs, "depth.runs")
    anatomy = parse(AnatomyRuns, params["anatomy"], "anatomy")
    _check_named(anatomy.runs, runs, "anatomy.runs")
    pairs, published = parse_pairs(params), parse_published(params)
    for name in anatomy.published_recovery:
        if name not in published:
            raise UserError(
                "params.yaml: anatomy.published_recovery: expected names of published models "
                f"({', '.join(published) or 'there are none'}), found {name!r}"
            )
    for name in pairs:
        if name in published:
            raise UserError(f"params.yaml: depth_maps.{name}: expected another name than that of a published model")
    _check_designs(params, {"runs": runs, "ladder.runs": on_ladder})
    _check_routed(params["routing"]["runs"], runs)
    for settings in published.values():
        read_published_config(settings.path, settings.sequence_length)
    return runs


def _check_designs(params: Mapping[str, Any], sections: Mapping[str, list[Run]]) -> None:
    """Raise `UserError` where a design does not work, or a run asks what it or the text has not.

    Args:
        sections: runs, by the section that they stand in.
    """
    from perlayer.model.trial import trial_decoder  # takes seconds: it imports torch

    optimizer = parse(OptimizerSettings, *recipe(params, "optimizer"))
    length = recipe(params, "data")[0]["sequence_length"]
    tried: dict[tuple[str, str | None], Any] = {}
    for where, run in ((where, run) for where, runs in sections.items() for run in runs):
        kind = run.residual, run.value_residual
        with at(f"{where}.{run.name}"):
            decoder = tried[kind] = tried.get(kind) or trial_decoder(*kind, optimizer)
            for settings in run.algorithms.values():
                getattr(settings, "check_decoder", lambda decoder: None)(decoder)
                getattr(settings, "check_length", lambda length: None)(length)


def _check_routed(routed: list[str], runs: list[Run]) -> None:
    """Raise `UserError` where a run is to show how it routes, and its residual design does not."""
    from perlayer.model.residual.protocol import ResidualDesign, design_class

    for run in runs:
        if run.name in routed and design_class(run.residual).routing is ResidualDesign.routing:
            raise UserError(
                f"params.yaml: routing.runs: expected runs whose residual design routes, and {run.name} has "
                f"{run.residual}"
            )


def _check_named(names: list[str], runs: list[Run], where: str) -> None:
    known = [run.name for run in runs]
    for name in names:
        if name not in known:
            raise UserError(f"params.yaml: {where}: expected names of runs ({', '.join(known)}), found {name!r}")


def run_files(run: Run, package: Path) -> list[Path]:
    """The files of designs and algorithms that `run` uses, directly or through imports.

    Of the folder of an algorithm those are the files that lie in it, not in folders below, and what `files()` of its
    settings names, if they have such a method.

    Args:
        package: the folder of the package `perlayer`.
    """
    roots = [package / "model" / "residual" / f"{run.residual}.py"]
    for name, settings in run.algorithms.items():
        folder = package / "algorithms" / name
        roots += sorted(folder.glob("*.py"))
        roots += [folder / file for file in getattr(settings, "files", list)()]
    optional = (package / "model" / "residual", package / "algorithms")
    return sorted(path for path in import_closure(roots, package) if any(folder in path.parents for folder in optional))


def write_plans(runs: Iterable[Run], destination: Path) -> None:
    """Write `destination/RUN.json` for each run: the SHA-256 of each of its own files, by path in the package."""
    destination.mkdir(parents=True, exist_ok=True)
    package = ALGORITHMS.parent
    for run in runs:
        hashes = {
            path.relative_to(package).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
            for path in run_files(run, package)
        }
        (destination / f"{run.name}.json").write_text(json.dumps({"files": hashes}, indent=1) + "\n")
