"""What is trained: the only reader of the sections `runs` and `rungs` of params.yaml, and of a recipe's `train`."""

from __future__ import annotations

import dataclasses
import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from perlayer.algorithms.per_layer_loss.settings import Settings as PerLayerLossSettings
from perlayer.algorithms.settings import AlgorithmSettings
from perlayer.data.settings import parse_part
from perlayer.errors import UserError, at, require
from perlayer.model.config import LARGEST, MOST_LAYERS, AttentionSettings, ModelSettings, require_design
from perlayer.optim.settings import OptimizerSettings
from perlayer.params import MOST_STEPS, check_keys, check_names, mapping_at, parse, recipe

ALGORITHMS = Path(__file__).parent / "algorithms"
LARGEST_SEED = 2**32 - 1


@dataclass(frozen=True)
class TrainSettings:
    """The `train` section of a recipe."""

    steps: int
    batch: int
    compute_dtype: str

    def __post_init__(self):
        require(1 <= self.steps <= MOST_STEPS, "steps", f"from 1 to {MOST_STEPS} updates", self.steps)
        require(1 <= self.batch <= LARGEST, "batch", f"from 1 to {LARGEST} sequences", self.batch)
        require(
            self.compute_dtype in ("float32", "bfloat16"),
            "compute_dtype",
            "float32 or bfloat16",
            self.compute_dtype,
        )


@dataclass(frozen=True)
class CoreSettings:
    """The keys of a run that belong to no algorithm."""

    residual: str
    seed: int
    layers: int | None = None
    value_residual: str | None = None
    steps: int | float | None = None  # updates, or a share of the recipe's below 1
    rung: str | None = None  # one of `rungs`, by which it differs from the recipe in use

    def __post_init__(self):
        require_design(self.residual, self.value_residual)
        require(0 <= self.seed <= LARGEST_SEED, "seed", f"a whole number from 0 to {LARGEST_SEED}", self.seed)
        fits = self.layers is None or 1 <= self.layers <= MOST_LAYERS
        require(fits, "layers", f"from 1 to {MOST_LAYERS}", self.layers)
        whole = isinstance(self.steps, int) and 1 <= self.steps <= MOST_STEPS
        share = isinstance(self.steps, float) and 0 < self.steps < 1
        expected = f"from 1 to {MOST_STEPS} updates, or a share of the recipe's below 1"
        require(self.steps is None or whole or share, "steps", expected, self.steps)


@dataclass(frozen=True)
class Run:
    """One training, as params.yaml names it."""

    name: str
    residual: str
    readouts: str
    seed: int
    layers: int | None  # None: as the recipe says
    value_residual: str | None
    algorithms: dict[str, Any]  # the settings of each Composer algorithm it uses, by folder
    steps: int | float | None = None  # updates, or a share of the recipe's; None: as the recipe says
    rung: str | None = None  # None: the recipe in use

    def size(self, usual: str) -> str:
        """What its results call its size where `usual` is the one in use."""
        return usual if self.rung is None else rung_size(usual, self.rung)

    def updates(self, usual: int) -> int:
        """How many updates it takes where the recipe has `usual`."""
        if self.steps is None:
            return usual
        return self.steps if isinstance(self.steps, int) else max(1, round(self.steps * usual))


@dataclass(frozen=True)
class Recipe:
    """What a size says of a training."""

    size: str
    model: ModelSettings
    optimizer: OptimizerSettings
    train: TrainSettings
    attention: AttentionSettings

    def of(self, run: Run) -> Recipe:
        """The same over as many updates as the run takes."""
        return dataclasses.replace(self, train=dataclasses.replace(self.train, steps=run.updates(self.train.steps)))


RUNG_SECTIONS = {"model": ModelSettings, "optimizer": OptimizerSettings, "train": TrainSettings}


def parse_recipe(params: Mapping[str, Any], rung: str | None = None) -> Recipe:
    """Read and check the recipe of the size in use, or a rung: the same but for what `rungs.NAME` says otherwise.

    The size of a rung is called SIZE_NAME.

    Raises:
        UserError: names the key that is wrong, what was expected and what was found.
    """
    attention = parse_part(AttentionSettings, *recipe(params, "data"))
    if rung is None:
        parsed = {section: parse(kind, *recipe(params, section)) for section, kind in RUNG_SECTIONS.items()}
        return Recipe(params["size"], attention=attention, **parsed)
    where = f"rungs.{rung}"
    changes = params["rungs"][rung]
    if not isinstance(changes, Mapping):
        raise UserError(f"params.yaml: {where}: expected a mapping of sections, found {changes!r}")
    check_keys(changes, RUNG_SECTIONS, (), where)
    parsed = {}
    for section, kind in RUNG_SECTIONS.items():
        change = changes.get(section, {})
        if not isinstance(change, Mapping):
            raise UserError(f"params.yaml: {where}.{section}: expected a mapping of keys, found {change!r}")
        usual, _ = recipe(params, section)
        parsed[section] = parse(kind, dict([*usual.items(), *change.items()]), f"{where}.{section}")
    check_warmup(where, parsed["optimizer"], parsed["train"])
    return Recipe(rung_size(params["size"], rung), attention=attention, **parsed)


