"""Per-token gradient surgery, as a pure function and as a decoder's fork."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from perlayer.errors import InvalidValue
from perlayer.losses.linear_cross_entropy import accumulate_dtype
from perlayer.model.decoder import Decoder, Fork


def without_conflict(readout: Tensor, above: Tensor) -> Tensor:
    """The readout's gradient without what opposes the gradient from above, token by token.

    With g_r and g_a the two gradients of a token: g_r - (g_r.g_a / |g_a|^2) g_a where g_r.g_a < 0, and g_r itself
    elsewhere, bit for bit, also where g_a is 0. Computed in float32 at least. A positive factor that both share comes
    out as it is, so that a loss may be a microbatch's share.

    Args:
        readout: what the readouts of this layer send back, (..., hidden).
        above: what the next layer sends back, the same shape.
    """
    wide = accumulate_dtype(readout.dtype)
    wide_readout, wide_above = readout.to(wide), above.to(wide)
    product = (wide_readout * wide_above).sum(-1, keepdim=True)
    square = wide_above.square().sum(-1, keepdim=True)
    projected = torch.addcmul(wide_readout, product / square, wide_above, value=-1)
    return torch.where((product < 0) & (square > 0), projected.to(readout.dtype), readout)


def surgery(layers: int) -> Fork:
    """A fork at whose layers the gradient of the readout gives way to the gradient from above.

    The gradient from above holds the deeper readouts', after their own surgery. The last layer, above which there is
    none, and the embedding, which no readout reads, stay as they are.

    Args:
        layers: of the decoder.
    """

    def fork(layer: int, before: Any, after: Tensor, run: Callable[[Any], Any] | None) -> tuple[Tensor, Tensor]:
        return _Surgery.apply(after) if 0 < layer < layers else (after, after)

    return fork


class _Surgery(torch.autograd.Function):
    """One state for the readout and one for the next layer; both gradients are at hand when it is passed back."""

    @staticmethod
    def forward(ctx, state):
        ctx.set_materialize_grads(False)  # None where nothing comes back, as from a layer that is read without gradient
        return state.view_as(state), state.view_as(state)

    @staticmethod
    @once_differentiable
    def backward(ctx, readout, above):
        if readout is None or above is None:
            return above if readout is None else readout
        return without_conflict(readout, above) + above


def require_one_stream(decoder: Decoder) -> None:
    """Raise `InvalidValue` unless what flows between layers is one stream, in which a token has one gradient."""
    embedding = torch.zeros(1, 1, decoder.config.hidden_size, device=decoder.lm_head.weight.device)
    with torch.no_grad():
        state = decoder.design.start(embedding)
    if not isinstance(state, Tensor) or state.shape != embedding.shape:
        raise InvalidValue(
            "gradient_surgery", "a residual design with one stream between layers", decoder.config.design
        )
