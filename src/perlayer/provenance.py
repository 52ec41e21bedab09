"""What the outs of a stage were made from, as dvc.yaml declares it: written into their manifests, and compared.

The manifest of each folder that a stage has written says under `made_from` the identity of each folder it was made
from, and of those that these were made from in turn. Where results lie (metrics/), it also says under `params` what the
stage tracks of params.yaml, and under `beside` the identities of the stage's other outs: of a run, its model. An empty
folder says none of it: it is the same whatever a stage may have read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from perlayer.errors import UserError, shortened
from perlayer.store import MANIFEST, read_manifest, set_about

PIPELINE = Path("dvc.yaml")
RESULTS = "metrics/"
ANALYSES = f"{RESULTS}analyses"
VARIABLE = re.compile(r"\$\{([^}]+)\}")


@dataclass(frozen=True)
class Declaration:
    """What dvc.yaml says of one stage, for one run, model or pair."""

    deps: list[str]
    params: list[str]  # keys of params.yaml; with that of a rung, which DVC tracks by the plan of the run
    outs: list[str]


def declared(stage: str, arguments: Sequence[str], params: Mapping[str, Any]) -> Declaration:
    """What dvc.yaml declares of `python stages/STAGE.py ARGUMENTS`; nothing where it has no such stage."""
    definition = _stages().get(stage)
    if definition is None:
        return Declaration([], [], [])
    template = definition.get("do", definition)
    words = template["cmd"].split()[2:]  # after `python stages/STAGE.py`
    variables: dict[str, Any] = dict(params)
    for word, argument in zip(words, arguments):
        (name,) = VARIABLE.fullmatch(word).groups()
        _set(variables, name, argument)
    if "key" in variables:  # of a mapping that foreach goes through
        variables["item"] = _get(params, f"{VARIABLE.fullmatch(definition['foreach'])[1]}.{variables['key']}")
    outs = [*template.get("outs", []), *template.get("metrics", [])]
    deps, keys, outs = (
        list(_resolved(some, variables)) for some in (template["deps"], template.get("params", []), outs)
    )
    rungs = [_get(params, f"{key}.rung") for key in keys if key.startswith("runs.")]
    return Declaration(deps, [*keys, *(f"rungs.{rung}" for rung in rungs if rung is not None)], outs)


def analyses() -> dict[str, str]:
    """The stages that read finished models, and the key of params.yaml that names the models each of them reads.

    Such a stage leaves its tables in `metrics/analyses/STAGE/NAME/`.

    Raises:
        UserError: there is no dvc.yaml, or it cannot be read.
    """
    if not PIPELINE.exists():
        raise UserError(f"{PIPELINE}: no such file; run this from the root of the project")
    return {
        stage: VARIABLE.fullmatch(definition["foreach"])[1]
        for stage, definition in _stages().items()
        if any(str(out).startswith(f"{ANALYSES}/{stage}/") for out in definition.get("do", {}).get("outs", ()))
    }


def _stages() -> dict[str, Any]:
    """The stages of dvc.yaml by name; none where there is no such file."""
    try:
        said = yaml.load(PIPELINE.read_text(encoding="utf-8"), getattr(yaml, "CSafeLoader", yaml.SafeLoader))
        return dict(said["stages"])
    except FileNotFoundError:
        return {}
    except (yaml.YAMLError, KeyError, TypeError, ValueError, UnicodeDecodeError):
        raise UserError(f"{PIPELINE}: expected the stages of the pipeline") from None


def _resolved(entries: Sequence[str | Mapping[str, Any]], variables: Mapping[str, Any]) -> Iterator[str]:
    for entry in entries:
        text = entry if isinstance(entry, str) else next(iter(entry))
        yield VARIABLE.sub(lambda match: str(_get(variables, match[1])), text)


def _get(mapping: Any, path: str) -> Any:
    for part in path.split("."):
        mapping = mapping.get(part) if isinstance(mapping, Mapping) else None
    return mapping


def _set(mapping: dict[str, Any], path: str, value: Any) -> None:
    *folders, last = path.split(".")
    for part in folders:
        mapping = mapping.setdefault(part, {})
    mapping[last] = value


def record(declaration: Declaration, params: Mapping[str, Any]) -> None:
    """Say in the manifests of what a stage has just written what it was made from.

    Raises:
        UserError: a manifest that it reads is missing or damaged.
    """
    folders = {_folder(out) for out in declaration.outs}
    folders = {folder for folder in folders if (folder / MANIFEST).exists() and read_manifest(folder).files}
    made_from: dict[str, str] = {}
    for dep in declaration.deps:
        folder = dep.removesuffix(f"/{MANIFEST}")  # by which a stage may depend on all that it names
        if Path(folder, MANIFEST).exists():
            manifest = read_manifest(folder)
            made_from |= {**manifest.about.get("made_from", {}), **made_from, folder: manifest.identity}
    identities = {folder.as_posix(): read_manifest(folder).identity for folder in folders}
    for folder in folders:
        about: dict[str, Any] = {"made_from": made_from}
        if folder.as_posix().startswith(RESULTS):
            about["params"] = {key: _get(params, key) for key in declaration.params}
            about["beside"] = {path: identity for path, identity in identities.items() if path != folder.as_posix()}
        set_about(folder, about)


def _folder(out: str) -> Path:
    """The folder of an out: itself, or where the file lies."""
    path = Path(out)
    return path if path.is_dir() else path.parent


def different_params(about: Mapping[str, Any], params: Mapping[str, Any]) -> list[str]:
    """How the params that results were made with differ from `params`, a text each; none where they agree.

    What they took of the recipe of their size is held against that of the size in use; the sizes themselves are not.
    """
    made_with = {**about.get("params", {})}
    size = made_with.pop("size", params["size"])
    found: list[str] = []
    for key, then in made_with.items():
        now = re.sub(rf"^recipes\.{size}\b", f"recipes.{params['size']}", key)
        found += _differences(now, then, _get(params, now))
    return found


def _differences(key: str, then: Any, now: Any) -> Iterator[str]:
    if isinstance(then, Mapping) and isinstance(now, Mapping):
        for name in sorted(then.keys() | now.keys()):
            yield from _differences(f"{key}.{name}", then.get(name), now.get(name))
    elif then != now or type(then) is not type(now):
        yield f"{key} was {shortened(then)}, and params.yaml says {shortened(now)}"


def different_sources(about: Mapping[str, Any], current: Mapping[str, str]) -> list[str]:
    """The folders that results were made from, or their sources, which are others now.

    Args:
        current: identities of folders as they are now; others are not compared.
    """
    made_from = about.get("made_from", {})
    return [folder for folder, identity in made_from.items() if current.get(folder, identity) != identity]
