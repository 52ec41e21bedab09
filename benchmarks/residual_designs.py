"""A training step of each residual design beside one of Pre-LN, and the bytes that each keeps for the way back."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import torch
from torch import Tensor, nn

from benchmarks.bare_training import BareTraining
from benchmarks.measure import Row, alternate, significant
from benchmarks.training_step import CPU, NANO, prepare, step_of
from perlayer.model.config import design_names

BESIDE = "pre_ln"
# Of time and of bytes. Four streams cost what their reads, writes and mixing are; what attends over depth keeps one
# number a source and token; all others should cost what Pre-LN does.
BOUNDS = {
    "attnres_block": (1.6, 1.1),
    "attnres_full": (1.8, 1.15),
    "hyper_connections": (2.2, 1.9),
    "hyper_connections_static": (1.8, 1.45),
    "mhc": (3.0, 1.75),
    "mhc_lite": (3.0, 1.75),
    "moda": (1.6, 1.2),
}
USUAL_BOUNDS = (1.2, 1.1)
PAIRS = 20


def rows() -> list[Row]:
    prepare()
    return [row for name in design_names() if name != BESIDE for row in rows_of(name)]


def rows_of(name: str) -> list[Row]:
    """How long a step takes, and how much is kept, of the design of this name; without a compiler."""
    design, beside = build(name), build(BESIDE)
    measured = alternate(step_of(design, NANO), step_of(beside, NANO), PAIRS, warmup=2)
    tokens = NANO.batches()[0][:, :-1]
    own, others = (
        kept_bytes(training.model.decoder, lambda decoder=training.model.decoder: decoder(tokens))
        for training in (design, beside)
    )
    bound_time, bound_bytes = BOUNDS.get(name, USUAL_BOUNDS)
    note = f"{significant(own / 2**20)} MiB against {significant(others / 2**20)} MiB"
    return [
        measured.row(f"step of {name} ÷ {BESIDE}, nano", bound_time),
        Row(f"kept for backward by {name} ÷ {BESIDE}, nano", own / others, None, None, bound_bytes, "×", note),
    ]


def build(name: str) -> BareTraining:
    shape = NANO.shape
    shape = dataclasses.replace(shape, config=dataclasses.replace(shape.config, residual=name))
    return BareTraining(shape, "none", CPU, torch.float32, compiled=False)


def kept_bytes(module: nn.Module, forward: Callable[[], object]) -> int:
    """Bytes that autograd keeps of a forward pass: each storage once, parameters of the module left out."""
    parameters = {parameter.untyped_storage().data_ptr() for parameter in module.parameters()}
    kept: dict[int, int] = {}

    def keep(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in parameters:
            kept[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        outcome = forward()  # while it lives no address is taken twice
    del outcome
    return sum(kept.values())
