"""MuonH, AdamH and Adam: hyperball optimization (Wen et al. 2026, arXiv 2606.16899; the Marin speedrun's recipe)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

import torch
from torch import Tensor
from torch.optim import Optimizer

from perlayer.optim.newton_schulz import orthogonalize
from perlayer.optim.settings import OptimizerSettings

KINDS = ("muonh", "adamh", "adam")
SMALLEST_NORM = 1e-10
# Elements that are updated together: what a core's cache holds, or what fills a GPU; temporaries are no larger.
BLOCK_CPU = 2**17
BLOCK_GPU = 2**26


class Hyperball(Optimizer):
    """One optimizer with three kinds of groups; every group is clipped by its own global norm.

    - `muonh`: Nesterov momentum, orthogonalised, taken as an angular step: a matrix keeps its Frobenius norm.
    - `adamh`: Adam's direction taken as the same angular step.
    - `adam`: plain Adam with bias correction.

    There is no weight decay. A matrix of zeros has no norm to keep, and stays as it is. Each group carries `kind`, `lr`
    and the constants of its kind. A parameter without a gradient stays as it is, and so does its state: its moments,
    and the number of its updates, by which Adam corrects their bias. It is no part of the norm by which its group is
    clipped.
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

    @classmethod
    def from_settings(cls, groups: Iterable[dict[str, Any]], settings: OptimizerSettings) -> Hyperball:
        """The optimizer of a recipe for `groups`."""
        return cls(
            groups,
            momentum=settings.momentum,
            beta1=settings.beta1,
            beta2=settings.beta2,
            adam_epsilon=settings.adam_epsilon,
            muon_epsilon=settings.muon_epsilon,
            newton_schulz_steps=settings.newton_schulz_steps,
            max_grad_norm=settings.max_grad_norm,
        )

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
            clip = clip_factor([p.grad for p in parameters], group["max_grad_norm"])
            if group["kind"] == "muonh":
                self._muonh(group, parameters, clip)
            else:
                self._adam(group, parameters, clip)
        return loss

    def _muonh(self, group: dict[str, Any], parameters: list[Tensor], clip: Tensor) -> None:
        momentum = group["momentum"]
        by_shape: dict[torch.Size, list[Tensor]] = defaultdict(list)
        for parameter in parameters:
            by_shape[parameter.shape].append(parameter)
        for alike in by_shape.values():
            for some in at_once(alike):
                gradients = torch.stack([p.grad for p in some]).mul_(clip)
                buffers = self._states(some, "momentum")
                torch._foreach_mul_(buffers, momentum)
                torch._foreach_add_(buffers, list(gradients.unbind()))
                updates = gradients.add_(torch.stack(buffers), alpha=momentum)
                matrices = torch.stack(some)
                angular_step(
                    matrices, orthogonalize(updates, group["newton_schulz_steps"], group["muon_epsilon"]), group["lr"]
                )
                torch._foreach_copy_(some, list(matrices.unbind()))

    def _adam(self, group: dict[str, Any], parameters: list[Tensor], clip: Tensor) -> None:
        by_step: dict[int, list[Tensor]] = defaultdict(list)
        for parameter in parameters:
            state = self.state[parameter]
            state["step"] = state.get("step", 0) + 1
            by_step[state["step"]].append(parameter)
        for step, alike in by_step.items():
            self._adam_at(step, group, alike, clip)

    def _adam_at(self, step: int, group: dict[str, Any], parameters: list[Tensor], clip: Tensor) -> None:
        rate, (beta1, beta2) = group["lr"], group["betas"]

        def directions(first: list[Tensor], second: list[Tensor]) -> list[Tensor]:
            denominators = torch._foreach_div(second, 1.0 - beta2**step)
            torch._foreach_sqrt_(denominators)
            torch._foreach_add_(denominators, group["adam_epsilon"])
            quotients = torch._foreach_div(first, 1.0 - beta1**step)
            torch._foreach_div_(quotients, denominators)
            return quotients

        for some in at_once(parameters):
            states = self._states(some, "first"), self._states(some, "second")
            parts = list(blocks(some, [p.grad for p in some], *states))
            for _, gradients, first, second in parts:
                gradients = torch._foreach_mul(gradients, clip)
                torch._foreach_lerp_(first, gradients, 1.0 - beta1)
                torch._foreach_mul_(second, beta2)
                torch._foreach_addcmul_(second, gradients, gradients, 1.0 - beta2)
            if group["kind"] == "adam":
                for values, _, first, second in parts:
                    torch._foreach_add_(values, directions(first, second), alpha=-rate)
                continue
            # The angular step part by part: directions are worked out twice rather than held all at once.
            norms = joint_norms(values for values, *_ in parts)
            lengths = joint_norms(directions(first, second) for _, _, first, second in parts)
            scales = [rate * norm / length.clamp_min(SMALLEST_NORM) for norm, length in zip(norms, lengths)]
            for values, _, first, second in parts:
                torch._foreach_sub_(values, torch._foreach_mul(directions(first, second), scales))
            restored = [ratio(norm, now) for norm, now in zip(norms, joint_norms(values for values, *_ in parts))]
            for values, *_ in parts:
                torch._foreach_mul_(values, restored)

    def _states(self, parameters: list[Tensor], name: str) -> list[Tensor]:
        for parameter in parameters:
            if name not in self.state[parameter]:
                self.state[parameter][name] = torch.zeros_like(parameter)
        return [self.state[parameter][name] for parameter in parameters]


