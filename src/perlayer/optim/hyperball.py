"""MuonH, AdamH and Adam: hyperball optimization (Wen et al. 2026, arXiv 2606.16899; the Marin speedrun's recipe)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor
from torch.optim import Optimizer

from perlayer.optim.newton_schulz import orthogonalize

KINDS = ("muonh", "adamh", "adam")
SMALLEST_NORM = 1e-10


class Hyperball(Optimizer):
    """One optimizer with three kinds of groups; every group is clipped by its own global norm.

    - `muonh`: Nesterov momentum, orthogonalised, taken as an angular step: a matrix keeps its Frobenius norm.
    - `adamh`: Adam's direction taken as the same angular step.
    - `adam`: plain Adam with bias correction.

    There is no weight decay. Each group carries `kind`, `lr` and the constants of its kind; all its parameters have
    a gradient at every update, or none has.
    """

    def __init__(
        self,
        groups: Iterable[dict[str, Any]],
        *,
        momentum: float,
        beta1: float,
        beta2: float,
        adam_epsilon: float,
        muon_epsilon: float,
        newton_schulz_steps: int,
        max_grad_norm: float,
    ):
        defaults = {
            "momentum": momentum,
            "betas": (beta1, beta2),
            "adam_epsilon": adam_epsilon,
            "muon_epsilon": muon_epsilon,
            "newton_schulz_steps": newton_schulz_steps,
            "max_grad_norm": max_grad_norm,
        }
        super().__init__(list(groups), defaults)
        for group in self.param_groups:
            if group["kind"] not in KINDS:
                raise ValueError(f"kind: expected one of {', '.join(KINDS)}, found {group['kind']!r}")

    @torch.no_grad()
    def step(self, closure=None):
        """Update every parameter that has a gradient; gradients themselves are left as they are."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            parameters = [p for p in group["params"] if p.grad is not None]
            if not parameters:
                continue
            gradients = clip_by_global_norm([p.grad for p in parameters], group["max_grad_norm"])
            if group["kind"] == "muonh":
                self._muonh(group, parameters, gradients)
            else:
                directions = self._adam_directions(group, parameters, gradients)
                if group["kind"] == "adamh":
                    angular_step(parameters, directions, group["lr"])
                else:
                    torch._foreach_add_(parameters, directions, alpha=-group["lr"])
        return loss

    def _muonh(self, group: dict[str, Any], parameters: list[Tensor], gradients: list[Tensor]) -> None:
        momentum = group["momentum"]
        buffers = []
        for parameter in parameters:
            state = self.state[parameter]
            if not state:
                state["momentum"] = torch.zeros_like(parameter)
            buffers.append(state["momentum"])
        torch._foreach_mul_(buffers, momentum)
        torch._foreach_add_(buffers, gradients)
        updates = torch._foreach_add(gradients, buffers, alpha=momentum)
        by_shape: dict[torch.Size, list[int]] = defaultdict(list)
        for index, parameter in enumerate(parameters):
            by_shape[parameter.shape].append(index)
        directions: list[Tensor] = [None] * len(parameters)
        for indices in by_shape.values():
            stacked = torch.stack([updates[index] for index in indices])
            orthogonal = orthogonalize(stacked, group["newton_schulz_steps"], group["muon_epsilon"])
            for index, direction in zip(indices, orthogonal.unbind()):
                directions[index] = direction
        angular_step(parameters, directions, group["lr"])

    def _adam_directions(
        self, group: dict[str, Any], parameters: list[Tensor], gradients: list[Tensor]
    ) -> list[Tensor]:
        beta1, beta2 = group["betas"]
        for parameter in parameters:
            state = self.state[parameter]
            if not state:
                state["first"] = torch.zeros_like(parameter)
                state["second"] = torch.zeros_like(parameter)
        states = [self.state[parameter] for parameter in parameters]
        step = group["step"] = group.get("step", 0) + 1
        first, second = [state["first"] for state in states], [state["second"] for state in states]
        torch._foreach_lerp_(first, gradients, 1.0 - beta1)
        torch._foreach_mul_(second, beta2)
        torch._foreach_addcmul_(second, gradients, gradients, 1.0 - beta2)
        denominators = torch._foreach_div(second, 1.0 - beta2**step)
        torch._foreach_sqrt_(denominators)
        torch._foreach_add_(denominators, group["adam_epsilon"])
        directions = torch._foreach_div(first, 1.0 - beta1**step)
        torch._foreach_div_(directions, denominators)
        return directions


def clip_by_global_norm(gradients: list[Tensor], max_norm: float) -> list[Tensor]:
    """Scale a list of gradients so that their joint Euclidean norm is at most `max_norm`; the inputs stay."""
    norm = torch.linalg.vector_norm(torch.stack(torch._foreach_norm(gradients)))
    return torch._foreach_mul(gradients, torch.clamp(max_norm / norm, max=1.0))


def angular_step(parameters: list[Tensor], directions: list[Tensor], rate: float) -> None:
    """Move each matrix by `rate` of its own norm along its direction, then restore its Frobenius norm, in place."""
    norms = torch._foreach_norm(parameters)
    lengths = torch._foreach_clamp_min(torch._foreach_norm(directions), SMALLEST_NORM)
    moves = torch._foreach_mul(directions, torch._foreach_div(torch._foreach_mul(norms, rate), lengths))
    torch._foreach_sub_(parameters, moves)
    torch._foreach_mul_(parameters, torch._foreach_div(norms, torch._foreach_norm(parameters)))
