"""The loss after every layer, as a pure function."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from perlayer.losses.known_gradients import gradients_at_once, with_known_gradients
from perlayer.losses.linear_cross_entropy import linear_cross_entropy
from perlayer.model.decoder import Decoder
from perlayer.model.norm import rms_norm


def layer_loss(
    decoder: Decoder,
    readouts: nn.ModuleDict | None,
    kind: str,
    layer: int,
    tap: Tensor,
    targets: Tensor,
    reduction: str = "mean",
) -> Tensor:
    """The next-token loss read after a layer below the last, in nats.

    Args:
        decoder: owner of the final norm and head that `shared` kinds read through.
        readouts: for `probes` and `separate`, a `Readout` for each layer, keyed by its number.
        kind: `probes` (own readout on the detached tap), `separate` (own readout), `shared` (the model's own final
            norm and head) or `shared_stop_gradient` (the same, not updated by this loss).
        tap: residual stream after the layer, (batch, length, hidden).
        targets: token ids (batch, length).
        reduction: "mean" or "none", as in `linear_cross_entropy`.
    """

    def read(tap: Tensor, norm: Tensor, weight: Tensor) -> Tensor:
        hidden = rms_norm(tap, norm, decoder.config.norm_epsilon)
        return linear_cross_entropy(hidden, weight, targets, reduction=reduction)

    if kind in ("probes", "separate"):
        readout = readouts[str(layer)]
        norm, weight = readout.norm.weight, readout.lm_head.weight
        if kind == "probes" and reduction == "mean":
            return gradients_at_once(read, tap.detach(), norm, weight)
        return read(tap, norm, weight)
    norm, weight = decoder.model.norm.weight, decoder.lm_head.weight
    if kind == "shared_stop_gradient":
        norm, weight = norm.detach(), weight.detach()
    return read(tap, norm, weight)


def for_the_readout_alone(loss: Tensor, readout: nn.Module) -> Tensor:
    """The same scalar, with its gradient for the parameters of `readout` and none for anything else it came from."""
    parameters = list(readout.parameters())
    return with_known_gradients(loss.detach(), parameters, torch.autograd.grad(loss, parameters))
