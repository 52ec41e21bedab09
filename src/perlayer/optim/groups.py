"""Which parameter belongs to which optimizer group, and so is clipped with which others."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import Any

from torch import nn
from torch.optim import Optimizer

from perlayer.model.decoder import Decoder
from perlayer.optim.settings import OptimizerSettings

BACKBONE_MATRICES = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")
ROUTING_EPSILON = 1e-8  # the recipe's 1e-20 blows a first gradient of nearly zero up to a full step


def backbone_group(model: Decoder, name: str) -> str:
    """muonh for the seven matrices of a block, adamh for the output head, adam for embedding and norms.

    What a residual design adds says for itself.
    """
    parts = name.split(".")
    if parts[-2] in BACKBONE_MATRICES:
        return "muonh"
    if parts[-2] == "lm_head":
        return "adamh"
    if parts[-2] in ("embed_tokens", "q_norm", "k_norm") or name == "model.norm.weight":
        return "adam"
    return model.design.parameter_group(name)


def parameter_groups(model: Decoder, settings: OptimizerSettings) -> list[dict[str, Any]]:
    """The backbone, its final norm and its head in the recipe's three groups, and one of what a design routes by."""
    return groups_at("backbone", model, peak_rates(settings), lambda name: backbone_group(model, name))


def peak_rates(settings: OptimizerSettings) -> dict[str, float]:
    """The peak learning rate of each kind of group."""
    return {
        "muonh": settings.rate_multiplier * settings.learning_rate,
        "adamh": settings.rate_multiplier * settings.learning_rate,
        "adam": settings.rate_multiplier * settings.adam_learning_rate,
    }


def readout_kind(name: str) -> str:
    """adamh for the output head of a readout, adam for its norm."""
    return "adamh" if name.split(".")[-2] == "lm_head" else "adam"


def auxiliary_groups(
    owner: str, module: nn.Module, optimizer: Optimizer, kind: Callable[[str], str] = readout_kind
) -> list[dict[str, Any]]:
    """Groups of its own for an auxiliary module, with the rules and rates of the backbone's.

    Being apart, they never change how the backbone, the final norm and the head are clipped.

    Args:
        kind: the group of a parameter, by its name in `module`.
    """
    peaks = {group["kind"]: group["peak_lr"] for group in optimizer.param_groups if group["owner"] == "backbone"}
    return groups_at(owner, module, peaks, kind)


def groups_at(
    owner: str, module: nn.Module, peaks: dict[str, float], kind: Callable[[str], str] = readout_kind
) -> list[dict[str, Any]]:
    """The groups of a module that `owner` names, at the peak rates given for each kind.

    What a design routes by has one of its own: Adam with an epsilon that holds at a symmetric start (recipe section
    6b).
    """
    members: dict[str, list[nn.Parameter]] = defaultdict(list)
    for name, parameter in module.named_parameters():
        members[kind(name)].append(parameter)
    routing = members.pop("routing", [])
    groups = [_group(owner, name, parameters, peaks[name]) for name, parameters in members.items()]
    if routing:
        groups.append({**_group(owner, "adam", routing, peaks["adam"]), "adam_epsilon": ROUTING_EPSILON})
    return groups


def _group(owner: str, kind: str, parameters: list[nn.Parameter], peak: float) -> dict[str, Any]:
    return {"params": parameters, "owner": owner, "kind": kind, "peak_lr": peak, "lr": peak}