def rung_size(size: str, rung: str) -> str:
    """What results call the size of a rung beside the size in use."""
    return f"{size}_{rung}"


def check_rungs(params: Mapping[str, Any]) -> None:
    """Check the section `rungs`.

    Raises:
        UserError: the first key or value that is wrong.
    """
    check_names(mapping_at(params, "rungs"), "rungs")
    for rung in params["rungs"]:
        parse_recipe(params, rung)
        if rung in params["recipes"]:
            raise UserError(f"params.yaml: rungs: expected names that no size has, found {rung!r}")


def check_warmup(where: str, optimizer: OptimizerSettings, train: TrainSettings) -> None:
    """Raise `UserError` unless the warm-up ends before the run does; `where` is the recipe in params.yaml."""
    if optimizer.warmup >= train.steps:
        raise UserError(
            f"params.yaml: {where}.optimizer.warmup: expected fewer than the {train.steps} steps of the run, "
            f"found {optimizer.warmup}"
        )


def check_size(run: Run, layers: int, optimizer: OptimizerSettings, train: TrainSettings, where: str) -> None:
    """Raise `UserError` where a run does not fit a size: its updates the warm-up, its algorithms its depth.

    Args:
        layers: of the size, where the run does not say otherwise.
        where: the run in params.yaml.
    """
    if run.steps is not None and run.updates(train.steps) <= optimizer.warmup:
        raise UserError(
            f"params.yaml: {where}.steps: expected more updates than the {optimizer.warmup} of the warm-up, "
            f"found {run.updates(train.steps)}"
        )
    for settings in run.algorithms.values():
        with at(where):
            settings.check_depth(run.layers or layers)


def optional_algorithms() -> list[str]:
    """The algorithms a run may switch on by a key of the same name: the folders that have settings."""
    return sorted(path.parent.name for path in ALGORITHMS.glob("*/settings.py") if path.parent.name != "per_layer_loss")


def parse_run(params: Mapping[str, Any], name: str) -> Run:
    """Read and check `runs.NAME`.

    A key of an algorithm whose `Settings` has one field may hold that field's value alone. What else settings are
    asked, here and by `plan`, see `AlgorithmSettings`.

    Raises:
        UserError: no such run or rung, an unknown key, or an impossible value.
    """
    where = f"runs.{name}"
    if name not in params["runs"]:
        raise UserError(f"params.yaml: {where}: no such run; runs: {', '.join(params['runs'])}")
    mapping = params["runs"][name]
    if not isinstance(mapping, Mapping):
        raise UserError(f"params.yaml: {where}: expected a mapping of keys, found {mapping!r}")
    core_keys = CoreSettings.__dataclass_fields__
    reading_keys = PerLayerLossSettings.__dataclass_fields__
    check_keys(mapping, [*core_keys, *reading_keys, *optional_algorithms()], ["residual", "readouts", "seed"], where)
    core = parse(CoreSettings, {key: value for key, value in mapping.items() if key in core_keys}, where)
    if core.rung is not None and core.rung not in params["rungs"]:
        rungs = ", ".join(params["rungs"]) or "there are none"
        raise UserError(f"params.yaml: {where}.rung: expected one of rungs ({rungs}), found {core.rung!r}")
    reading = parse(PerLayerLossSettings, {key: value for key, value in mapping.items() if key in reading_keys}, where)
    algorithms = {"per_layer_loss": reading} if reading.readouts != "none" else {}
    for key in optional_algorithms():
        if key in mapping:
            settings = _settings_of(key)
            algorithms[key] = parse(settings, _as_mapping(mapping[key], settings), f"{where}.{key}")
    for settings in algorithms.values():
        with at(where):
            settings.check(mapping)
    return Run(
        name,
        core.residual,
        reading.readouts,
        core.seed,
        core.layers,
        core.value_residual,
        algorithms,
        core.steps,
        core.rung,
    )


def _settings_of(algorithm: str) -> type[AlgorithmSettings]:
    module = importlib.import_module(f"perlayer.algorithms.{algorithm}.settings")
    settings = getattr(module, "Settings", None)
    if not (isinstance(settings, type) and issubclass(settings, AlgorithmSettings)):
        raise UserError(f"{module.__file__}: expected a dataclass Settings(AlgorithmSettings), found {settings!r}")
    return settings


def _as_mapping(value: Any, settings: type) -> Any:
    """What stands at the key of an algorithm; a value that stands alone belongs to the only field."""
    names = list(settings.__dataclass_fields__)
    return value if isinstance(value, Mapping) or value is None or len(names) != 1 else {names[0]: value}
