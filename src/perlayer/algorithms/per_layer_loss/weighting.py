"""How heavy the loss read after each layer is: a shape over depth, a schedule over training, a file each."""

from __future__ import annotations

import importlib
import inspect
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from perlayer.algorithms.per_layer_loss.schedules import constant
from perlayer.algorithms.per_layer_loss.shapes import uniform
from perlayer.algorithms.per_layer_loss.training_state import TrainingState
from perlayer.errors import UserError, require
from perlayer.params import MOST_STEPS, is_number

LEAST, MOST = 1e-6, 1e6  # beyond, float32 loses a readout's gradients beside the optimizer's epsilon, or their squares
AMOUNT = "0, or 1e-6 to 1e6"


class Section(NamedTuple):
    """A key of a run that names one file of a folder, and what that file needs to be told."""

    folder: str
    name: str  # the key that names the file
    function: str
    says: str  # a constant of each file, true or false
    default: ModuleType  # the file that stands for an absent section


SECTIONS = {
    "weighting": Section("shapes", "shape", "weight", "NORMALIZED", uniform),
    "schedule": Section("schedules", "kind", "share", "NEEDS_LOSSES", constant),
}


def choices(section: str) -> list[str]:
    """The names that a section may choose from: the files of its folder."""
    folder = Path(__file__).parent / SECTIONS[section].folder
    return sorted(path.stem for path in folder.glob("*.py") if path.stem != "__init__")


def function_of(section: str, choice: str) -> Callable[..., float]:
    """The function of a choice."""
    return getattr(_module(section, choice), SECTIONS[section].function)


def layer_weights(
    weighting: Mapping[str, Any] | None, schedule: Mapping[str, Any] | None, state: TrainingState
) -> dict[int, float]:
    """The weight of the loss read after each layer, 1 to L; that of layer L is the final loss's.

    With s(k) the shape and c(k) the schedule, c(L) = 1: c(k) s(k) below the last layer and 1 there, or, for shapes that
    are normalized, c(k) s(k) / (sum over i of c(i) s(i)) at every layer.

    Args:
        weighting: a shape and what it needs, as in params.yaml; None: each weight is 1.
        schedule: a kind and what it needs; None: constant.

    Raises:
        InvalidValue: the shape does not fit a model of that many layers.
    """
    shape, amounts = _chosen("weighting", weighting)
    kind, arguments = _chosen("schedule", schedule)
    last = state.layers
    weights = {
        layer: kind.share(layer, state, **arguments) * shape.weight(layer, last, **amounts) for layer in range(1, last)
    }
    weights[last] = shape.weight(last, last, **amounts)  # asked at any depth, since it checks the shape
    if last == 1 or not shape.NORMALIZED:
        return {**weights, last: 1.0}
    total = math.fsum(weights.values())
    return {layer: weight / total for layer, weight in weights.items()}


def describe(
    weighting: Mapping[str, Any] | None, schedule: Mapping[str, Any] | None, state: TrainingState
) -> dict[str, Any]:
    """The columns of the table of all runs that tell of weights.

    `weighting`, `schedule`: shape and kind with what they are told, in words; durations in updates. `total`: the sum of
    the weights of all layers below the last, beside 1 for the last; None for shapes that are normalized with it.
    `weighted_layers`: how many layers below the last have a weight. `schedule_kind`. `ends`: after how many updates
    nothing is left of the layer losses; None where there is no such end.

    Args:
        state: of the run, at any update.
    """
    shape, amounts = _chosen("weighting", weighting)
    kind, arguments = _chosen("schedule", schedule)
    weights = [shape.weight(layer, state.layers, **amounts) for layer in range(1, state.layers)]
    return {
        "weighting": _in_words("weighting", weighting, state),
        "total": None if shape.NORMALIZED else math.fsum(weights),
        "weighted_layers": sum(weight > 0 for weight in weights),
        "schedule": _in_words("schedule", schedule, state),
        "schedule_kind": _choice("schedule", schedule),
        "ends": kind.ends(state, **arguments) if hasattr(kind, "ends") else None,
    }


