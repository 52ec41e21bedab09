"""How heavy the loss read after each layer is: shapes over depth, schedules over training.

A new shape or schedule is a function here with its name in one of the dictionaries; what it needs to be told are its
keyword arguments, each a `float` from 0, an `int` from 1 or a `list[float]`. Plain Python, since choices are checked
before anything heavy is imported.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from perlayer.errors import require


@dataclass(frozen=True)
class Moment:
    """Where the training of a model stands."""

    layers: int
    step: int = 0  # 0 for the first update
    steps: int = 1  # updates of the whole run
    losses: Mapping[int, float] = field(default_factory=dict)  # what was just read after each layer below the last


# Shapes give the weight after layer k of L, counted from 1.


def uniform(layer: int, layers: int, *, weight: float = 1.0) -> float:
    """The same weight at every layer below the last; weight 1/(L-1) makes them sum to one."""
    return weight


def linear(layer: int, layers: int, *, weight: float = 1.0) -> float:
    """Rises with depth, weight * 2k/L: the mean weight of layers 1 to L-1 is `weight` (Chai 2026)."""
    return weight * 2 * layer / layers


def single(layer: int, layers: int, *, at: int, weight: float) -> float:
    """One layer alone, as LLAL taps the first of its experts (Jin et al. 2026)."""
    require(at < layers, "weighting.at", f"a layer below the last of {layers}", at)
    return weight if layer == at else 0.0


def listed(layer: int, layers: int, *, weights: list[float]) -> float:
    """Any L-1 weights, one for each layer below the last."""
    expected = f"{layers - 1} numbers, one for each layer below the last"
    require(len(weights) == layers - 1, "weighting.weights", expected, weights)
    return weights[layer - 1]


def cumulated(layer: int, layers: int, *, scale: float = 1.0) -> float:
    """1 + 2 + ... + k, times scale below the last; then divided by their sum."""
    return _scaled(layer, layers, scale) * layer * (layer + 1) / 2


def square_root(layer: int, layers: int, *, scale: float = 1.0) -> float:
    """The square root of k, times scale below the last; then divided by their sum."""
    return _scaled(layer, layers, scale) * math.sqrt(layer)


def inverse(layer: int, layers: int, *, scale: float = 1.0) -> float:
    """1/k, times scale below the last; then divided by their sum."""
    return _scaled(layer, layers, scale) / layer


def layerskip(layer: int, layers: int, *, scale: float = 0.2) -> float:
    """LayerSkip's: scale * (0 + ... + k-1), at the last L-1 + scale * (0 + ... + L-2); then divided by their sum."""
    before = layer - 1  # the source counts layers from 0
    if layer < layers:
        return scale * before * (before + 1) / 2
    return before + scale * (before - 1) * before / 2


def _scaled(layer: int, layers: int, scale: float) -> float:
    return scale if layer < layers else 1.0


BESIDE_THE_FINAL_LOSS = {"uniform": uniform, "linear": linear, "single": single, "list": listed}  # which stays at 1
SHARES_OF_ONE = {"sum": cumulated, "sqrt": square_root, "inverse": inverse, "layerskip": layerskip}  # final loss too
SHAPES = {**BESIDE_THE_FINAL_LOSS, **SHARES_OF_ONE}


# Schedules give how much of its weight layer k, counted from 1, has at a moment; the last layer always has all of it.


def constant(layer: int, moment: Moment) -> float:
    """All of it at every update."""
    return 1.0


def linear_to_zero(layer: int, moment: Moment, *, steps: int) -> float:
    """Falls from all to nothing over the first `steps` updates."""
    return max(0.0, 1.0 - moment.step / steps)


def off(layer: int, moment: Moment, *, step: int) -> float:
    """All of it in the first `step` updates, then nothing."""
    return float(moment.step < step)


def rotational(layer: int, moment: Moment, *, every: int) -> float:
    """LayerSkip's: one layer in `every`, at each update the next one, so that `every` updates give each its turn."""
    return float((layer - 1 - moment.step) % every == 0)


def gradual(layer: int, moment: Moment) -> float:
    """LayerSkip's: layers join from the last but one downwards, layer k after (L-k+1)/(2L) of the run, all at half."""
    return float(2 * moment.layers * moment.step >= moment.steps * (moment.layers - layer + 1))


