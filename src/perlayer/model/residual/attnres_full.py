"""Attention residuals, full: every sublayer attends over all earlier outputs (Kimi Team 2026, arXiv 2603.15031)."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from perlayer.model.norm import RMSNorm
from perlayer.model.residual.protocol import ResidualDesign, Sublayer

Sources = tuple[Tensor, ...]
State = dict[str, Sources | Tensor]


class DepthAttention(nn.Module):
    """The query by which one sublayer, or the head, weighs its sources, and the norm by which it sees them.

    The weight of source v is the softmax over sources, at each token, of query . RMSNorm(v) (section 3.1; recipe
    section 6b, row 8). A query of zero makes all weights equal.
    """

    def __init__(self, size: int, epsilon: float):
        super().__init__()
        self.query = nn.Parameter(torch.zeros(size))
        self.norm = RMSNorm(size, epsilon)

    def direction(self) -> Tensor:
        """What a source divided by its root mean square is multiplied by, (hidden,)."""
        return self.query * self.norm.weight


class Design(ResidualDesign):
    """Sublayer l gets, through its norm, the weighted mean of the embedding and the outputs of sublayers before l.

    A state holds

    - `sources`: the embedding and the outputs, (batch, length, hidden) each;
    - `reciprocals`: one over the root mean square of each source, (batch, length) each, without history;
    - `mix`: what the next sublayer or the head gets of them, (batch, length, hidden), made once for it and for the tap.

    A detached state and what a layer makes of it hold no `mix`. Its sublayers make their own, by queries that do take a
    gradient; the tap makes one by a query that does not, since that query belongs to the next layer.
    """

    def __init__(self, config):
        super().__init__(config)
        self.readers: dict[int, DepthAttention] = {}  # by the index of the sublayer; the head's comes last

    def layer_modules(self, layer: int) -> dict[str, nn.Module]:
        return {
            "attention_residual": self._reader(2 * layer - 2),
            "input_layernorm": RMSNorm(self.config.hidden_size, self.config.norm_epsilon),
            "mlp_residual": self._reader(2 * layer - 1),
            "post_attention_layernorm": RMSNorm(self.config.hidden_size, self.config.norm_epsilon),
        }

    def model_modules(self) -> dict[str, nn.Module]:
        return {"final_residual": self._reader(2 * self.config.layers)}

    def _reader(self, index: int) -> DepthAttention:
        self.readers[index] = DepthAttention(self.config.hidden_size, self.config.norm_epsilon)
        return self.readers[index]

    def start(self, embedding: Tensor) -> State:
        state = {"sources": (embedding,), "reciprocals": (reciprocal_rms(embedding, self.config.norm_epsilon),)}
        return {**state, "mix": self._mix(state, 0)}

    def read(self, state: State, sublayer: Sublayer) -> Tensor:
        block = sublayer.block
        norm = block.input_layernorm if sublayer.kind == "attention" else block.post_attention_layernorm
        return norm(state["mix"] if "mix" in state else self._mix(state, sublayer.index))

    @torch.compiler.disable  # or each layer is compiled anew, over sources that it has for itself; so all share one
    def write(self, state: State, sublayer: Sublayer, output: Tensor) -> State:
        written = sublayer.index + 1
        earlier, last = self.gather(state["sources"], written, output)
        reciprocal = reciprocal_rms(last, self.config.norm_epsilon)
        after = {
            "sources": (*earlier, last),
            "reciprocals": (*state["reciprocals"][: len(earlier)], reciprocal),
        }
        return {**after, "mix": self._mix(after, written)} if "mix" in state else after

    def gather(self, sources: Sources, written: int, output: Tensor) -> tuple[Sources, Tensor]:
        """The sources after `written` sublayers, the last of which has given `output`: those as before, and the new."""
        return sources, output

    def passes(self, written: int) -> bool:
        """Whether the next sublayer replaces the last source that there is after `written` sublayers."""
        return False

    @torch.compiler.disable
    def _mix(self, state: State, index: int, trained: bool = True) -> Tensor:
        """What sublayer `index` gets, (batch, length, hidden)."""
        direction = self.readers[index].direction()
        if not trained:
            direction = direction.detach()
        return _Mix.apply(direction, self.passes(index), *state["sources"], *state["reciprocals"])

    def tap(self, state: State, layer: int) -> Tensor:
        return state["mix"] if "mix" in state else self._mix(state, 2 * layer, trained=False)

    def routing(self, state: State, sublayer: Sublayer) -> dict[str, Tensor]:
        products = inner_products(self.readers[sublayer.index].direction(), state["sources"])
        return {"sources": softmax_weights(products, state["reciprocals"]).movedim(0, -1)}

    def detach(self, state: State) -> State:
        return {name: tuple(part.detach() for part in state[name]) for name in ("sources", "reciprocals")}

    def parameter_group(self, name: str) -> str:
        return "routing" if "_residual." in name else "adam"


@torch.no_grad()
def reciprocal_rms(source: Tensor, epsilon: float) -> Tensor:
    """1 / sqrt(mean(x^2) + epsilon) over the last dimension, in float32 at least; without a gradient."""
    norm = torch.linalg.vector_norm(source, dim=-1, dtype=_wide(source))
    return torch.rsqrt(norm.square() / source.shape[-1] + epsilon)


def inner_products(direction: Tensor, sources: Sources) -> Tensor:
    """Each source times a direction (hidden,): (sources, batch, length), in float32 at least."""
    wide = _wide(sources[0])
    with torch.autocast(direction.device.type, enabled=False):
        return torch.stack([source.to(wide) @ direction.to(wide) for source in sources])


def softmax_weights(products: Tensor, reciprocals: Sources) -> Tensor:
    """The weights of the sources, (sources, batch, length)."""
    return torch.softmax(products * torch.stack(reciprocals), 0)


def _wide(source: Tensor) -> torch.dtype:
    return torch.promote_types(source.dtype, torch.float32)


class _Mix(torch.autograd.Function):
    """The weighted mean of sources, with its gradient written out so that sources are kept as they are, not copied.

    Beside the sources, which all readers share, it keeps one number a source and token. A last source that no other
    reader has is not kept: it is what the mean, which the sublayer's norm keeps anyway, holds beyond the others.
    """

    @staticmethod
    def forward(ctx, direction, recovers, *tensors):
        """Mix sources by softmax(direction . source x reciprocal).

        Args:
            direction: (hidden,).
            recovers: whether the last source is to be recovered, not kept.
            tensors: the sources, (batch, length, hidden) each, then their reciprocal root mean squares.

        Returns:
            (batch, length, hidden) in the dtype of the first source, the embedding.
        """
        count = len(tensors) // 2
        sources, reciprocals = tensors[:count], tensors[count:]
        products = inner_products(direction, sources)
        weights = softmax_weights(products, reciprocals)[..., None]
        mix = weights[0] * sources[0]
        for weight, source in zip(weights[1:], sources[1:]):
            mix.addcmul_(weight, source)
        ctx.dtypes = [source.dtype for source in sources]
        ctx.recovers = recovers
        kept = (*sources[:-1], mix) if recovers else sources
        ctx.save_for_backward(direction, products, *reciprocals, *kept)
        return mix.to(sources[0].dtype)

    @staticmethod
    @once_differentiable
    def backward(ctx, grad_mix):
        direction, products, *tensors = ctx.saved_tensors
        count = len(products)
        reciprocals, sources = tensors[:count], tensors[count:]
        wide, size = products.dtype, len(direction)
        weights = softmax_weights(products, reciprocals)
        if ctx.recovers:
            sources[-1] = _last_source(sources[-1], weights, sources[:-1])
        grad_mix = grad_mix.to(wide)
        along = torch.stack([(grad_mix * source).sum(-1) for source in sources])
        grad_logits = weights * (along - (weights * along).sum(0))
        grad_products = grad_logits * torch.stack(reciprocals)
        # through the root mean square: d reciprocal / d source = -reciprocal^3 x source / hidden
        shrink = -grad_products * products * torch.stack(reciprocals).square() / size
        direction, grad_direction = direction.to(wide), None
        if ctx.needs_input_grad[0]:
            with torch.autocast(grad_mix.device.type, enabled=False):
                grad_direction = sum(
                    grad.flatten() @ source.to(wide).flatten(0, -2) for grad, source in zip(grad_products, sources)
                ).to(ctx.saved_tensors[0].dtype)
        grad_sources = [None] * count
        for i in range(count):
            if ctx.needs_input_grad[2 + i]:
                grad = grad_products[i, ..., None] * direction
                grad.addcmul_(weights[i, ..., None], grad_mix).addcmul_(shrink[i, ..., None], sources[i])
                grad_sources[i] = grad.to(ctx.dtypes[i])
        return grad_direction, None, *grad_sources, *[None] * count


def _last_source(mix: Tensor, weights: Tensor, others: Sources) -> Tensor:
    """The last source of a mean of which all others are known.

    Where its weight is no more than rounding leaves of a mean, so is all that its gradients depend on: zero does.

    Args:
        mix: (batch, length, hidden).
        weights: (sources, batch, length).
        others: the sources but the last.
    """
    rest = mix.clone()
    for weight, source in zip(weights, others):
        rest.addcmul_(weight[..., None], source, value=-1)
    weight = weights[-1, ..., None]
    return torch.where(weight > torch.finfo(weight.dtype).eps, rest / weight, 0)
