"""Reads params.yaml and checks it. Each room parses its own section into a frozen dataclass with `parse`."""

from __future__ import annotations

import dataclasses
import difflib
import re
import sys
import types
import typing
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from perlayer.errors import InvalidValue, UserError, at, require, shortened
from perlayer.plain_yaml import read_yaml

# Names become those of files and folders, two of them together with more around them.
NAME = re.compile(r"[a-z][a-z0-9_]{0,49}")
A_NAME = "a name of at most 50 lower-case letters, digits and _, starting with a letter"
MOST_STEPS = 10**9  # updates that any training may ask for
Section = TypeVar("Section")


class Choices(dict):
    """A mapping of params.yaml, in which a key that is missing is an error that says where."""

    where = ""

    def __missing__(self, key: Any) -> Any:
        raise UserError(f"params.yaml: {self.where}{key}: missing")


def load(path: str | Path = "params.yaml") -> Choices:
    """Read params.yaml as DVC reads it and check its outline.

    Raises:
        UserError: the file is missing or is no plain YAML, a top-level key is missing, a section, size or run is no
            mapping, or a size or run has a bad name.
    """
    path = Path(path)
    try:
        params = _choices(read_yaml(path))
    except FileNotFoundError:
        raise UserError(f"{path}: no such file; run the pipeline from the root of the project") from None
    if not isinstance(params, dict):
        raise UserError(f"{path}: expected the keys size, recipes and runs, found {shortened(params)}")
    for key in ("size", "recipes", "runs"):
        if key not in params:
            raise UserError(f"{path}: {key} is missing")
    sections = {key: section for key, section in params.items() if key != "size"}
    for group in ("recipes", "runs"):
        if not isinstance(params[group], dict) or not params[group]:
            raise UserError(
                f"{path}: {group}: expected a mapping with at least one name, found {shortened(params[group])}"
            )
        check_names(params[group], group)
        sections |= {f"{group}.{name}": each for name, each in params[group].items()}
    for where, section in sections.items():
        if not isinstance(section, dict):
            raise UserError(f"{path}: {where}: expected a mapping of keys, found {shortened(section)}")
    if not isinstance(params["size"], str) or params["size"] not in params["recipes"]:
        raise UserError(
            f"{path}: size: expected one of {', '.join(params['recipes'])}, found {shortened(params['size'])}"
        )
    return params


def _choices(value: Any, where: str = "") -> Any:
    if isinstance(value, dict):
        choices = Choices((key, _choices(each, f"{where}{key}.")) for key, each in value.items())
        choices.where = where
        return choices
    return [_choices(each, where) for each in value] if isinstance(value, list) else value


def check_names(names: typing.Iterable[Any], where: str) -> None:
    """Raise `UserError` unless all that stand at `where`, as keys or in a list, are names."""
    for name in names:
        if not isinstance(name, str) or not NAME.fullmatch(name):
            raise UserError(f"params.yaml: {where}: expected {A_NAME}, found {shortened(name)}")


def recipe(params: Mapping[str, Any], section: str, size: str | None = None) -> tuple[dict[str, Any], str]:
    """One section of a recipe (by default that of the current size) and where it stands, ready for `parse`.

    Raises:
        UserError: the section is missing or no mapping.
    """
    size = params["size"] if size is None else size
    sections = params["recipes"][size]
    where = f"recipes.{size}"
    if not isinstance(sections, dict):
        raise UserError(f"params.yaml: {where}: expected a mapping of sections, found {shortened(sections)}")
    if section not in sections:
        raise UserError(f"params.yaml: {where}.{section}: missing")
    if not isinstance(sections[section], dict):
        raise UserError(
            f"params.yaml: {where}.{section}: expected a mapping of keys, found {shortened(sections[section])}"
        )
    return sections[section], f"{where}.{section}"


def mapping_at(params: Mapping[str, Any], where: str) -> Mapping[str, Any]:
    """The mapping that stands at `where` in params.yaml, keys with dots between.

    Raises:
        UserError: it is no mapping.
    """
    found = params
    for key in where.split("."):
        found = found[key]
        if not isinstance(found, Mapping):
            raise UserError(f"params.yaml: {where}: expected a mapping of names, found {shortened(found)}")
    return found


def check_keys(mapping: Mapping[str, Any], known: typing.Iterable[str], needed: typing.Iterable[str], where: str):
    """Raise `UserError` for a key of `mapping` that is not known or a needed one that is missing."""
    known = list(known)
    for key in mapping:
        if key not in known:
            close = difflib.get_close_matches(str(key), known, n=1)
            hint = f"did you mean {close[0]}?" if close else f"known keys: {', '.join(known)}"
            raise UserError(f"params.yaml: {where}.{key}: unknown key; {hint}")
    for key in needed:
        if key not in mapping:
            raise UserError(f"params.yaml: {where}.{key}: missing")


def is_number(value: Any) -> bool:
    """Whether a value of params.yaml is a number that a float can hold."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    return abs(value) <= sys.float_info.max


def names(values: list[Any], key: str) -> None:
    """Raise `InvalidValue` unless `values` are names, each once."""
    for value in values:
        require(isinstance(value, str) and bool(NAME.fullmatch(value)), key, "a list of names", values)
        require(values.count(value) == 1, key, f"{value} once", values)


def parse(cls: type[Section], mapping: Any, where: str) -> Section:
    """Build the frozen dataclass `cls` from a section of params.yaml.

    Checks keys and types by the annotations of `cls` (int, float, str, bool, dict, list, optional ones with `| None`);
    values are checked by its `__post_init__`, which raises `InvalidValue`.

    Raises:
        UserError: names the full key, what was expected and what was found.
    """
    if not isinstance(mapping, Mapping):
        raise UserError(f"params.yaml: {where}: expected a mapping of keys, found {shortened(mapping)}")
    fields = {field.name: field for field in dataclasses.fields(cls)}
    needed = [
        name
        for name, field in fields.items()
        if field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
    ]
    check_keys(mapping, fields, needed, where)
    hints = typing.get_type_hints(cls)
    with at(where):
        return cls(**{key: _convert(value, hints[key], key) for key, value in mapping.items()})


_DESCRIPTIONS = {
    int: "a whole number",
    float: "a number",
    str: "a text",
    bool: "true or false",
    dict: "a mapping",
    list: "a list",
}


def _convert(value: Any, hint: Any, key: str) -> Any:
    optional = isinstance(hint, types.UnionType) or typing.get_origin(hint) is typing.Union
    kinds = [kind for kind in typing.get_args(hint) if kind is not type(None)] if optional else [hint]
    kinds = [typing.get_origin(kind) or kind for kind in kinds]
    if value is None and optional:
        return None
    for kind in kinds:
        if kind is float and is_number(value):
            return float(value)
        if type(value) is kind and kind is not float or kind in (dict, list) and isinstance(value, kind):
            return value
    raise InvalidValue(key, " or ".join(_DESCRIPTIONS[kind] for kind in kinds), value)
