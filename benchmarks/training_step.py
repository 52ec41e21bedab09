"""The training step that benchmarks measure on a CPU: the project's own model, losses and optimizer in a bare loop."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from benchmarks import bare_training
from benchmarks.bare_training import BareTraining, read_shape
from benchmarks.project import SIZE
from benchmarks.synthetic_tokens import EOS
from perlayer.environment import Machine
from perlayer.training.compilation import wants_compilation

Step = Callable[[], object]
CPU = torch.device("cpu")
TOKENS_A_DOCUMENT = 100
BATCHES = 8


@dataclass(frozen=True)
class Subject:
    """A size of params.yaml, and how many tokens a step reads of it."""

    size: str
    sequences: int
    length: int
    compiled: bool  # where there is a compiler

    @property
    def shape(self) -> bare_training.Shape:
        shape = read_shape(self.size)
        return dataclasses.replace(shape, config=dataclasses.replace(shape.config, sequence_length=self.length))

    def batches(self) -> list[Tensor]:
        """Random tokens (sequences, length + 1), one document after another."""
        generator = torch.Generator().manual_seed(0)
        size = BATCHES, self.sequences, self.length + 1
        tokens = torch.randint(EOS + 1, self.shape.config.vocab_size, size, generator=generator)
        return list(tokens.masked_fill(torch.rand(size, generator=generator) < 1 / TOKENS_A_DOCUMENT, EOS))


NANO = Subject(SIZE, sequences=32, length=64, compiled=True)
# Heads of the published size, and so few tokens that a step takes seconds; its layers cost too little to compile them.
SLICE_130M = Subject("qwen3_130m", sequences=1, length=128, compiled=False)


def prepare(threads: int = 1) -> None:
    """What a training run sets before it begins."""
    bare_training.prepare(Machine(threads=threads), CPU)


def compiles() -> bool:
    """Whether training compiles its layers on this machine."""
    return wants_compilation(Machine())


def build(subject: Subject, readouts: str, compiled: bool | None = None) -> BareTraining:
    """A training with `readouts`; its layers are compiled if the subject says so and the machine can, or as given."""
    if compiled is None:
        compiled = subject.compiled and compiles()
    return BareTraining(subject.shape, readouts, CPU, torch.float32, compiled)


def step_of(training: BareTraining, subject: Subject) -> Step:
    """A call that takes one training step, on the next batch each time."""
    return in_turns(lambda tokens: training.update(tokens, microbatch=len(tokens)), subject.batches())


def in_turns(update: Callable[[Tensor], object], batches: list[Tensor]) -> Step:
    """A call that takes `update` on the next batch each time."""
    taken = 0

    def step() -> None:
        nonlocal taken
        update(batches[taken % len(batches)])
        taken += 1

    return step
