"""Which files of code each run uses, so that a run is trained again when those change and not when others do.

DVC's dependencies cannot be conditional on a run's optional keys. The plan makes them so: a run depends on its plan,
which holds the hashes of its residual design and its algorithms, and a plan that comes out the same changes nothing.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from perlayer.closure import import_closure
from perlayer.data.settings import DataSettings
from perlayer.model.config import ModelSettings
from perlayer.optim.settings import OptimizerSettings
from perlayer.params import check_keys, parse, recipe
from perlayer.training.settings import ALGORITHMS, Run, TrainSettings, check_warmup, parse_run

SECTIONS = ("size", "recipes", "runs")


def check_params(params: Mapping[str, Any]) -> list[Run]:
    """Check every recipe and every run, and return the runs.

    Raises:
        UserError: the first key or value that is wrong.
    """
    check_keys(params, SECTIONS, SECTIONS, "params")
    sections = {"data": DataSettings, "model": ModelSettings, "optimizer": OptimizerSettings, "train": TrainSettings}
    for size in params["recipes"]:
        parsed = {section: parse(cls, *recipe(params, section, size)) for section, cls in sections.items()}
        check_warmup(size, parsed["optimizer"], parsed["train"])
    return [parse_run(params, name) for name in params["runs"]]


def run_files(run: Run, package: Path) -> list[Path]:
    """The files of designs and algorithms that `run` uses, directly or through imports.

    Args:
        package: the folder of the package `perlayer`.
    """
    roots = [package / "model" / "residual" / f"{run.residual}.py"]
    for name in run.algorithms:
        roots += sorted((package / "algorithms" / name).glob("*.py"))
    optional = (package / "model" / "residual", package / "algorithms")
    return sorted(path for path in import_closure(roots, package) if any(folder in path.parents for folder in optional))


def write_plans(runs: list[Run], destination: Path) -> None:
    """Write `destination/RUN.json` for each run: the SHA-256 of each of its own files, by path in the package."""
    destination.mkdir(parents=True, exist_ok=True)
    package = ALGORITHMS.parent
    for run in runs:
        hashes = {
            path.relative_to(package).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
            for path in run_files(run, package)
        }
        (destination / f"{run.name}.json").write_text(json.dumps({"files": hashes}, indent=1) + "\n")
