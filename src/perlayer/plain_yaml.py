"""Reads YAML that is plain: mappings by text, lists, text, numbers, true, false and null, as much as people write.

PyYAML takes the text apart; what a scalar without quotes stands for is read as in YAML 1.2, as DVC reads and writes
params.yaml: `off` is a text and `1e-3` a number.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from yaml.reader import ReaderError

from perlayer.errors import UserError, shortened

TAG = "tag:yaml.org,2002:"
# YAML 1.2, with _ between digits, as ruamel.yaml reads it for DVC; a date would be one for DVC
SCALARS = {
    "null": re.compile(r"~|null|Null|NULL|"),
    "bool": re.compile(r"true|True|TRUE|false|False|FALSE"),
    "int": re.compile(r"[-+]?(0b[01_]+|0o?[0-7_]+|[0-9][0-9_]*|0x[0-9a-fA-F_]+)"),
    "float": re.compile(
        r"[-+]?[0-9][0-9_]*\.[0-9_]*([eE][-+]?[0-9]+)?|[-+]?[0-9][0-9_]*[eE][-+]?[0-9]+|[-+]?\.[0-9_]+([eE][-+][0-9]+)?"
        r"|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)"
    ),
    "timestamp": re.compile(
        r"[0-9]{4}-[0-9]{2}-[0-9]{2}|[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}([Tt]|[ \t]+)[0-9]{1,2}:[0-9]{2}:[0-9]{2}(\.[0-9]*)?"
        r"([ \t]*(Z|[-+][0-9]{1,2}(:[0-9]{2})?))?"
    ),
    "merge": re.compile("<<"),
    "value": re.compile("="),
}
BASES = {"0b": 2, "0o": 8, "0x": 16}
LONGEST_NUMBER = 100  # characters
DEEPEST = 50  # levels
MOST_VALUES = 100_000  # with each alias counted as what it stands for
UNUSABLE = re.compile("[\0\ud800-\udfff]")  # what no path, terminal or file of text takes
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def read_yaml(path: Path) -> Any:
    """What a file holds, read as DVC reads params.yaml (YAML 1.2).

    Raises:
        UserError: it is no UTF-8, no YAML or not plain; names the line, where there is one.
        OSError: it cannot be read.
    """
    content = path.read_bytes()
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise UserError(f"{path}: line {line}: expected UTF-8, found {error.reason}") from None
    try:
        return _Reader(yaml.parse(text, Loader=LOADER)).document()
    except _NotPlain as error:
        raise UserError(f"{path}: {error}") from None
    except ReaderError as error:
        line = text.encode().count(b"\n", 0, error.position) + 1
        found = ord(error.character) if isinstance(error.character, str) else error.character
        raise UserError(f"{path}: line {line}: not valid YAML: the character U+{found:04X}") from None
    except yaml.MarkedYAMLError as error:
        line = f"line {error.problem_mark.line + 1}: " if error.problem_mark else ""
        said = ", ".join(" ".join(part.split()) for part in (error.context, error.problem) if part)
        raise UserError(f"{path}: {line}not valid YAML: {said}") from None


class _NotPlain(Exception):
    def __init__(self, event: yaml.Event, said: str):
        super().__init__(f"line {event.start_mark.line + 1}: {said}")


def _unexpected(event: yaml.Event, expected: str, tag: str) -> _NotPlain:
    kind = tag.replace(TAG, "!!")
    found = f"{kind} {shortened(event.value)}" if isinstance(event, yaml.ScalarEvent) else kind
    return _NotPlain(event, f"expected {expected}, found {found}")


@dataclass(frozen=True)
class _Value:
    """A value, and how many values stand in it, itself included."""

    held: Any
    count: int
    merges: bool = False  # whether it is the key << of a mapping


class _Reader:
    """Makes values of what PyYAML finds in a text, one after the other."""

    def __init__(self, events: Iterator[yaml.Event]):
        self.events = events
        self.anchored: dict[str, _Value | None] = {}  # None while a value is being read
        self.depth = 0

    def document(self) -> Any:
        """What the only document holds; None where there is none."""
        next(self.events)  # of the stream
        event = next(self.events)
        if isinstance(event, yaml.StreamEndEvent):
            return None
        value = self.value(next(self.events)).held
        next(self.events)  # the end of the document
        event = next(self.events)
        if not isinstance(event, yaml.StreamEndEvent):
            raise _NotPlain(event, "not valid YAML: expected a single document, but found another document")
        return value

    def value(self, event: yaml.Event, is_key: bool = False) -> _Value:
        if isinstance(event, yaml.AliasEvent):
            if event.anchor not in self.anchored:
                raise _NotPlain(event, f"not valid YAML: found undefined alias {event.anchor!r}")
            value = self.anchored[event.anchor]
            if value is None:
                raise _NotPlain(event, "expected a value that does not hold itself")
            return value
        if event.anchor:
            self.anchored[event.anchor] = None
        value = self.scalar(event, is_key) if isinstance(event, yaml.ScalarEvent) else self.collection(event, is_key)
        if value.count > MOST_VALUES:
            raise _NotPlain(event, f"expected at most {MOST_VALUES:,} values")
        if event.anchor:
            self.anchored[event.anchor] = value
        return value

    def scalar(self, event: yaml.ScalarEvent, is_key: bool) -> _Value:
        tag = event.tag
        if tag in (None, "!"):
            plain = (kind for kind, pattern in SCALARS.items() if pattern.fullmatch(event.value))
            tag = TAG + (next(plain, "str") if event.implicit[0] else "str")
        kind = tag.removeprefix(TAG)
        if is_key and kind not in ("str", "merge"):
            raise _unexpected(event, "a text as a key", tag)
        if kind in ("int", "float") and len(event.value) > LONGEST_NUMBER:
            raise _unexpected(event, f"a number of at most {LONGEST_NUMBER} characters", tag)
        if UNUSABLE.search(event.value):
            raise _unexpected(event, "a text without U+0000 and lone surrogates", tag)
        if kind not in CONSTRUCTED and not (is_key and kind == "merge"):
            raise _unexpected(event, "a text, a number, true, false, null, a list or a mapping", tag)
        try:
            return _Value(CONSTRUCTED.get(kind, str)(event.value), 1, merges=kind == "merge")
        except (ValueError, KeyError):
            raise _unexpected(event, "a value that its tag allows", tag) from None

    def collection(self, event: yaml.CollectionStartEvent, is_key: bool) -> _Value:
        is_mapping = isinstance(event, yaml.MappingStartEvent)
        usual = TAG + ("map" if is_mapping else "seq")
        tag = usual if event.tag in (None, "!") else event.tag
        if is_key:
            raise _unexpected(event, "a text as a key", tag)
        if tag != usual:
            raise _unexpected(event, "a text, a number, true, false, null, a list or a mapping", tag)
        if self.depth == DEEPEST:
            raise _NotPlain(event, f"expected at most {DEEPEST} levels")
        self.depth += 1
        value = self.mapping() if is_mapping else self.sequence()
        self.depth -= 1
        return value

    def sequence(self) -> _Value:
        values = []
        while not isinstance(event := next(self.events), yaml.SequenceEndEvent):
            values.append(self.value(event))
        return _Value([value.held for value in values], 1 + sum(value.count for value in values))

    def mapping(self) -> _Value:
        merged: dict[str, Any] = {}
        own: dict[str, Any] = {}
        count = 1
        while not isinstance(event := next(self.events), yaml.MappingEndEvent):
            key, value = self.value(event, is_key=True), self.value(next(self.events))
            count += value.count
            if not isinstance(key.held, str):  # by an alias
                raise _NotPlain(event, f"expected a text as a key, found {shortened(key.held)}")
            if key.merges:
                for mapping in reversed(value.held if isinstance(value.held, list) else [value.held]):
                    if not isinstance(mapping, dict):
                        raise _NotPlain(event, "not valid YAML: expected a mapping or list of mappings for merging")
                    merged |= mapping
            elif key.held in own:
                raise _NotPlain(event, "a key stands twice")
            else:
                own[key.held] = value.held
        return _Value(merged | own, count)


def _int(text: str) -> int:
    sign, digits = re.fullmatch(r"([-+]?)(.*)", text.replace("_", "")).groups()
    return int(sign + digits, BASES.get(digits[:2], 10))


def _float(text: str) -> float:
    return float(text.lower().replace("_", "").replace(".inf", "inf").replace(".nan", "nan"))


CONSTRUCTED = {
    "str": str,
    "int": _int,
    "float": _float,
    "bool": lambda text: {"true": True, "false": False}[text.lower()],
    "null": lambda text: None,
}
