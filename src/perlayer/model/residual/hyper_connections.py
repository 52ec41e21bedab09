"""Hyper-Connections, dynamic (Zhu et al. 2024, ICLR 2025, section 2; arXiv 2409.19606; recipe section 6b, row 6).

Four residual streams. A sublayer F reads x = sum_s r_s H_s, and every stream becomes
H_t <- sum_s A_st H_s + w_t F(RMSNorm(x)). The weights r, A and w are learned numbers, to which each token adds
a scale times tanh(RMS(H_s) W); W has a column for r, one for w and one for each stream in A.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from perlayer.model.norm import RMSNorm
from perlayer.model.residual.protocol import ResidualDesign, Sublayer

if TYPE_CHECKING:
    from perlayer.model.config import ModelConfig
    from perlayer.model.decoder import Decoder

STREAMS = 4
SCALE = 0.01  # what the dynamic part starts with


class StaticConnection(nn.Module):
    """How one sublayer reads and writes the streams, the same for every token; it starts as Pre-LN on one of them."""

    def __init__(self, config: ModelConfig, sublayer: int):
        """`sublayer` counts from 0 over the whole model."""
        super().__init__()
        self.read = nn.Parameter(torch.eye(STREAMS)[sublayer % STREAMS])
        self.write = nn.Parameter(torch.ones(STREAMS))
        self.mixing = nn.Parameter(torch.eye(STREAMS))  # (before, after), A of the paper

    def read_weights(self, streams: Tensor) -> Tensor:
        """What the sublayer takes of each of `streams` (batch, length, streams, hidden): (batch, length, streams)."""
        return self.read.expand(streams.shape[:-1])

    def write_weights(self, streams: Tensor) -> tuple[Tensor, Tensor]:
        """What each stream takes of the sublayer's output, and of each stream.

        Returns:
            (batch, length, streams) and (batch, length, streams after, streams before).
        """
        shape = streams.shape[:-1]
        return self.write.expand(shape), self.mixing.T.expand(*shape, STREAMS)


class HyperConnection(StaticConnection):
    """The weights of each token."""

    def __init__(self, config: ModelConfig, sublayer: int):
        super().__init__(config, sublayer)
        self.epsilon = config.norm_epsilon
        self.projection = nn.Parameter(torch.zeros(2 + STREAMS, config.hidden_size))  # r, w, then A by stream after
        self.input_scale = nn.Parameter(torch.tensor(SCALE))  # of r and A
        self.output_scale = nn.Parameter(torch.tensor(SCALE))  # of w

    def read_weights(self, streams: Tensor) -> Tensor:
        return self.read + self.input_scale * self._projected(streams)[0]

    def write_weights(self, streams: Tensor) -> tuple[Tensor, Tensor]:
        projected = self._projected(streams)
        write = self.write + self.output_scale * projected[1]
        return write, self.mixing.T + self.input_scale * projected[2:].movedim(0, -2)

    def _projected(self, streams: Tensor) -> Tensor:
        """tanh(RMS(H_s) W), (2 + streams, batch, length, streams); compiled, a layer computes it once a sublayer.

        As 2 sigmoid(2 x) - 1: what is a sigmoid the compiler writes down, a tanh it computes anew at every use.
        """
        return 2 * (2 * normed_projection(streams, self.projection, self.epsilon)).sigmoid() - 1


class Design(ResidualDesign):
    """Several streams, a norm before every sublayer, and a connection of each sublayer to the streams.

    The state is the streams (batch, length, streams, hidden), and a readout sees their sum.
    """

    connection: type[nn.Module] = HyperConnection  # with the two methods of `StaticConnection`

    def layer_modules(self, layer: int) -> dict[str, nn.Module]:
        size, epsilon = self.config.hidden_size, self.config.norm_epsilon
        return {
            "input_layernorm": RMSNorm(size, epsilon),
            "post_attention_layernorm": RMSNorm(size, epsilon),
            "attention_connection": self.connection(self.config, 2 * layer - 2),
            "mlp_connection": self.connection(self.config, 2 * layer - 1),
        }

    def start(self, embedding: Tensor) -> Tensor:
        return embedding.unsqueeze(-2).repeat(1, 1, STREAMS, 1)

    def read(self, state: Tensor, sublayer: Sublayer) -> Tensor:
        block = sublayer.block
        norm = block.input_layernorm if sublayer.kind == "attention" else block.post_attention_layernorm
        with torch.autocast(state.device.type, enabled=False):
            wide = _wide(state)
            mixed = read_streams(wide, _connection(sublayer).read_weights(wide))
        return norm(mixed.to(state.dtype))

    def write(self, state: Tensor, sublayer: Sublayer, output: Tensor) -> Tensor:
        with torch.autocast(state.device.type, enabled=False):
            wide = _wide(state)
            write, mixing = _connection(sublayer).write_weights(wide)
            return write_streams(wide, mixing, write, output.to(wide.dtype)).to(state.dtype)

    def tap(self, state: Tensor, layer: int) -> Tensor:
        return state.sum(-2)

    def routing(self, state: Tensor, sublayer: Sublayer) -> dict[str, Tensor]:
        if sublayer.kind == "head":
            return {}
        with torch.autocast(state.device.type, enabled=False):
            wide, connection = _wide(state), _connection(sublayer)
            write, mixing = connection.write_weights(wide)
            return {"read": connection.read_weights(wide), "write": write, "mixing": mixing}

    @torch.no_grad()
    def initialize(self, model: Decoder) -> None:
        """The output projections start smaller by the root of the streams, which a readout sums."""
        for block in model.model.layers:
            for module in (block.self_attn.o_proj, block.mlp.down_proj):
                module.weight.mul_(STREAMS**-0.5)

    def parameter_group(self, name: str) -> str:
        return "routing" if "_connection." in name else "adam"


def read_streams(streams: Tensor, weights: Tensor) -> Tensor:
    """The sum of `streams` (batch, length, streams, hidden) by `weights` (batch, length, streams)."""
    return (weights.unsqueeze(-1) * streams).sum(-2)


def write_streams(streams: Tensor, mixing: Tensor, write: Tensor, output: Tensor) -> Tensor:
    """The streams mixed, and a sublayer's output added to each.

    Args:
        streams: (batch, length, streams, hidden).
        mixing: (batch, length, streams after, streams before).
        write: (batch, length, streams).
        output: (batch, length, hidden).

    Returns:
        The shape of `streams`.
    """
    if torch.compiler.is_compiling():  # which fuses it
        mixed = (mixing.unsqueeze(-1) * streams.unsqueeze(-3)).sum(-2)
        return mixed + write.unsqueeze(-1) * output.unsqueeze(-2)
    tokens = (each.flatten(0, 1) for each in (streams, mixing, write.unsqueeze(-1), output.unsqueeze(-2)))
    return _WriteStreams.apply(*tokens).view_as(streams)


class _WriteStreams(torch.autograd.Function):
    """With its gradient as products of small matrices, so that nothing but theirs has the size of the streams."""

    @staticmethod
    def forward(ctx, streams, mixing, write, output):
        ctx.save_for_backward(streams, mixing, write, output)
        return torch.bmm(mixing, streams).addcmul_(write, output)

    @staticmethod
    @once_differentiable
    def backward(ctx, grad):
        streams, mixing, write, output = ctx.saved_tensors
        grad = grad.contiguous()  # that of a sum of streams comes as one stream, by which products are slow
        grad_streams = torch.bmm(mixing.transpose(1, 2), grad)
        grad_mixing = torch.bmm(grad, streams.transpose(1, 2))
        grad_write = torch.bmm(grad, output.transpose(1, 2))
        grad_output = (write * grad).sum(1, keepdim=True)
        return grad_streams, grad_mixing, grad_write, grad_output


def normed_projection(hidden: Tensor, weight: Tensor, epsilon: float) -> Tensor:
    """RMSNorm without a scale, then a projection; what is normed is never written down.

    Args:
        hidden: (..., size).
        weight: (outputs, size).
        epsilon: added to the mean square.

    Returns:
        (outputs, ...): each output a plane of its own, which is what the few numbers of a token are cheap in.
    """
    rows = hidden.flatten(0, -2)
    if torch.compiler.is_compiling():
        projected = torch.mm(weight, rows.T) * torch.rsqrt(rows.square().mean(-1) + epsilon)
    else:
        projected = _NormedProjection.apply(rows, weight, epsilon)
    return projected.unflatten(1, hidden.shape[:-1])


class _NormedProjection(torch.autograd.Function):
    """With its gradient written out, which passes over the rows twice."""

    @staticmethod
    def forward(ctx, rows, weight, epsilon):
        inverse = rows.square().mean(-1).add_(epsilon).rsqrt_()
        projected = torch.mm(weight, rows.T).mul_(inverse)
        ctx.save_for_backward(rows, weight, inverse, projected)
        return projected

    @staticmethod
    @once_differentiable
    def backward(ctx, grad):
        rows, weight, inverse, projected = ctx.saved_tensors
        grad_rows = grad_weight = None
        scaled = grad * inverse
        if ctx.needs_input_grad[0]:
            along = (grad * projected).sum(0).mul_(inverse.square()).div_(-rows.shape[1])
            grad_rows = (rows * along[:, None]).addmm_(scaled.T, weight)
        if ctx.needs_input_grad[1]:
            grad_weight = torch.mm(scaled, rows)
        return grad_rows, grad_weight, None


def _connection(sublayer: Sublayer) -> nn.Module:
    block = sublayer.block
    return block.attention_connection if sublayer.kind == "attention" else block.mlp_connection


def _wide(streams: Tensor) -> Tensor:
    return streams.to(torch.promote_types(streams.dtype, torch.float32))
