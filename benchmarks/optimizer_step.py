"""The optimizer's step beside the same update taken one parameter after another."""

from __future__ import annotations

import torch

from benchmarks.measure import Row, alternate
from benchmarks.plain import PlainModel, PlainOptimizer
from benchmarks.training_step import NANO, build, prepare

BOUND = 0.5
PAIRS = 60


def rows() -> list[Row]:
    prepare()
    training = build(NANO, "separate", compiled=False)
    model, settings = training.model, NANO.shape.optimizer
    plain = PlainModel(model.decoder, model.readouts)
    reference = PlainOptimizer(plain, settings.learning_rate, settings.adam_learning_rate)
    generator = torch.Generator().manual_seed(0)
    for parameters in (model.parameters(), plain.parameters()):
        for parameter in parameters:
            parameter.grad = torch.randn(parameter.shape, generator=generator)
    measured = alternate(training.optimizer.step, reference.step, PAIRS, warmup=3)
    return [measured.row("optimizer step ÷ one parameter after another, nano with separate heads", BOUND)]
