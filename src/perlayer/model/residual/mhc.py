"""mHC, manifold-constrained Hyper-Connections (Xie et al. 2025, section 4; arXiv 2512.24880; recipe 6b, row 7).

Four residual streams X (streams, hidden) at each token: X <- A X + w F(RMSNorm(r X)). All weights come from one
projection of the RMS-normed streams side by side: r = sigmoid, w = 2 sigmoid, and A is made doubly stochastic by
Sinkhorn's rounds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from perlayer.model.residual import hyper_connections
from perlayer.model.residual.hyper_connections import STREAMS, normed_projection

if TYPE_CHECKING:
    from perlayer.model.config import ModelConfig

ROUNDS = 20
GAIN = 0.01  # what the projections start with
SHARP = 8.0  # the bias of what is to start at nearly one or nearly zero
LEAST = -60.0  # of a logit below the largest in its column: scaling factors stay within float32


class Connection(nn.Module):
    """How one sublayer reads and writes the streams; it starts as nearly Pre-LN on one of them."""

    def __init__(self, config: ModelConfig, sublayer: int):
        """`sublayer` counts from 0 over the whole model."""
        super().__init__()
        self.epsilon = config.norm_epsilon
        parts = (
            SHARP * (2 * torch.eye(STREAMS)[sublayer % STREAMS] - 1),
            torch.zeros(STREAMS),
            self.mixing_bias(),
        )
        self.parts = [len(part) for part in parts]  # read, write, mixing
        self.projection = nn.Parameter(torch.zeros(sum(self.parts), STREAMS * config.hidden_size))
        self.bias = nn.Parameter(torch.cat(parts))
        self.gains = nn.Parameter(torch.full((len(parts),), GAIN))

    def mixing_bias(self) -> Tensor:
        """The logits of the mixing matrix before a token adds to them."""
        return SHARP * (torch.eye(STREAMS) - 1).flatten()

    def mixing(self, logits: Tensor) -> Tensor:
        """From logits (streams x streams, ...) the matrices, (streams after, streams before, ...)."""
        logits = logits.unflatten(0, (STREAMS, STREAMS))
        # rounds begin with columns, which take whatever scale a column has
        highest = logits.detach().amax(0, keepdim=True)
        return sinkhorn((logits - highest).clamp_min(LEAST).exp().flatten(2)).view_as(logits)

    def read_weights(self, streams: Tensor) -> Tensor:
        """As `hyper_connections.StaticConnection`'s."""
        return _by_token(self._logits(streams)[0].sigmoid(), 1)

    def write_weights(self, streams: Tensor) -> tuple[Tensor, Tensor]:
        _, write, mixing = self._logits(streams)
        return _by_token(2 * write.sigmoid(), 1), _by_token(self.mixing(mixing), 2)

    def _logits(self, streams: Tensor) -> tuple[Tensor, ...]:
        """Of read, write and mixing, (each, batch, length); compiled, a layer computes them once a sublayer."""
        projected = normed_projection(streams.flatten(-2), self.projection, self.epsilon)
        pairs = zip(projected.split(self.parts), self.bias.split(self.parts), self.gains)
        return tuple(gain * part + bias[:, None, None] for part, bias, gain in pairs)


def _by_token(planes: Tensor, axes: int) -> Tensor:
    """The first axes last, laid out anew: what is broadcast over hidden is slow to read across planes."""
    return planes.movedim(tuple(range(axes)), tuple(range(-axes, 0))).contiguous()


class Design(hyper_connections.Design):
    """Hyper-Connections whose streams are mixed by doubly stochastic matrices."""

    connection = Connection


@torch.library.custom_op("perlayer::sinkhorn", mutates_args=())
def sinkhorn(matrices: Tensor) -> Tensor:
    """Twenty rounds of Sinkhorn: columns are divided by their sums, then rows by theirs.

    Rounds change two vectors by which rows and columns are scaled, not the matrices. It is an operator of its own,
    since unrolled it takes minutes to compile; backward runs the rounds again and keeps nothing but its input.

    Args:
        matrices: positive, (rows, columns, tokens): each entry a plane of its own.

    Returns:
        The same shape; rows sum to one, and columns nearly.
    """
    rows, columns = _factors(matrices, matrices.transpose(0, 1).contiguous())
    return (matrices * rows[-1][:, None]).mul_(columns[-1])


@torch.library.custom_op("perlayer::sinkhorn_backward", mutates_args=())
def _sinkhorn_backward(grad: Tensor, matrices: Tensor) -> Tensor:
    """The gradient of `matrices`, back through every round."""
    turned = matrices.transpose(0, 1).contiguous()
    rows, columns = _factors(matrices, turned)
    total = grad * rows[-1][:, None]
    grad_column = (total * matrices).sum(0)
    total.mul_(columns[-1])
    grad_row = (total * matrices).sum(1).div_(rows[-1])
    scratch = torch.empty_like(matrices)
    for round in reversed(range(ROUNDS)):
        # rows[round + 1] = 1 / (matrices x columns[round]); a factor's square alone might overflow
        inner = grad_row.mul_(rows[round + 1]).mul_(rows[round + 1]).neg_()
        total.addcmul_(inner[:, None], columns[round])
        step = torch.mul(turned, inner, out=scratch).sum(1).add_(grad_column)
        inner = step.mul_(columns[round]).mul_(columns[round]).neg_()
        grad_column = 0.0  # only the last factors enter the outcome themselves
        total.addcmul_(rows[round][:, None], inner)
        grad_row = torch.mul(matrices, inner, out=scratch).sum(1)
    return total


def _factors(matrices: Tensor, turned: Tensor) -> tuple[Tensor, Tensor]:
    """The factors of rows before each round and after the last, and those of columns in each round.

    Args:
        matrices: (rows, columns, tokens).
        turned: the same with columns first, so that both sums run over one layout.
    """
    _, streams, tokens = matrices.shape
    rows = matrices.new_ones(ROUNDS + 1, streams, tokens)
    columns = matrices.new_empty(ROUNDS, streams, tokens)
    scratch = torch.empty_like(turned)
    for round in range(ROUNDS):
        torch.sum(torch.mul(turned, rows[round], out=scratch), 1, out=columns[round]).reciprocal_()
        torch.sum(torch.mul(matrices, columns[round], out=scratch), 1, out=rows[round + 1]).reciprocal_()
    return rows, columns


@sinkhorn.register_fake
def _(matrices):
    return torch.empty_like(matrices)


@_sinkhorn_backward.register_fake
def _(grad, matrices):
    return torch.empty_like(matrices)


def _keep(ctx, inputs, output):
    ctx.save_for_backward(*inputs)


def _backward(ctx, grad):
    return _sinkhorn_backward(grad.contiguous(), *ctx.saved_tensors)


sinkhorn.register_autograd(_backward, setup_context=_keep)
