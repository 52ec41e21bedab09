"""Which runs are dissected, and on how much text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from perlayer.errors import UserError, require
from perlayer.params import check_keys, check_names, mapping_at, names, parse

PROMPTS = "prompts"  # the format of this project's own files of prompts
MOST_OPERANDS = 1000
MOST_SUMS = 1000  # a group
FIRST_SPLIT, AFTER_SPLIT = 8, 4  # tokens of a sequence before its first split, and after its last
FORMATS = ("gsm8k", "math", "mquake", PROMPTS)
# How much a published model is asked where params.yaml does not say: it has more layers and longer texts than a CPU
# dissects in minutes, and no token is looked at alone.
PUBLISHED_DEPTH = {"sequences": 2, "splits": 1, "tokens_at_once": 2048, "texts": 0, "gradient_steps": 64}


@dataclass(frozen=True)
class RoutedRuns:
    """The section `routing` of params.yaml."""

    runs: list

    def __post_init__(self):
        names(self.runs, "runs")


@dataclass(frozen=True)
class DepthRuns:
    """The section `depth` of params.yaml."""

    runs: list
    prompts: dict  # sets of prompts by name; see `parse_prompts`

    def __post_init__(self):
        names(self.runs, "runs")


@dataclass(frozen=True)
class Sums:
    """A set of prompts that are sums of digits: a group for each number of operands."""

    operands: list
    each: int = 20  # prompts a group

    def __post_init__(self):
        counts = all(type(count) is int and 1 <= count <= MOST_OPERANDS for count in self.operands)
        expected = f"whole numbers from 1 to {MOST_OPERANDS}, each once"
        require(bool(self.operands) and counts, "operands", expected, self.operands)
        require(len(set(self.operands)) == len(self.operands), "operands", expected, self.operands)
        require(1 <= self.each <= MOST_SUMS, "each", f"from 1 to {MOST_SUMS} prompts a group", self.each)


@dataclass(frozen=True)
class PromptFile:
    """A set of prompts that are drawn from a file of one JSON object a line."""

    file: str
    format: str  # one of `FORMATS`
    each: int = 20  # prompts a group, at most

    def __post_init__(self):
        require(self.file != "", "file", "a file of prompts", self.file)
        require(self.format in FORMATS, "format", f"one of {', '.join(FORMATS)}", self.format)
        require(self.each >= 1, "each", "at least 1 prompt a group", self.each)


def parse_prompts(params: Mapping[str, Any]) -> dict[str, Sums | PromptFile]:
    """Read and check `depth.prompts`, by name: what holds `operands` are sums, all else are files.

    Raises:
        UserError: names the key that is wrong, what was expected and what was found.
    """
    found: dict[str, Sums | PromptFile] = {}
    prompts = mapping_at(params, "depth.prompts")
    check_names(prompts, "depth.prompts")
    for name, section in prompts.items():
        kind = Sums if isinstance(section, Mapping) and "operands" in section else PromptFile
        found[name] = parse(kind, section, f"depth.prompts.{name}")
    return found


@dataclass(frozen=True)
class DepthSettings:
    """The section `depth` of a recipe."""

    sequences: int
    splits: int
    tokens_at_once: int
    texts: int  # of how many sequences each token is looked at alone
    gradient_steps: int  # of integrated gradients

    def __post_init__(self):
        require(self.sequences >= 2, "sequences", "at least 2", self.sequences)
        require(self.splits >= 1, "splits", "at least 1 a sequence", self.splits)
        require(self.tokens_at_once >= 1, "tokens_at_once", "at least 1", self.tokens_at_once)
        require(self.texts >= 0, "texts", "at least 0", self.texts)
        expected = f"at most the {self.sequences} sequences"
        require(self.texts <= self.sequences, "texts", expected, self.texts)
        require(self.gradient_steps >= 1, "gradient_steps", "at least 1", self.gradient_steps)

    def sequences_at_once(self, length: int) -> int:
        """How many sequences of a length are run together before anything is replaced in them."""
        return max(1, self.tokens_at_once // length)


def check_length(length: int) -> None:
    """Raise `InvalidValue` where sequences of so many tokens have no place for a split."""
    least = FIRST_SPLIT + AFTER_SPLIT + 1
    require(length >= least, "sequence_length", f"at least {least} tokens, to split dissected sequences", length)


def published_settings(name: str, said: Mapping[str, Any]) -> DepthSettings:
    """How a published model is dissected: as `published.NAME.depth` says, else as `PUBLISHED_DEPTH` does.

    Args:
        said: what stands there.

    Raises:
        UserError: an unknown key or an impossible value.
    """
    return parse(DepthSettings, {**PUBLISHED_DEPTH, **said}, f"published.{name}.depth")


@dataclass(frozen=True)
class MapSettings:
    """The section `depth_maps` of a recipe."""

    sequences: int  # of training text, to which maps are fitted
    held_out: int
    tokens_at_once: int

    def __post_init__(self):
        require(self.sequences >= 1, "sequences", "at least 1", self.sequences)
        require(self.held_out >= 2, "held_out", "at least 2: one to choose by, one to measure", self.held_out)
        require(self.tokens_at_once >= 1, "tokens_at_once", "at least 1", self.tokens_at_once)

    def sequences_at_once(self, length: int) -> int:
        """How many sequences of a length are run together."""
        return max(1, self.tokens_at_once // length)


@dataclass(frozen=True)
class Pair:
    """Two runs: whose layers are mapped (`from` in params.yaml), and to whose (`to`)."""

    source: str
    target: str


def parse_pairs(params: Mapping[str, Any]) -> dict[str, Pair]:
    """Read and check the section `depth_maps`, by name.

    Raises:
        UserError: names the key that is wrong, what was expected and what was found.
    """
    return {name: parse_pair(params, name) for name in mapping_at(params, "depth_maps")}


def parse_pair(params: Mapping[str, Any], name: str) -> Pair:
    """Read and check `depth_maps.NAME`.

    Raises:
        UserError: no such name, a bad one, an unknown key, or no two different runs.
    """
    section, where = mapping_at(params, "depth_maps"), f"depth_maps.{name}"
    check_names([name], "depth_maps")
    if name in params["runs"]:
        raise UserError(f"params.yaml: {where}: expected another name than that of a run")
    if name not in section:
        raise UserError(f"params.yaml: {where}: no such pair; pairs: {', '.join(section) or 'none'}")
    pair = section[name]
    if not isinstance(pair, Mapping):
        raise UserError(f"params.yaml: {where}: expected a mapping of keys, found {pair!r}")
    check_keys(pair, ("from", "to"), ("from", "to"), where)
    source, target = pair["from"], pair["to"]
    for key, run in (("from", source), ("to", target)):
        if not isinstance(run, str) or run not in params["runs"]:
            raise UserError(f"params.yaml: {where}.{key}: expected the name of a run, found {run!r}")
    if source == target:
        raise UserError(f"params.yaml: {where}.to: expected another run than from, found {target!r}")
    return Pair(source, target)
