"""Gathers the results of all runs that params.yaml names into the tables of the warehouse."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import duckdb

from perlayer.depth.tables import DissectionNumber
from perlayer.errors import UserError
from perlayer.layer_metrics import LayerNumber
from perlayer.params import ladder_name, recipe
from perlayer.provenance import different_params, different_sources
from perlayer.store import MANIFEST, fresh_folder, read_manifest, replace_text, verified, verified_files
from perlayer.tables import read_table
from perlayer.warehouse import database
from perlayer.warehouse.headline import headline


class Table(NamedTuple):
    """A table, and the files from which it is filled."""

    name: str
    rows: type
    order: str  # of rows everywhere: sums of the same numbers in another order differ in their last digits


LAYER_METRICS = Table(
    "layer_metrics",
    LayerNumber,
    "run, metric, split, readout, ahead, layer, other_layer NULLS FIRST, step",
)
DISSECTIONS = Table(
    "dissections",
    DissectionNumber,
    "run, analysis, metric, stat, layer, sublayer, other_layer NULLS FIRST, text NULLS FIRST, "
    "position NULLS FIRST, strength NULLS FIRST",
)
SET_ASIDE = Path(".perlayer/set_aside")
SHOWN = 3  # differences that are told of results that are left out
WATCHES = ("ema", "future_probes", "gradient_cosines")  # what looks on and changes nothing in training
NOT_SETTING = ("seed", *WATCHES)  # what runs of equal setting may differ in
NOT_ALGORITHMS = ("residual", "readouts", "seed", "layers", *WATCHES)

# The stages that read finished models, and where params.yaml names the models each of them reads: a list of names, or
# a mapping of them. A stage leaves one table in analyses/STAGE/NAME/.
ANALYSES = {
    "retrain_heads": "retrain_heads.runs",
    "lens": "runs",
    "tuned_lens": "lens.tuned",
    "published_lens": "published",
    "routing": "routing.runs",
    "depth": "depth.runs",
    "depth_maps": "depth_maps",
    "published_depth": "published",
    "anatomy": "anatomy.runs",
    "published_anatomy": "published",
}
# Those whose table is one of dissections, not of per-layer metrics.
DISSECTING = ("routing", "depth", "depth_maps", "published_depth", "anatomy", "published_anatomy")
PUBLISHED = "published"  # the size of a published model, and the section that names them
NAMING = (PUBLISHED, "depth_maps")  # sections that name what is read themselves: published models, pairs of runs

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

    That is layers.parquet in `metrics_dir`/runs/RUN, where a run of the ladder is called RUNG_RUN, and the one table in
    each `metrics_dir`/analyses/STAGE/NAME. The tables of the warehouse (runs, layer_metrics, dissections, pairs) are
    sorted, so the same results give the same bytes. What has no results at the current size is absent, which is no
    error.

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

    def load(table: Table, path: Path, stage: str, name: str, size: str) -> bool:
        about = about_of(path.parent)
        reason = difference(about, params, sources, size == PUBLISHED)
        if reason is not None:
            left_out[stage, name] = reason
        if reason is not None or not _load(connection, table, path, name, size):
            return False
        for folder, identity in about.get("made_from", {}).items():
            sources.setdefault(folder, identity)
        return True

    for definition in [*definitions(params), *ladder_definitions(params), *growth_definitions(params)]:
        run, section = definition["run"], definition["section"]
        path = metrics_dir / "runs" / run / "layers.parquet"
        definition["routing"] = run in models["routing"]
        # a rung is what it is beside the size in use, so its results say both
        size = ladder_name(params["size"], definition["size"]) if section == "ladder" else params["size"]
        stage = "train" if section == "runs" else section
        definition["present"] = load(LAYER_METRICS, path, stage, run, size)
        definition["left_out"] = left_out.get((stage, run))
        sources |= trained_models(path.parent, definition["present"])
        if not definition["present"] and not definition["left_out"]:
            (absent if section == "runs" else absent_analyses.setdefault(section, [])).append(run)
        insert_run(connection, definition)
    for pair in mapped:
        connection.execute("INSERT INTO pairs VALUES ($pair, $source, $target)", pair)
    database.create_views(connection)
    connection.execute(RESULTS)  # before the analyses bring steps and tokens of their own

    for stage, names in models.items():
        size = PUBLISHED if ANALYSES[stage] == PUBLISHED else params["size"]
        table = DISSECTIONS if stage in DISSECTING else LAYER_METRICS
        folder = metrics_dir / "analyses" / stage
        missing = [name for name in names if not load(table, _only_table(folder / name), stage, name, size)]
        missing = [name for name in missing if (stage, name) not in left_out]
        if missing:
            absent_analyses[stage] = missing

    for (stage, name), reason in left_out.items():
        connection.execute("INSERT INTO left_out VALUES (?, ?, ?)", [stage, name, reason])
    with fresh_folder(warehouse_dir) as folder:
        for name, order in (("runs", "run"), ("pairs", "pair"), ("left_out", "stage, name")):
            _write(connection, name, order, folder)
        for table in (LAYER_METRICS, DISSECTIONS):
            _write(connection, table.name, table.order, folder)
    replace_text(warehouse_dir.with_name("headline.json"), json.dumps(headline(connection), indent=2) + "\n")
    return Absent(absent, absent_analyses, left_out)


def insert_run(connection: duckdb.DuckDBPyConnection, definition: Mapping[str, Any]) -> None:
    """Add a run to the table `runs`."""
    names = ", ".join(definition)
    marks = ", ".join(f"${name}" for name in definition)
    connection.execute(f"INSERT INTO runs ({names}) VALUES ({marks})", dict(definition))


def set_aside(params: Mapping[str, Any], metrics_dir: str | Path) -> list[Path]:
    """Move results that params.yaml no longer names to .perlayer/set_aside, and return where they lay.

    DVC leaves behind what a run that is no longer named has made, and `collect` depends on whole folders.
    """
    metrics_dir = Path(metrics_dir)
    sections = (definitions(params), ladder_definitions(params), growth_definitions(params))
    named = {metrics_dir / "runs": {row["run"] for rows in sections for row in rows}}
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


def difference(
    about: Mapping[str, Any], params: Mapping[str, Any], sources: Mapping[str, str], any_size: bool
) -> str | None:
    """How results differ from what is compared; None where they do not, or are absent: those of another size.

    Args:
        about: what the manifest of the results says of them.
        sources: the identities of data and models that results are to be made from, by folder.
        any_size: whether they belong to no size, and so are absent at none.
    """
    if not any_size and about.get("params", {}).get("size", params["size"]) != params["size"]:
        return None
    differences = different_params(about, params)
    others = different_sources(about, sources)
    differences += [f"made from other {', '.join(others)}"] if others else []
    if len(differences) > SHOWN:
        differences[SHOWN:] = [f"{len(differences) - SHOWN} more"]
    return "; ".join(differences) or None


def analysed(params: Mapping[str, Any]) -> dict[str, list[str]]:
    """The models that params.yaml names for each stage of `ANALYSES`, in order of name; a section may be missing.

    Raises:
        UserError: no names stand there, one of them is no run, or a published model or a pair has the name of a run.
    """
    models = {}
    runs = {*params["runs"], *(definition["run"] for definition in ladder_definitions(params))}
    for stage, where in ANALYSES.items():
        found: Any = params
        for part in where.split("."):
            found = found.get(part) if isinstance(found, Mapping) else None
        found = [] if found is None else found
        names = found.keys() if isinstance(found, Mapping) else found
        if not isinstance(found, (list, Mapping)) or not all(isinstance(name, str) for name in names):
            raise UserError(f"params.yaml: {where}: expected names, found {found!r}")
        for name in names:
            if where in NAMING and name in runs:
                raise UserError(f"params.yaml: {where}: expected names that no run has, found {name!r}")
            if where not in NAMING and name not in params["runs"]:
                raise UserError(f"params.yaml: {where}: expected names of runs, found {name!r}")
        models[stage] = sorted(set(names))
    return models


def definitions(params: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What params.yaml says of every run, in the columns of the table `runs`, in order of name.

    Raises:
        UserError: a run lacks residual, readouts or seed, or one of them has a wrong type.
    """
    model, where = recipe(params, "model")
    depth = _integer(model, "layers", where)
    return [
        _definition(run, keys, params["size"], depth, f"runs.{run}") for run, keys in sorted(params["runs"].items())
    ]


