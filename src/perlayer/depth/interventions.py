"""The one way to intervene in a finished model: run it, then run it again with parts replaced.

A model is run through its residual design's protocol alone, so every design and every published model is treated alike.
The residual h at a place is what the model's own head would read if the model ended there. In a design with one stream
that is the stream; with several it is their sum; with attention over depth it is the head's read of the sources so far.
The contribution of a sublayer or a layer is the residual after it minus the residual before it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from perlayer.errors import UserError
from perlayer.model.decoder import Decoder
from perlayer.model.residual.protocol import Sublayer

SUBLAYERS = ("attention", "mlp")
PARTS = ("layer", *SUBLAYERS)  # what of a layer is skipped, or has a contribution
TOKENS_AT_ONCE = 2**13


@dataclass(frozen=True, eq=False)
class Replacement:
    """What is replaced, where, and by what.

    - `attention`, `mlp`: what that sublayer of layer `layer` (from 1) gives to the residual design.
    - `layer`: the same of both its sublayers; by nothing alone.
    - `residual`: the residual stream after layer `layer`, 0 being the embedding.

    Raises:
        ValueError: there is no such part or layer, or a whole layer is to be replaced by something.
    """

    part: str
    layer: int
    positions: Tensor  # bool, broadcast to (batch, length): where; elsewhere everything stays as it is
    by: Tensor | None = None  # broadcast to what is replaced, (batch, length, ..., hidden); None: nothing, zero

    def __post_init__(self):
        if self.part not in (*PARTS, "residual"):
            raise ValueError(f"part: expected one of {', '.join(PARTS)} and residual, found {self.part!r}")
        if self.layer < (0 if self.part == "residual" else 1):
            raise ValueError(f"layer: expected a layer from 1, or 0 for the embedding's residual, found {self.layer}")
        if self.part == "layer" and self.by is not None:
            raise ValueError("by: expected nothing for a whole layer; replace its sublayers or the residual after it")

    @property
    def first_layer(self) -> int:
        """The first layer that does not run as before."""
        return self.layer + 1 if self.part == "residual" else self.layer


@dataclass(frozen=True, eq=False)
class Intervention:
    """What is replaced in one run, and whether later layers pass the change on.

    Where it does not propagate, what is written after the replacement is what the untouched run wrote: each later layer
    reads the untouched stream without the replaced part, and what it then gives is measured and dropped.
    """

    replacements: tuple[Replacement, ...]
    propagates: bool = True

    def first_layer(self, layers: int) -> int:
        """The first layer that does not run as in the untouched model of so many layers; layers + 1: none."""
        return min([replacement.first_layer for replacement in self.replacements], default=layers + 1)


def skip(part: str, layer: int, positions: Tensor, propagates: bool = True) -> Intervention:
    """Leave out a layer, or one of its sublayers, at some positions."""
    return Intervention((Replacement(part, layer, positions),), propagates)


@dataclass(frozen=True, eq=False)
class Trace:
    """What one run has left; all tensors (batch, length, hidden).

    Where an intervention does not propagate, contributions and outputs are those that layers would give, and residuals
    those that they read.
    """

    residuals: tuple[Tensor, ...]  # after each layer, from 0: the embedding
    contributions: dict[tuple[int, str], Tensor]  # by layer and part: attention, mlp or layer
    outputs: dict[tuple[int, str], Tensor]  # by layer and sublayer: what it gives to the residual design
    tap: Tensor  # what the model's own norm and head read; `Decoder.logits` gives the logits


@dataclass(frozen=True, eq=False)
class UntouchedRun(Trace):
    """A run without interventions, from which others start."""

    tokens: Tensor  # (batch, length)
    states: tuple[Any, ...]  # of the residual design, after each layer, from 0


def run(decoder: Decoder, tokens: Tensor) -> UntouchedRun:
    """Run the model as it is; its taps and logits are those of `Decoder.forward`, bit for bit.

    Args:
        tokens: integers (batch, length).
    """
    start = decoder.design.start(decoder.model.embed_tokens(tokens))
    steps = list(_steps(decoder, start, 1, _context(decoder, tokens), lambda place, value: value, None))
    return UntouchedRun(
        residuals=(_residual(decoder, start), *(step.residual for step in steps)),
        contributions={key: value for step in steps for key, value in step.contributions.items()},
        outputs={key: value for step in steps for key, value in step.outputs.items()},
        tap=decoder.design.tap(steps[-1].state, decoder.config.layers),
        tokens=tokens,
        states=(start, *(step.state for step in steps)),
    )


def rerun(
    decoder: Decoder,
    untouched: UntouchedRun,
    interventions: Sequence[Intervention],
    tokens_at_once: int = TOKENS_AT_ONCE,
) -> Iterator[Trace]:
    """Run the same tokens once for each intervention, in their order.

    Layers before the first change are not run again. Neighbouring interventions that begin at the same layer run
    together in one batch, as far as `tokens_at_once` lets them.

    Raises:
        UserError: the residual is to be replaced in a design that has no running residual.
        ValueError: the model has no layer that is to be replaced.
    """
    for replacement in (each for intervention in interventions for each in intervention.replacements):
        if replacement.layer > decoder.config.layers:
            raise ValueError(f"layer: expected at most {decoder.config.layers}, found {replacement.layer}")
    batch, length = untouched.tokens.shape
    most = max(1, tokens_at_once // (batch * length))
    for chunk in _chunks(interventions, decoder.config.layers, most):
        yield from _run_together(decoder, untouched, chunk)


def running_residual(state: Any) -> Tensor | None:
    """The part of a design's state in which its residual runs, (batch, length, ..., hidden).

    One stream, several side by side, or either of them with what else the design carries; None where there is none,
    since sublayers attend over what earlier ones have given.
    """
    while isinstance(state, (tuple, list)):
        state = state[0]
    return state if isinstance(state, Tensor) else None


def giving_nothing_changes_residual(decoder: Decoder, untouched: UntouchedRun, layer: int) -> bool:
    """Whether a running residual is not the same behind a layer whose sublayers give nothing: it is mixed or normed."""
    state = untouched.states[layer - 1]
    before = running_residual(state)
    if before is None:
        return False
    nothing = torch.zeros_like(untouched.outputs[layer, "attention"])
    block = decoder.model.layers[layer - 1]
    return any(
        not torch.equal(running_residual(decoder.design.write(state, sublayer, nothing)), before)
        for sublayer in _sublayers(layer, block)
    )


def first_of_text(decoder: Decoder, tokens: Tensor) -> Tensor:
    """Which tokens see no other: position 0, and the first of each document where documents are kept apart.

    Returns:
        bool (batch, length).
    """
    return visible(decoder, tokens).sum(-1) == 1


def visible(decoder: Decoder, tokens: Tensor) -> Tensor:
    """Which positions each position attends to, itself included: bool (batch, length, length)."""
    mask, (batch, length) = decoder.mask(tokens), tokens.shape
    if mask is None:
        causal = torch.ones(length, length, dtype=torch.bool, device=tokens.device).tril_()
        return causal.expand(batch, length, length)
    return mask[:, 0] == 0


@dataclass(frozen=True, eq=False)
class _Step:
    """One layer done: the state that goes on, the residual there, and what the layer has given."""

    state: Any
    residual: Tensor
    contributions: dict[tuple[int, str], Tensor]
    outputs: dict[tuple[int, str], Tensor]


Context = tuple[tuple[Tensor, Tensor], Tensor | None]  # rotary tables and attention mask
Replace = Callable[[tuple[int, str], Any], Any]  # of a place and what was computed there


def _context(decoder: Decoder, tokens: Tensor) -> Context:
    length = tokens.shape[1]
    return (decoder.rotary_cosine[:length], decoder.rotary_sine[:length]), decoder.mask(tokens)


def _residual(decoder: Decoder, state: Any) -> Tensor:
    """What the head would read of a state; one that is detached holds nothing made for its next sublayer."""
    return decoder.design.tap(decoder.design.detach(state), decoder.config.layers)


def _steps(
    decoder: Decoder,
    state: Any,
    first: int,
    context: Context,
    replace: Replace,
    written: dict[tuple[int, str], Tensor] | None,
) -> Iterator[_Step]:
    """Run the layers from `first` on.

    Args:
        state: what enters layer `first`.
        replace: called as `replace((layer, part), value)` with what a sublayer gives and with the state after a layer.
        written: what each sublayer writes instead of what it gives, unless that is replaced; None: what it gives.
    """
    design = decoder.design
    before = _residual(decoder, state)
    for layer in range(first, decoder.config.layers + 1):
        block = decoder.model.layers[layer - 1]
        attention, mlp = _sublayers(layer, block)
        attended, entered = design.attend(state, attention, *context)
        middle_state = design.write(entered, attention, replace((layer, "attention"), attended))
        transformed = block.mlp(design.read(middle_state, mlp))
        after_state = design.write(middle_state, mlp, replace((layer, "mlp"), transformed))
        middle, after = _residual(decoder, middle_state), _residual(decoder, after_state)
        contributions = {
            (layer, "attention"): middle - before,
            (layer, "mlp"): after - middle,
            (layer, "layer"): after - before,
        }
        if written is None:
            state = after_state
        else:
            state = design.write(entered, attention, replace((layer, "attention"), written[layer, "attention"]))
            state = design.write(state, mlp, replace((layer, "mlp"), written[layer, "mlp"]))
        replaced = replace((layer, "residual"), state)
        before = after if replaced is after_state else _residual(decoder, replaced)
        state = replaced
        yield _Step(state, before, contributions, {(layer, "attention"): attended, (layer, "mlp"): transformed})


def _sublayers(layer: int, block: nn.Module) -> tuple[Sublayer, Sublayer]:
    return Sublayer(2 * layer - 2, layer, "attention", block), Sublayer(2 * layer - 1, layer, "mlp", block)


def _chunks(interventions: Sequence[Intervention], layers: int, most: int) -> Iterator[list[Intervention]]:
    """Neighbours that begin at the same layer and propagate alike, at most so many together."""
    chunk: list[Intervention] = []
    for intervention in interventions:
        alike = bool(chunk) and (
            chunk[0].first_layer(layers) == intervention.first_layer(layers)
            and chunk[0].propagates == intervention.propagates
        )
        if chunk and (not alike or len(chunk) == most):
            yield chunk
            chunk = []
        chunk.append(intervention)
    if chunk:
        yield chunk


def _run_together(decoder: Decoder, untouched: UntouchedRun, chunk: list[Intervention]) -> Iterator[Trace]:
    """The traces of interventions that begin at the same layer and propagate alike, run as one batch."""
    layers, times = decoder.config.layers, len(chunk)
    first = chunk[0].first_layer(layers)

    def replace(place: tuple[int, str], value: Any) -> Any:
        return _replaced(value, place, chunk)

    def repeated(value: Any) -> Any:
        return _map(lambda part: part.repeat(times, *[1] * (part.ndim - 1)), value)

    entered = repeated(untouched.states[first - 1])
    start = replace((first - 1, "residual"), entered)
    rotary, mask = _context(decoder, untouched.tokens)
    written = None
    if not chunk[0].propagates:
        written = {place: repeated(output) for place, output in untouched.outputs.items() if place[0] >= first}
    steps = list(_steps(decoder, start, first, (rotary, repeated(mask)), replace, written))
    last = steps[-1].state if steps else start
    residuals = [step.residual for step in steps]
    if start is not entered:
        residuals.insert(0, _residual(decoder, start))
    usual = untouched.residuals[: layers + 1 - len(residuals)]
    tap = decoder.design.tap(last, layers)
    for number in range(times):
        mine = slice(number * len(untouched.tokens), (number + 1) * len(untouched.tokens))
        contributions, outputs = dict(untouched.contributions), dict(untouched.outputs)
        for step in steps:
            contributions.update({place: value[mine] for place, value in step.contributions.items()})
            outputs.update({place: value[mine] for place, value in step.outputs.items()})
        yield Trace(
            residuals=(*usual, *(residual[mine] for residual in residuals)),
            contributions=contributions,
            outputs=outputs,
            tap=tap[mine],
        )


def _replaced(value: Any, place: tuple[int, str], chunk: list[Intervention]) -> Any:
    """What was computed at a place for all of a chunk, with what is to be replaced in each replaced."""
    layer, part = place
    hits = [
        [each for each in intervention.replacements if each.layer == layer and part in _parts(each)]
        for intervention in chunk
    ]
    if not any(hits):
        return value
    if part == "residual":
        residual = running_residual(value)
        if residual is None:
            raise UserError("expected a residual design with a running residual, found one that attends over depth")
        return _with_residual(value, _replaced_in(residual, hits))
    return _replaced_in(value, hits)


def _parts(replacement: Replacement) -> tuple[str, ...]:
    return SUBLAYERS if replacement.part == "layer" else (replacement.part,)


def _replaced_in(value: Tensor, hits: list[list[Replacement]]) -> Tensor:
    """`value` (interventions x batch, length, ...), in which those of each intervention are replaced."""
    parts = list(value.unflatten(0, (len(hits), -1)))
    for number, replacements in enumerate(hits):
        for each in replacements:
            part = parts[number]
            positions = each.positions.expand(part.shape[:2]).view(*part.shape[:2], *[1] * (part.ndim - 2))
            parts[number] = torch.where(positions, part.new_zeros(()) if each.by is None else each.by, part)
    return torch.stack(parts).flatten(0, 1)


def _with_residual(state: Any, residual: Tensor) -> Any:
    """A state whose `running_residual` is another."""
    if isinstance(state, Tensor):
        return residual
    return type(state)((_with_residual(state[0], residual), *state[1:]))


def _map(function: Callable[[Tensor], Tensor], state: Any) -> Any:
    """A state with each of its tensors changed."""
    if isinstance(state, Tensor):
        return function(state)
    if isinstance(state, dict):
        return {name: _map(function, part) for name, part in state.items()}
    if isinstance(state, (tuple, list)):
        return type(state)(_map(function, part) for part in state)
    return state
