"""Gathers the results of all runs that params.yaml names into the tables of the warehouse."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import duckdb

from perlayer.catalogue import catalogue, parse_runs
from perlayer.comparison import Rule
from perlayer.depth.settings import parse_pairs
from perlayer.errors import UserError
from perlayer.params import parse
from perlayer.provenance import analyses, different_params, different_sources
from perlayer.store import MANIFEST, fresh_folder, read_manifest, replace_text, verified_files
from perlayer.tables import columns_of, read_table, write_table
from perlayer.warehouse import database
from perlayer.warehouse.headline import headline
from perlayer.warehouse.tables import TABLES, LeftOut, PairOfRuns, order

SET_ASIDE = Path(".perlayer/set_aside")
SHOWN = 3  # differences that are told of results that are left out

# What the end of a run says of it: the last layer, which has the head.
RESULTS = """
WITH ends AS (
    SELECT run, max(step) AS steps, max(tokens) AS tokens,
        max(value) FILTER (metric = 'parameters') AS backbone_parameters,
        max_by(value, step) FILTER (metric = 'loss' AND split = 'val' AND readout = 'head') AS val_loss,
        max_by(value, step) FILTER (metric = 'bits_per_byte' AND readout = 'head') AS val_bits_per_byte,
        max_by(value, step) FILTER (metric = 'ema_loss' AND readout = 'head') AS ema_loss
    FROM layer_metrics
    WHERE ahead = 1
    GROUP BY run
)
UPDATE runs SET steps = ends.steps, tokens = ends.tokens, backbone_parameters = ends.backbone_parameters,
    val_loss = ends.val_loss, val_bits_per_byte = ends.val_bits_per_byte, ema_loss = ends.ema_loss,
    final_loss = final_loss.loss