def ladder_definitions(params: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The same of every run of the ladder, at the size of its rung; none where params.yaml has no ladder.

    Raises:
        UserError: a rung or a run is not defined as it should be.
    """
    ladder = params.get("ladder", {"runs": {}, "rungs": {}})
    runs, rungs = (_mapping(_mapping(ladder, "ladder").get(key), f"ladder.{key}") for key in ("runs", "rungs"))
    recipe_model, _ = recipe(params, "model")
    rows = []
    for rung, changes in sorted(rungs.items()):
        where = f"ladder.rungs.{rung}"
        model = _mapping(_mapping(changes, where).get("model", {}), f"{where}.model")
        depth = _integer({**recipe_model, **model}, "layers", f"{where}.model")
        for run, keys in sorted(runs.items()):
            row = _definition(ladder_name(rung, run), keys, rung, depth, f"ladder.runs.{run}")
            rows.append({**row, "section": "ladder"})
    return rows


def growth_definitions(params: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The same of every run of the section `growth`; none where params.yaml has none.

    Raises:
        UserError: a run is not defined as it should be.
    """
    runs = _mapping(_mapping(params.get("growth", {"runs": {}}), "growth").get("runs"), "growth.runs")
    model, where = recipe(params, "model")
    depth = _integer(model, "layers", where)
    rows = [_definition(run, keys, params["size"], depth, f"growth.runs.{run}") for run, keys in sorted(runs.items())]
    return [{**row, "section": "growth"} for row in rows]


def pairs(params: Mapping[str, Any]) -> list[dict[str, str]]:
    """What params.yaml says of every pair of runs, in the columns of the table `pairs`; none without its section.

    Raises:
        UserError: a pair does not name two runs.
    """
    rows = []
    for pair, said in sorted(_mapping(params.get("depth_maps") or {}, "depth_maps").items()):
        where = f"depth_maps.{pair}"
        ends = _mapping(said, where)
        rows.append({"pair": pair, "source": _text(ends, "from", where), "target": _text(ends, "to", where)})
    return rows


def _definition(run: str, keys: Any, size: str, depth: int, where: str) -> dict[str, Any]:
    if not isinstance(keys, Mapping):
        raise UserError(f"params.yaml: {where}: expected a mapping of keys, found {keys!r}")
    layers = _integer(keys, "layers", where) if keys.get("layers") is not None else depth
    # A run that spells out the depth of the recipe is the same run as one that leaves it to the recipe.
    optional = {key: value for key, value in keys.items() if value is not None and (key, value) != ("layers", depth)}
    return {
        "run": run,
        "size": size,
        "section": "runs",
        "residual": _text(keys, "residual", where),
        "readouts": _text(keys, "readouts", where),
        "seed": _integer(keys, "seed", where),
        "layers": layers,
        "full_depth": layers == depth,
        "ema": keys.get("ema") is not None,
        "algorithms": _json({key: value for key, value in optional.items() if key not in NOT_ALGORITHMS}),
        "setting": _json({key: value for key, value in optional.items() if key not in NOT_SETTING}),
    }


def _mapping(value: Any, where: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise UserError(f"params.yaml: {where}: expected a mapping of names, found {value!r}")
    return value


def _text(mapping: Mapping[str, Any], key: str, where: str) -> str:
    value = mapping.get(key)
    if not isinstance(value, str):
        raise UserError(f"params.yaml: {where}.{key}: expected a name, found {value!r}")
    return value


def _integer(mapping: Mapping[str, Any], key: str, where: str) -> int:
    value = mapping.get(key)
    if type(value) is not int:
        raise UserError(f"params.yaml: {where}.{key}: expected a whole number, found {value!r}")
    return value


def _json(value: dict[str, Any]) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def _only_table(folder: Path) -> Path:
    """The parquet file of a folder, whatever its name; one that does not exist when there is none."""
    files = verified_files(folder, "*.parquet") if folder.exists() else []
    if len(files) > 1:
        raise UserError(f"{folder}: expected one parquet file, found {', '.join(file.name for file in files)}")
    return files[0] if files else folder / "absent.parquet"


def _load(connection: duckdb.DuckDBPyConnection, table: Table, path: Path, run: str, size: str) -> bool:
    """Insert the rows of one run or published model; False when there are none at this size."""
    if not path.exists():
        return False
    rows = read_table(table.rows, verified(path))
    owners = sorted((row["run"], row["size"]) for row in rows.group_by(["run", "size"]).aggregate([]).to_pylist())
    if len(owners) != 1 or owners[0][0] != run:
        names = ", ".join(f"{owner} at size {owner_size}" for owner, owner_size in owners) or "no rows"
        raise UserError(f"{path}: expected the rows of run {run} alone, found {names}")
    if owners[0][1] != size:
        return False
    held = {row[0] for row in connection.execute(f"DESCRIBE {table.name}").fetchall()}
    connection.register("incoming", rows.select([name for name in rows.column_names if name in held]))
    connection.execute(f"INSERT INTO {table.name} BY NAME SELECT * FROM incoming ORDER BY {table.order}")
    connection.unregister("incoming")
    return True


def _write(connection: duckdb.DuckDBPyConnection, table: str, order: str, folder: Path) -> None:
    path = folder / f"{table}.parquet"
    try:
        connection.execute(
            f"COPY (SELECT * FROM {table} ORDER BY {order}) TO {database.quoted(path)} "
            "(FORMAT parquet, COMPRESSION zstd)"
        )
    except duckdb.Error as error:
        raise UserError(f"{path}: cannot be written: {database.first_line(error)}") from None
