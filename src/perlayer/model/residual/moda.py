"""MoDA, mixture-of-depths attention, on Pre-LN (Zhu et al. 2026, arXiv 2603.15619; recipe section 6b, row 10)."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional

from perlayer.model.norm import RMSNorm
from perlayer.model.residual.protocol import ResidualDesign, Sublayer
from perlayer.model.rotary import rotate

# (hidden, depth keys, depth values), and between the two sublayers of a layer the MLP's input
State = tuple[Tensor, tuple[Tensor, ...], tuple[Tensor, ...]] | tuple[Tensor, tuple, tuple, Tensor]


class Design(ResidualDesign):
    """Pre-LN whose attention also sees, at its own token, keys and values of all earlier layers.

    One softmax runs over the sequence and the depth: the causal keys of this layer, rotated, and two of each earlier
    layer, which are not rotated while the query is. The first is that of the layer's attention, normed; the second is
    projected from the input of its MLP, and normed as the first is, by the same `k_norm`. Values come with them.

    Depth keys and values are (batch, key_value_heads, length, head_dim) each.
    """

    def layer_modules(self, layer: int) -> dict[str, nn.Module]:
        config = self.config
        modules = {
            "input_layernorm": RMSNorm(config.hidden_size, config.norm_epsilon),
            "post_attention_layernorm": RMSNorm(config.hidden_size, config.norm_epsilon),
        }
        if layer < config.layers:  # no layer reads what the last would write
            for name in ("depth_k_proj", "depth_v_proj"):
                modules[name] = nn.Linear(config.hidden_size, config.key_value_heads * config.head_dim, bias=False)
        return modules

    def start(self, embedding: Tensor) -> State:
        return embedding, (), ()

    def read(self, state: State, sublayer: Sublayer) -> Tensor:
        return sublayer.block.input_layernorm(state[0]) if sublayer.kind == "attention" else state[3]

    def attend(
        self, state: State, sublayer: Sublayer, rotary: tuple[Tensor, Tensor], mask: Tensor | None
    ) -> tuple[Tensor, State]:
        attention = sublayer.block.self_attn
        hidden, keys, values = state
        query, key, value = attention.project(self.read(state, sublayer))
        mixed = _attend(rotate(query, *rotary), rotate(key, *rotary), value, mask, keys, values)
        if _writes(sublayer.block):
            keys, values = (*keys, key), (*values, value)
        return attention.o_proj(mixed.transpose(1, 2).flatten(2)), (hidden, keys, values)

    def write(self, state: State, sublayer: Sublayer, output: Tensor) -> State:
        hidden, keys, values = state[0] + output, state[1], state[2]
        if sublayer.kind == "mlp":
            return hidden, keys, values
        block = sublayer.block
        mlp_input = block.post_attention_layernorm(hidden)
        if _writes(block):
            heads = (block.self_attn.key_value_heads, block.self_attn.head_dim)
            key = block.self_attn.k_norm(block.depth_k_proj(mlp_input).unflatten(-1, heads)).transpose(1, 2)
            value = block.depth_v_proj(mlp_input).unflatten(-1, heads).transpose(1, 2)
            keys, values = (*keys, key), (*values, value)
        return hidden, keys, values, mlp_input

    def tap(self, state: State, layer: int) -> Tensor:
        return state[0]

    def detach(self, state: State) -> State:
        return tuple(part.detach() if isinstance(part, Tensor) else self.detach(part) for part in state)

    def parameter_group(self, name: str) -> str:
        return "muonh" if name.split(".")[-2] in ("depth_k_proj", "depth_v_proj") else "adam"


def _writes(block: nn.Module) -> bool:
    """Whether later layers read what this one writes; not so for the last."""
    return hasattr(block, "depth_k_proj")


@torch.compiler.disable  # unrolled over a depth that each layer has for itself, it takes a minute a layer to compile
def _attend(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None,
    keys: tuple[Tensor, ...],
    values: tuple[Tensor, ...],
) -> Tensor:
    """`_JointAttention` over a sequence and over what the depth holds."""
    return _JointAttention.apply(query, key, value, mask, *keys, *values)


class _JointAttention(torch.autograd.Function):
    """Attention by one softmax over a causal sequence and over the depth at each token.

    The sequence part is torch's fused attention, which never holds (length x length) scores. Its output and that of the
    depth part are merged by their log-sum-exp. Autograd could not differentiate the fused one's; but with the output
    and the log-sum-exp of the whole softmax in the place of its own, the fused backward computes the right gradients:
    for each score they are p (dp - sum of out x grad_out), with p = exp(score - log-sum-exp), of whatever else the
    softmax holds.

    Nothing is kept but the inputs, which the state holds anyway, the output and its log-sum-exp.
    """

    @staticmethod
    def forward(ctx, query, key, value, mask, *depth):
        """Mix values by softmax(query . keys / sqrt(head_dim)).

        Args:
            query: (batch, heads, length, head_dim), rotated.
            key: (batch, key_value_heads, length, head_dim), rotated.
            value: the same, as are all of `depth`.
            mask: as `documents.attention_mask`, None for plain causal.
            depth: the depth keys, then as many depth values.

        Returns:
            The shape and dtype of `query`.
        """
        out, lse = _fused_forward(query, key, value, mask)
        if depth:
            half, scale, groups = len(depth) // 2, query.shape[-1] ** -0.5, _grouped(query, key)
            scores = torch.stack([_product(groups, each) for each in depth[:half]]) * scale
            lse_of_sequence = _grouped(lse, key)
            lse = torch.logaddexp(scores.logsumexp(0), lse_of_sequence)
            weights = (scores - lse).exp_()[..., None]
            out = _grouped(out, key) * (lse_of_sequence - lse).exp_()[..., None]
            for weight, each in zip(weights, depth[half:]):
                out.addcmul_(weight, each[:, :, None])
            out, lse = out.flatten(1, 2).to(query.dtype), lse.flatten(1, 2)
        ctx.save_for_backward(query, key, value, mask, out, lse, *depth)
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx, grad_out):
        query, key, value, mask, out, lse, *depth = ctx.saved_tensors
        half, scale = len(depth) // 2, query.shape[-1] ** -0.5
        grad_query, grad_key, grad_value = _fused_backward(grad_out, query, key, value, mask, out, lse)
        groups, grad_groups, lse = _grouped(query, key), _grouped(grad_out, key), _grouped(lse, key)
        wide = lse.dtype
        along = (grad_groups.to(wide) * _grouped(out, key)).sum(-1)
        grad_query = _grouped(grad_query, key).to(wide)
        grad_keys, grad_values = [], []
        for depth_key, depth_value in zip(depth[:half], depth[half:]):
            weight = (_product(groups, depth_key) * scale - lse).exp_()
            grad_score = (weight * (_product(grad_groups, depth_value) - along) * scale)[..., None]
            grad_query.addcmul_(grad_score, depth_key[:, :, None])
            grad_keys.append((grad_score * groups).sum(2).to(depth_key.dtype))
            grad_values.append((weight[..., None] * grad_groups).sum(2).to(depth_value.dtype))
        return grad_query.flatten(1, 2).to(query.dtype), grad_key, grad_value, None, *grad_keys, *grad_values


def _grouped(heads: Tensor, key: Tensor) -> Tensor:
    """(batch, heads, ...) as (batch, key_value_heads, heads that share a key, ...)."""
    return heads.unflatten(1, (key.shape[1], -1))


def _product(groups: Tensor, each: Tensor) -> Tensor:
    """Inner products at each token, in float32 at least.

    Args:
        groups: (batch, key_value_heads, group, length, head_dim).
        each: (batch, key_value_heads, length, head_dim).

    Returns:
        (batch, key_value_heads, group, length).
    """
    wide = torch.promote_types(groups.dtype, torch.float32)
    return (groups.to(wide) * each[:, :, None]).sum(-1)


def _fused_forward(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor]:
    """Fused attention and its log-sum-exp (batch, heads, length), float32 at least."""
    key, value, bias = _repeated(query, key), _repeated(query, value), _bias(query, mask)
    if query.is_cuda:
        attention = torch.ops.aten._scaled_dot_product_efficient_attention.default
        out, lse, _, _ = attention(query, key, value, bias, True, 0.0, mask is None)
        return out, lse[..., : query.shape[2]]  # it comes padded
    attention = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu.default
    return attention(query, key, value, 0.0, mask is None, attn_mask=bias)


def _fused_backward(
    grad_out: Tensor, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, out: Tensor, lse: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """The gradients of query, key and value, by the output and the log-sum-exp of the whole softmax."""
    keys, values, bias = _repeated(query, key), _repeated(query, value), _bias(query, mask)
    if query.is_cuda:
        # as they came from the kernel, which looks at no other strides
        out = out.transpose(1, 2).contiguous().transpose(1, 2)
        lse = functional.pad(lse, (0, -lse.shape[-1] % 32), value=torch.inf).contiguous()
        seed = torch.empty((), dtype=torch.long)  # of a dropout that is not there
        backward = torch.ops.aten._scaled_dot_product_efficient_attention_backward.default
        wanted = [True, True, True, False]
        grads = backward(grad_out, query, keys, values, bias, out, lse, seed, seed, 0.0, wanted, mask is None)[:3]
    else:
        backward = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward.default
        grads = backward(grad_out, query, keys, values, out, lse, 0.0, mask is None, attn_mask=bias)
    grad_query, grad_keys, grad_values = grads
    if query.shape[1] != key.shape[1]:
        grad_keys, grad_values = _grouped(grad_keys, key).sum(2), _grouped(grad_values, key).sum(2)
    return grad_query, grad_keys, grad_values


def _repeated(query: Tensor, each: Tensor) -> Tensor:
    """Keys or values, once for each query head."""
    group = query.shape[1] // each.shape[1]
    return each if group == 1 else each.repeat_interleave(group, dim=1)


def _bias(query: Tensor, mask: Tensor | None) -> Tensor | None:
    """The mask as the fused operations take it."""
    if mask is None:
        return None
    mask = mask.to(query.dtype)
    length = query.shape[2]
    if query.is_cuda and length % 16:  # whose rows begin at multiples of 16
        mask = functional.pad(mask, (0, -length % 16))[..., :length]
    return mask.expand(-1, query.shape[1], -1, -1)
