"""The losses of later tokens, as pure functions."""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn import functional

from perlayer.algorithms.ahead import positions_ahead
from perlayer.losses.linear_cross_entropy import linear_cross_entropy
from perlayer.model.decoder import Decoder
from perlayer.model.norm import rms_norm


def future_losses(
    decoder: Decoder,
    modules: nn.ModuleDict,
    form: str,
    taps: list[Tensor],
    tokens: Tensor,
    *,
    trains_model: bool = True,
    reduction: str = "mean",
) -> dict[int, Tensor]:
    """The loss of each later token in nats, keyed by how far ahead it lies; one token's logits are formed at a time.

    Args:
        modules: as `future_modules` makes them.
        form: sequential or parallel.
        taps: of the decoder, from its embedding to its last layer.
        tokens: (batch, length + 1).
        trains_model: whether the losses have a gradient for the model, or for `modules` alone.
        reduction: "mean", or "none" for (batch, length + 1 - ahead).
    """

    def shared(tensor: Tensor) -> Tensor:
        return tensor if trains_model else tensor.detach()

    mask, epsilon = decoder.mask(tokens[:, :-1]), decoder.config.norm_epsilon
    stream = shared(taps[-1] if form == "sequential" else taps[-2])
    losses = {}
    for key, module in modules.items():
        ahead = int(key)
        if form == "sequential":
            embedding = shared(decoder.model.embed_tokens(tokens_ahead(tokens, ahead - 1)))
            stream = hidden = module(stream, embedding, decoder, mask)
            norm = module.layer.model.norm.weight
        else:
            hidden = module(stream, decoder, mask)
            norm = shared(decoder.model.norm.weight)
        hidden, targets = positions_ahead(hidden, tokens, ahead)
        head = shared(decoder.lm_head.weight)
        losses[ahead] = linear_cross_entropy(rms_norm(hidden, norm, epsilon), head, targets, reduction=reduction)
    return losses


def tokens_ahead(tokens: Tensor, ahead: int) -> Tensor:
    """Token t + `ahead` at every position t, (batch, length), from `tokens` (batch, length + 1).

    Beyond the sequence's end stands token 0; since attention is causal, only positions without a target see it.
    """
    return functional.pad(tokens[:, ahead:], (0, ahead - 1))
