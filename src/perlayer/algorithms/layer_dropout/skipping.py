"""Which sequences skip which layers, and how a layer is skipped."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from perlayer.errors import InvalidValue
from perlayer.model.decoder import Decoder, run_layer
from perlayer.model.initialization import random_stream
from perlayer.model.residual.protocol import ResidualDesign, Sublayer


def skip_probability(layer: int, layers: int, step: int, steps: int, most: float, over_training: str) -> float:
    """How likely a sequence is to skip a layer: p = S(t) D(l) p_max (LayerSkip, section 4.1.1).

    D(l) = exp(l ln2 / (L - 1)) - 1 rises from 0 to 1 over l = 0 .. L - 1. S(t) is 1 where `over_training` is constant;
    where it is exponential, S(t) = exp(t ln2 / (T - 1)) - 1 rises from 0 to 1 over the updates t = 0 .. T - 1.

    Args:
        layer: from 1, so that l is one less.
        layers: L.
        step: updates before this one, t.
        steps: T.
        most: p_max.
        over_training: exponential or constant.
    """
    over_time = 1.0 if over_training == "constant" else _rise(step, steps)
    return over_time * _rise(layer - 1, layers) * most


def _rise(place: int, places: int) -> float:
    """exp(i ln2 / (n - 1)) - 1: from 0 to 1 over n places, and 0 at an only one."""
    return math.expm1(place * math.log(2) / (places - 1)) if places > 1 else 0.0


def draw_skips(seed: int, step: int, probabilities: list[float], sequences: int) -> Tensor:
    """Which sequences of an update skip which layers; every draw is independent of the others.

    The outcome depends on the arguments alone, and no random state of torch is read or changed.

    Args:
        seed: of the run.
        step: updates before this one.
        probabilities: one a layer.
        sequences: of the update.

    Returns:
        bool (sequences, layers), on the CPU.
    """
    stream = random_stream(seed, f"layer_dropout/{step}")
    draws = torch.rand(sequences, len(probabilities), dtype=torch.float64, generator=stream)
    return draws < torch.tensor(probabilities, dtype=torch.float64)


@torch.no_grad()
def require_steady_state(decoder: Decoder) -> None:
    """Raise `InvalidValue` unless what leaves a layer has the shape of what entered it: one is to stand for both."""
    states = []

    def fork(layer: int, before: Any, after: Any, run: Callable[[Any], Any] | None) -> tuple[Any, Any]:
        states.append(after)
        return after, after

    usual, decoder.run_layer = decoder.run_layer, run_layer  # one token is nothing to compile for
    try:
        decoder(torch.zeros(1, 1, dtype=torch.long, device=decoder.lm_head.weight.device), fork)
    finally:
        decoder.run_layer = usual
    if not all(map(_alike, states, states[1:])):
        expected = "a residual design whose state keeps its shape from layer to layer"
        raise InvalidValue("layer_dropout", expected, decoder.config.design)


class SkippingLayer:
    """Runs a layer and passes the state of some sequences by it.

    Stands in the place of a decoder's `run_layer`, plain or compiled, which it calls with all sequences or not at all.
    """

    def __init__(self, run_layer: Callable[..., Any]):
        self.run_layer = run_layer
        self.skips: Tensor | None = None  # bool (batch, layers), on the CPU; None: no sequence skips any

    def __call__(
        self,
        design: ResidualDesign,
        state: Any,
        attention: Sublayer,
        mlp: Sublayer,
        rotary: tuple[Tensor, Tensor],
        mask: Tensor | None,
    ) -> Any:
        if self.skips is None:
            return self.run_layer(design, state, attention, mlp, rotary, mask)
        skips = self.skips[:, attention.layer - 1]
        if skips.all():
            return passed_by(state, attention.block)
        after = self.run_layer(design, state, attention, mlp, rotary, mask)
        return choose(skips, state, after) if skips.any() else after


def choose(skips: Tensor, before: Any, after: Any) -> Any:
    """The state `before` for sequences that skip, and `after` for the others.

    Args:
        skips: bool (batch,).
        before: tensors (batch, ...), or tuples, lists and dictionaries of such.
        after: the same.
    """

    def chosen(before: Tensor, after: Tensor) -> Tensor:
        return torch.where(skips.to(after.device).view(-1, *[1] * (after.ndim - 1)), before, after)

    return _each(chosen, before, after)


def passed_by(state: Any, block: nn.Module) -> Any:
    """The state as it is, for a layer that every sequence skips.

    The parameters of the layer take a gradient of zero, as they do from each sequence that skips it beside others: the
    optimizer and processes that train together expect one.
    """
    return _each(lambda tensor: _PassedBy.apply(tensor, *block.parameters()), state)


def _each(function: Callable[..., Tensor], *states: Any) -> Any:
    """`function` of every tensor of one state, or of every pair of tensors of two alike."""
    one = states[0]
    if isinstance(one, Tensor):
        return function(*states)
    if isinstance(one, dict):
        return {key: _each(function, *(state[key] for state in states)) for key in one}
    return type(one)(_each(function, *parts) for parts in zip(*states, strict=True))


def _alike(before: Any, after: Any) -> bool:
    """Whether two states hold tensors of the same shapes in the same places, so that one may stand for the other."""
    if isinstance(before, Tensor) and isinstance(after, Tensor):
        return before.shape == after.shape
    if isinstance(before, dict) and isinstance(after, dict):
        return before.keys() == after.keys() and all(_alike(before[key], after[key]) for key in before)
    sequences = isinstance(before, (tuple, list)) and type(before) is type(after) and len(before) == len(after)
    return sequences and all(map(_alike, before, after))


class _PassedBy(torch.autograd.Function):
    @staticmethod
    def forward(ctx, state, *parameters):
        ctx.save_for_backward(*parameters)
        return state.view_as(state)

    @staticmethod
    @once_differentiable
    def backward(ctx, gradient):
        wanted = ctx.needs_input_grad
        zeros = [torch.zeros_like(p) if wants else None for p, wants in zip(ctx.saved_tensors, wanted[1:])]
        return gradient if wanted[0] else None, *zeros