def at_once(parameters: list[Tensor]) -> Iterator[list[Tensor]]:
    """Parts of a list that are updated together: of at most a block's elements, or one larger parameter alone."""
    part: list[Tensor] = []
    for parameter in parameters:
        if part and sum(p.numel() for p in part) + parameter.numel() > _block(parameter):
            yield part
            part = []
        part.append(parameter)
    yield part


def blocks(*lists: list[Tensor]) -> Iterator[tuple[list[Tensor], ...]]:
    """Lists of tensors of equal shapes as they are, or where each holds one large tensor, its flat blocks in turn."""
    size = _block(lists[0][0])
    if len(lists[0]) > 1 or lists[0][0].numel() <= size:
        yield lists
        return
    for flat in zip(*(tensor.view(-1).split(size) for (tensor,) in lists)):
        yield tuple([piece] for piece in flat)


def _block(tensor: Tensor) -> int:
    return BLOCK_CPU if tensor.device.type == "cpu" else BLOCK_GPU


def clip_factor(gradients: list[Tensor], max_norm: float) -> Tensor:
    """What to multiply gradients with so that their joint Euclidean norm is at most `max_norm`: a scalar, at most 1."""
    norm = torch.linalg.vector_norm(torch.stack(torch._foreach_norm(gradients)))
    return torch.clamp(max_norm / norm, max=1.0)


def clip_by_global_norm(gradients: list[Tensor], max_norm: float) -> list[Tensor]:
    """Scale a list of gradients so that their joint Euclidean norm is at most `max_norm`; the inputs stay."""
    return torch._foreach_mul(gradients, clip_factor(gradients, max_norm))


def joint_norms(parts: Iterable[list[Tensor]]) -> list[Tensor]:
    """The Frobenius norm of each tensor of a list, from lists of its parts: scalars."""
    return [torch.linalg.vector_norm(torch.stack(norms)) for norms in zip(*map(torch._foreach_norm, parts))]


def angular_step(matrices: Tensor, directions: Tensor, rate: float) -> None:
    """Move each matrix by `rate` of its own norm along its direction, then restore its Frobenius norm, in place.

    Args:
        matrices: (count, rows, columns).
        directions: the same shape; they are used up.
    """

    def norms(of: Tensor) -> Tensor:
        return torch.linalg.vector_norm(of, dim=(-2, -1), keepdim=True)

    before = norms(matrices)
    directions.mul_(rate * before / norms(directions).clamp_min(SMALLEST_NORM))
    matrices.sub_(directions)
    matrices.mul_(ratio(before, norms(matrices)))


def ratio(wanted: Tensor, found: Tensor) -> Tensor:
    """What restores a norm: `wanted` over `found`, or 1 where that is zero, so that zeros stay zeros."""
    return torch.where(found == 0, 1.0, wanted / found)
