"""A training step with separate heads beside the plain loop that one writes first."""

from __future__ import annotations

import torch
from torch import Tensor

from benchmarks.apart import apart
from benchmarks.measure import Row, alternate
from benchmarks.plain import PlainModel, PlainOptimizer
from benchmarks.training_step import NANO, Step, Subject, build, compiles, in_turns, prepare, step_of
from perlayer.model.decoder import Decoder
from perlayer.model.readouts import auxiliary_readouts

BOUND_COMPILED, BOUND_EAGER = 0.55, 0.85
PAIRS = 40


def rows() -> list[Row]:
    modes = [("compiled", True, BOUND_COMPILED)] if compiles() else []
    return [row(*mode) for mode in [*modes, ("without a compiler", False, BOUND_EAGER)]]


def row(mode: str, compiled: bool, bound: float) -> Row:
    with apart(ours, NANO, compiled) as first, apart(plain_step, NANO) as second:
        measured = alternate(first, second, PAIRS, warmup=3)
    return measured.row(f"step with separate heads ÷ plain loop, nano, {mode}", bound)


def ours(subject: Subject, compiled: bool) -> Step:
    """The project's step with separate heads."""
    prepare()
    return step_of(build(subject, "separate", compiled), subject)


def plain_step(subject: Subject) -> Step:
    """The plain loop's step."""
    return plain(subject)[0]


def plain(subject: Subject, threads: int = 1) -> tuple[Step, PlainModel, PlainOptimizer]:
    """The plain loop's step, its model, from the same weights as ours, and its optimizer."""
    torch.set_num_threads(threads)
    shape = subject.shape
    decoder = Decoder(shape.config)
    decoder.initialize(0)
    model = PlainModel(decoder, auxiliary_readouts(shape.config, seed=0))
    optimizer = PlainOptimizer(model, shape.optimizer.learning_rate, shape.optimizer.adam_learning_rate)

    def update(tokens: Tensor) -> None:
        model(tokens).backward()
        optimizer.step()
        optimizer.zero_grad()

    return in_turns(update, subject.batches()), model, optimizer