FROM ends LEFT JOIN final_loss ON final_loss.run = ends.run AND final_loss.readout = 'head'
WHERE runs.run = ends.run
"""


class Absent(NamedTuple):
    """What params.yaml names and has no results at the current size, or results of something else."""

    runs: list[str]
    analyses: dict[str, list[str]]  # of each further stage, the runs or published models
    left_out: dict[tuple[str, str], str]  # by stage and name, how its results differ from what is compared


def collect(
    params: Mapping[str, Any], metrics_dir: str | Path, warehouse_dir: str | Path, data: Iterable[str | Path] = ()
) -> Absent:
    """Write the tables of the warehouse and headline.json from what the runs and their analyses have left.

    Results that were made with other params than `params` are left out, as are those made from another text or other
    prompts than there are now, and readings of another training of a run; the table `left_out` says so.

    That is layers.parquet in `metrics_dir`/runs/RUN, and each TABLE.parquet in `metrics_dir`/analyses/STAGE/NAME. The
    tables of the warehouse are sorted, so the same results give the same bytes. What has no results at the current size
    is absent, which is no error.

    Args:
        params: all of params.yaml.
        metrics_dir: where the runs and the analyses have left their results.
        warehouse_dir: where the tables go; headline.json goes beside it.
        data: the folders that results are to be made from; where none is given, results agree with the first.

    Raises:
        UserError: a run or an analysis is not defined as it should be, or its results are damaged.
    """
    metrics_dir, warehouse_dir = Path(metrics_dir), Path(warehouse_dir)
    models, mapped = analysed(params), pairs(params)
    connection = duckdb.connect(config={"threads": 1})
    database.create(connection)
    absent, absent_analyses, left_out = [], {}, {}
    results = [metrics_dir / "analyses" / stage / name for stage, names in models.items() for name in names]
    sources = current_sources(map(Path, data), results)

    def load(folder: Path, pattern: str, stage: str, name: str) -> bool:
        """Insert the tables of results; False where there are none of this size, or they are left out."""
        about = about_of(folder)
        if about.get("params", {}).get("size", params["size"]) != params["size"]:
            return False
        reason = difference(about, params, sources)
        if reason is not None:
            left_out[stage, name] = reason
            return False
        tables = verified_files(folder, pattern) if folder.exists() else []
        for path in tables:
            _load(connection, path, name)
        for made_from, identity in about.get("made_from", {}).items():
            sources.setdefault(made_from, identity)
        return bool(tables)

    present = set()
    for run in parse_runs(params):
        folder = metrics_dir / "runs" / run.name
        if load(folder, "layers.parquet", "train", run.name):
            present.add(run.name)
        sources |= trained_models(folder, run.name in present)
        if run.name not in present and ("train", run.name) not in left_out:
            absent.append(run.name)
    reasons = {name: reason for (stage, name), reason in left_out.items() if stage == "train"}
    database.insert(connection, "runs", catalogue(params, present, reasons, models["routing"]))
    database.insert(connection, "pairs", mapped)
    database.insert(connection, "rule", [parse(Rule, params["report"], "report")])
    database.create_views(connection)
    connection.execute(RESULTS)  # before the analyses bring steps and tokens of their own

    for stage, names in models.items():
        folder = metrics_dir / "analyses" / stage
        missing = [name for name in names if not load(folder / name, "*.parquet", stage, name)]
        missing = [name for name in missing if (stage, name) not in left_out]
        if missing:
            absent_analyses[stage] = missing

    database.insert(connection, "left_out", [LeftOut(*key, reason) for key, reason in left_out.items()])
    with fresh_folder(warehouse_dir) as folder:
        for name, kind in TABLES.items():
            write_table(kind, database.described(connection, name, order(name)), folder / f"{name}.parquet")
    replace_text(warehouse_dir.with_name("headline.json"), json.dumps(headline(connection), indent=2) + "\n")
    return Absent(absent, absent_analyses, left_out)


def set_aside(params: Mapping[str, Any], metrics_dir: str | Path) -> list[Path]:
    """Move results that params.yaml no longer names to .perlayer/set_aside, and return where they lay.

    DVC leaves behind what a run that is no longer named has made, and `collect` depends on whole folders.
    """
    metrics_dir = Path(metrics_dir)
    named = {metrics_dir / "runs": set(params["runs"])}
    models = analysed(params)
    named |= {metrics_dir / "analyses": set(models)}
    named |= {metrics_dir / "analyses" / stage: set(names) for stage, names in models.items()}
    moved = []
    for folder, names in named.items():
        for left_behind in sorted(folder.glob("*")):
            # A folder that is being written, or was when its stage was killed, goes when the stage writes it anew.
            if left_behind.name.removeprefix(".").removesuffix(".partial") not in names:
                destination = SET_ASIDE / left_behind.relative_to(metrics_dir)
                destination.parent.mkdir(parents=True, exist_ok=True)
                shutil.rmtree(destination, ignore_errors=True)
                shutil.move(left_behind, destination)
                moved.append(left_behind)
    return moved


def current_sources(data: Iterable[Path], results: Iterable[Path]) -> dict[str, str]:
    """The identities of folders of data, of what these were made from, and of those results that are there, by name."""
    sources: dict[str, str] = {}
    for folder in data:
        manifest = read_manifest(folder)
        sources |= {**manifest.about.get("made_from", {}), folder.as_posix(): manifest.identity}
    there = [folder for folder in results if (folder / MANIFEST).exists()]
    return sources | {folder.as_posix(): read_manifest(folder).identity for folder in there}


def trained_models(results: Path, present: bool) -> dict[str, str]:
    """The identity of the model that a run has left beside its results; none that fits, where these are left out."""
    beside = about_of(results).get("beside", {})
    return {path: identity if present else "left out" for path, identity in beside.items()}


def about_of(results: Path) -> Mapping[str, Any]:
    """What the manifest of results says of them; nothing where there are none."""
    return read_manifest(results).about if (results / MANIFEST).exists() else {}


def difference(about: Mapping[str, Any], params: Mapping[str, Any], sources: Mapping[str, str]) -> str | None:
    """How results differ from what is compared; None where they do not.

    Args:
        about: what the manifest of the results says of them.
        sources: the identities of data and models that results are to be made from, by folder.
    """
    differences = different_params(about, params)
    others = different_sources(about, sources)
    differences += [f"made from other {', '.join(others)}"] if others else []
    if len(differences) > SHOWN:
        differences[SHOWN:] = [f"{len(differences) - SHOWN} more"]
    return "; ".join(differences) or None


def analysed(params: Mapping[str, Any]) -> dict[str, list[str]]:
    """The models that params.yaml names for each stage that reads finished ones, in order of name.

    A list names runs; a mapping other than that of all runs gives names of its own, to pairs or to published models.

    Raises:
        UserError: no names stand there, one of a list is no run, or one of a mapping is.
    """
    models = {}
    for stage, where in analyses().items():
        found: Any = params
        for part in where.split("."):
            found = found.get(part) if isinstance(found, Mapping) else None
        found = [] if found is None else found
        names = found.keys() if isinstance(found, Mapping) else found
        if not isinstance(found, (list, Mapping)) or not all(isinstance(name, str) for name in names):
            raise UserError(f"params.yaml: {where}: expected names, found {found!r}")
        naming = isinstance(found, Mapping) and found is not params["runs"]
        for name in names:
            if naming == (name in params["runs"]):
                expected = "names that no run has" if naming else "names of runs"
                raise UserError(f"params.yaml: {where}: expected {expected}, found {name!r}")
        models[stage] = sorted(set(names))
    return models


def pairs(params: Mapping[str, Any]) -> list[PairOfRuns]:
    """What params.yaml says of every pair of runs, in order of name; none without its section.

    Raises:
        UserError: a pair does not name two runs.
    """
    found = parse_pairs({"depth_maps": {}, **params})
    return [PairOfRuns(name, pair.source, pair.target) for name, pair in sorted(found.items())]


def _load(connection: duckdb.DuckDBPyConnection, path: Path, name: str) -> None:
    """Insert the rows of one run, published model or pair into the table that the file is named after."""
    table = "layer_metrics" if path.stem == "layers" else path.stem
    if table not in TABLES:
        raise UserError(f"{path}: expected the name of a table of the warehouse, found {path.stem}")
    rows = read_table(TABLES[table], path)
    owners = rows[columns_of(TABLES[table])[0].name].unique().to_pylist()
    if owners != [name] and (table != path.stem or owners):
        raise UserError(f"{path}: expected the rows of {name} alone, found {', '.join(map(str, owners)) or 'no rows'}")
    database.insert(connection, table, rows)
