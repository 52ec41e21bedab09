"""Reads YAML that is plain: mappings by text, lists, text, numbers, true, false and null, as much as people write."""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.constructor import DuplicateKeyError, SafeConstructor
from ruamel.yaml.error import MarkedYAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode
from ruamel.yaml.reader import ReaderError

from perlayer.errors import UserError, shortened

TAG = "tag:yaml.org,2002:"
PLAIN = {TAG + kind for kind in ("str", "int", "float", "bool", "null", "seq", "map")}
NUMBERS = {TAG + kind for kind in ("int", "float")}
KEYS = {TAG + kind for kind in ("str", "merge")}
LONGEST_NUMBER = 100  # characters
DEEPEST = 50  # levels
MOST_VALUES = 100_000  # with each alias counted as what it stands for
UNUSABLE = re.compile("[\0\ud800-\udfff]")  # what no path, terminal or file of text takes


def read_yaml(path: Path) -> Any:
    """What a file holds, read as DVC reads params.yaml (YAML 1.2).

    Raises:
        UserError: it is no UTF-8, no YAML or not plain; names the line, where there is one.
        OSError: it cannot be read.
    """
    content = path.read_bytes()
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise UserError(f"{path}: line {line}: expected UTF-8, found {error.reason}") from None
    yaml = YAML(typ="safe", pure=True)
    yaml.Constructor = _PlainConstructor
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of what is legal all the same
            return yaml.load(text)
    except Exception as error:  # the reader lets more than its own errors out
        raise UserError(f"{path}: {_explained(error, text)}") from None


def _explained(error: Exception, text: str) -> str:
    if isinstance(error, ReaderError):
        line = text.count("\n", 0, error.position) + 1
        return f"line {line}: not valid YAML: the character U+{error.character:04X}"
    if isinstance(error, RecursionError):
        return f"expected at most {DEEPEST} levels"
    mark = getattr(error, "problem_mark", None)
    line = f"line {mark.line + 1}: " if mark else ""
    if isinstance(error, DuplicateKeyError):
        return f"{line}a key stands twice"
    if isinstance(error, _NotPlain):
        return f"{line}{error.problem}"
    parts = (getattr(error, "context", None), getattr(error, "problem", None) or str(error))
    return f"{line}not valid YAML: {', '.join(' '.join(part.split()) for part in parts if part)}"


class _NotPlain(MarkedYAMLError):
    def __init__(self, node: Node, expected: str):
        kind = node.tag.replace(TAG, "!!")
        found = f"{kind} {shortened(node.value)}" if isinstance(node, ScalarNode) else kind
        super().__init__(problem=f"expected {expected}, found {found}", problem_mark=node.start_mark)


class _PlainConstructor(SafeConstructor):
    def construct_document(self, node: Node) -> Any:
        _count(node, (), {})
        return super().construct_document(node)

    def construct_object(self, node: Node, deep: bool = False) -> Any:
        try:
            return super().construct_object(node, deep)
        except (ArithmeticError, LookupError, TypeError, ValueError):
            raise _NotPlain(node, "a value that its tag allows") from None


def _count(node: Node, above: tuple[Node, ...], counted: dict[Node, int]) -> int:
    """How many values stand in `node`, itself included; raises `_NotPlain` where one of them is not plain."""
    if node in counted:
        return counted[node]
    if node in above:
        raise _NotPlain(node, "a value that does not hold itself")
    if len(above) == DEEPEST:
        raise _NotPlain(node, f"at most {DEEPEST} levels")
    if node.tag not in PLAIN:
        raise _NotPlain(node, "a text, a number, true, false, null, a list or a mapping")
    counts = [1]
    if isinstance(node, ScalarNode):
        if node.tag in NUMBERS and len(node.value) > LONGEST_NUMBER:
            raise _NotPlain(node, f"a number of at most {LONGEST_NUMBER} characters")
        if UNUSABLE.search(node.value):
            raise _NotPlain(node, "a text without U+0000 and lone surrogates")
    elif isinstance(node, MappingNode):
        for key, value in node.value:
            if key.tag not in KEYS:
                raise _NotPlain(key, "a text as a key")
            counts.append(_count(value, (*above, node), counted))
    else:
        counts += [_count(item, (*above, node), counted) for item in node.value]
    counted[node] = sum(counts)
    if counted[node] > MOST_VALUES:
        raise _NotPlain(node, f"at most {MOST_VALUES:,} values")
    return counted[node]