def threshold(layer: int, moment: Moment, *, loss: float) -> float:
    """Deeply-Supervised Nets': nothing while the layer's loss is at most `loss`, else 1 - t/N at update t of N."""
    return 1.0 - moment.step / moment.steps if moment.losses[layer] > loss else 0.0


BY_STEP = {
    "constant": constant,
    "linear_to_zero": linear_to_zero,
    "off": off,
    "rotational": rotational,
    "gradual": gradual,
}
BY_LOSS = {"threshold": threshold}  # known only once the losses are
SCHEDULES = {**BY_STEP, **BY_LOSS}

SECTIONS = {"weighting": ("shape", SHAPES), "schedule": ("kind", SCHEDULES)}
DEFAULTS = {"weighting": {"shape": "uniform"}, "schedule": {"kind": "constant"}}


def layer_weights(
    weighting: Mapping[str, Any] | None, schedule: Mapping[str, Any] | None, moment: Moment
) -> dict[int, float]:
    """The weight of the loss read after each layer, 1 to L; that of layer L is the final loss's.

    With s(k) the shape and c(k) the schedule, c(L) = 1: c(k) s(k) below the last layer and 1 there, or, for shapes that
    are shares of one, c(k) s(k) / (sum over i of c(i) s(i)) at every layer.

    Args:
        weighting: a shape and what it needs, as in params.yaml; None: each weight is 1.
        schedule: a kind and what it needs; None: constant.

    Raises:
        InvalidValue: the shape does not fit a model of that many layers.
    """
    shape, amounts = _chosen("weighting", weighting)
    share, arguments = _chosen("schedule", schedule)
    last = moment.layers
    weights = {layer: share(layer, moment, **arguments) * shape(layer, last, **amounts) for layer in range(1, last)}
    if not weights or shape not in SHARES_OF_ONE.values():
        return {**weights, last: 1.0}
    weights[last] = shape(last, last, **amounts)
    total = math.fsum(weights.values())
    return {layer: weight / total for layer, weight in weights.items()}


def needs_losses(schedule: Mapping[str, Any] | None) -> bool:
    """Whether the weights of a step follow from the losses of that step."""
    return _chosen("schedule", schedule)[0] in BY_LOSS.values()


def _chosen(section: str, mapping: Mapping[str, Any] | None) -> tuple[Callable[..., float], dict[str, Any]]:
    name, functions = SECTIONS[section]
    arguments = dict(DEFAULTS[section] if mapping is None else mapping)
    return functions[arguments.pop(name)], arguments


def arguments_of(function: Callable[..., float]) -> dict[str, inspect.Parameter]:
    """What a shape or a schedule is told in params.yaml, by name."""
    parameters = inspect.signature(function).parameters
    return {name: one for name, one in parameters.items() if one.kind == inspect.Parameter.KEYWORD_ONLY}


def check_section(section: str, mapping: Mapping[str, Any]) -> None:
    """Raise `InvalidValue` unless `mapping` is a good `weighting` or `schedule`, whatever the model's depth."""
    name, functions = SECTIONS[section]
    chosen = mapping.get(name)
    known = isinstance(chosen, str) and chosen in functions
    require(known, f"{section}.{name}", f"one of {', '.join(functions)}", chosen)
    arguments = arguments_of(functions[chosen])
    needed = {name, *(key for key, one in arguments.items() if one.default is one.empty)}
    keys = [name, *arguments]
    expected = f"the keys {', '.join(keys)}" if arguments else f"the key {name} alone"
    require(needed <= mapping.keys() <= set(keys), section, expected, dict(mapping))
    for key, one in arguments.items():
        if key in mapping:
            kind, fits = VALUES[one.annotation]
            require(fits(mapping[key]), f"{section}.{key}", kind, mapping[key])


def _is_amount(value: Any) -> bool:
    return type(value) in (int, float) and math.isfinite(value) and value >= 0


VALUES = {
    "float": ("a number from 0", _is_amount),
    "int": ("a whole number from 1", lambda value: type(value) is int and value >= 1),
    "list[float]": ("a list of numbers from 0", lambda value: type(value) is list and all(map(_is_amount, value))),
}
