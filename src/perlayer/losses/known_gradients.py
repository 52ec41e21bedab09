"""Losses whose gradients are formed with them, so that nothing else of their computation has to be kept."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable


def with_known_gradients(loss: Tensor, inputs: Sequence[Tensor], gradients: Sequence[Tensor | None]) -> Tensor:
    """A scalar that passes `gradients`, times its own, to `inputs` when it is back-propagated.

    They are handed on, not copied, unless the graph is kept for another pass.

    Args:
        loss: a scalar without history.
        gradients: d loss / d input for each input, in its shape and dtype; None where it needs none.
    """
    return _KnownGradients.apply(loss, list(gradients), *inputs)


def gradients_at_once(loss: Callable[..., Tensor], *inputs: Tensor) -> Tensor:
    """`loss(*inputs)`, a scalar, with its gradients formed now: what it computed on the way is released.

    For losses that share nothing with the graph around them but `inputs`, such as that of a probe.
    """
    if not torch.is_grad_enabled():
        return loss(*inputs)
    leaves = [each.detach().requires_grad_(each.requires_grad) for each in inputs]
    value = loss(*leaves)
    wanted = [leaf for leaf in leaves if leaf.requires_grad]
    found = iter(torch.autograd.grad(value, wanted) if wanted else ())
    return with_known_gradients(
        value.detach(), inputs, [next(found) if leaf.requires_grad else None for leaf in leaves]
    )


class _KnownGradients(torch.autograd.Function):
    @staticmethod
    def forward(ctx, loss, gradients, *inputs):
        ctx.gradients = gradients
        return loss.clone()

    @staticmethod
    @once_differentiable
    def backward(ctx, grad_output):
        if ctx.gradients is None:
            raise RuntimeError("this loss was back-propagated before; expected retain_graph=True for another time")
        if torch._C._autograd._get_current_graph_task_keep_graph():
            return None, None, *(None if gradient is None else gradient * grad_output for gradient in ctx.gradients)
        gradients, ctx.gradients = ctx.gradients, None
        if grad_output.device.type == "cpu" and grad_output.item() == 1.0:
            return None, None, *gradients
        return None, None, *(None if gradient is None else gradient.mul_(grad_output) for gradient in gradients)