def _in_words(section: str, mapping: Mapping[str, Any] | None, state: TrainingState) -> str:
    """A choice and all that it is told or takes for granted; a single argument stands without its name."""
    choice = _choice(section, mapping)
    module, words = _module(section, choice), {}
    for name, argument in arguments_of(function_of(section, choice)).items():
        value = (mapping or {}).get(name, argument.default)
        value = state.updates(value) if _type_of(argument, module) == "Duration" else value
        words[name] = " ".join(f"{each:g}" for each in (value if isinstance(value, list) else [value]))
    told = ", ".join(words.values() if len(words) == 1 else (f"{name} {value}" for name, value in words.items()))
    return f"{choice.replace('_', ' ')} {told}".strip()


def needs_losses(schedule: Mapping[str, Any] | None) -> bool:
    """Whether the weights of a step follow from the losses of that step."""
    return _chosen("schedule", schedule)[0].NEEDS_LOSSES


def files(weighting: Mapping[str, Any] | None, schedule: Mapping[str, Any] | None) -> list[str]:
    """The files of shape and schedule, from this folder."""
    chosen = {"weighting": weighting, "schedule": schedule}
    return [f"{SECTIONS[section].folder}/{_choice(section, mapping)}.py" for section, mapping in chosen.items()]


def _chosen(section: str, mapping: Mapping[str, Any] | None) -> tuple[ModuleType, dict[str, Any]]:
    arguments = {key: value for key, value in (mapping or {}).items() if key != SECTIONS[section].name}
    return _module(section, _choice(section, mapping)), arguments


def _choice(section: str, mapping: Mapping[str, Any] | None) -> str:
    return SECTIONS[section].default.__name__.rpartition(".")[2] if mapping is None else mapping[SECTIONS[section].name]


def _module(section: str, choice: str) -> ModuleType:
    module = importlib.import_module(f"{__package__}.{SECTIONS[section].folder}.{choice}")
    missing = [name for name in (SECTIONS[section].function, SECTIONS[section].says) if not hasattr(module, name)]
    if missing:
        raise UserError(f"{module.__file__}: expected {' and '.join(missing)}, as the other files of the folder have")
    return module


def arguments_of(function: Callable[..., float]) -> dict[str, inspect.Parameter]:
    """What a shape or a schedule is told in params.yaml, by name."""
    parameters = inspect.signature(function).parameters
    return {name: one for name, one in parameters.items() if one.kind == inspect.Parameter.KEYWORD_ONLY}


def check_section(section: str, mapping: Mapping[str, Any]) -> None:
    """Raise `InvalidValue` unless `mapping` is a good `weighting` or `schedule`, whatever the model's depth."""
    name = SECTIONS[section].name
    chosen, known = mapping.get(name), choices(section)
    require(isinstance(chosen, str) and chosen in known, f"{section}.{name}", f"one of {', '.join(known)}", chosen)
    arguments = arguments_of(function_of(section, chosen))
    needed = {name, *(key for key, one in arguments.items() if one.default is one.empty)}
    keys = [name, *arguments]
    expected = f"the keys {', '.join(keys)}" if arguments else f"the key {name} alone"
    require(needed <= mapping.keys() <= set(keys), section, expected, dict(mapping))
    for key, one in arguments.items():
        if key in mapping:
            kind, fits = VALUES[_type_of(one, _module(section, chosen))]
            require(fits(mapping[key]), f"{section}.{key}", kind, mapping[key])


def _type_of(argument: inspect.Parameter, module: ModuleType) -> str:
    found = argument.annotation
    if not isinstance(found, str):
        found = inspect.formatannotation(found)
    if found not in VALUES:
        known = ", ".join(VALUES)
        raise UserError(f"{module.__file__}: {argument.name}: expected one of the types {known}, found {found}")
    return found


def _is_amount(value: Any) -> bool:
    return is_number(value) and (value == 0 or LEAST <= value <= MOST)


def _is_count(value: Any) -> bool:
    return type(value) is int and 1 <= value <= MOST_STEPS


VALUES = {
    "float": (AMOUNT, _is_amount),
    "int": ("a whole number from 1", _is_count),
    "list[float]": (f"a list, each {AMOUNT}", lambda value: type(value) is list and all(map(_is_amount, value))),
    "Duration": (
        "updates, a whole number from 1, or a share of the run between 0 and 1",
        lambda value: _is_count(value) or type(value) is float and 0 < value < 1,
    ),
}
