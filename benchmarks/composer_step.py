"""A training step by Composer's trainer, as a run sets it up, beside the same step in a bare loop."""

from __future__ import annotations

import dataclasses
import tempfile
import time
from itertools import islice
from pathlib import Path

import torch
from composer.core import Callback, State
from composer.loggers import Logger

from benchmarks.default_data import DefaultData
from benchmarks.measure import Ratio, Row
from benchmarks.project import ROOT, SIZE
from benchmarks.training_step import BATCHES, NANO, Step, build, in_turns, prepare
from perlayer import params
from perlayer.data.batches import read_split
from perlayer.environment import Machine
from perlayer.runs import parse_recipe, parse_run
from perlayer.training.compilation import wants_compilation
from perlayer.training.run import assemble, work_of
from perlayer.training.session import begin

BOUND = 1.05
WARMUP, PAIRS = 5, 120


class InTurns(Callback):
    """Takes a bare step between two of the trainer's, and times both; the trainer's is from batch to batch."""

    def __init__(self, bare: Step):
        self.bare = bare
        self.seconds: tuple[list[float], list[float]] = ([], [])
        self.resumed: float | None = None

    def batch_start(self, state: State, logger: Logger) -> None:
        start = time.perf_counter()
        if self.resumed is not None:
            self.seconds[0].append(start - self.resumed)
            self.bare()
            self.seconds[1].append(time.perf_counter() - start)
        self.resumed = time.perf_counter()


def rows() -> list[Row]:
    choices = params.load(ROOT / "params.yaml")
    prepare()
    compile = "on" if wants_compilation(Machine()) else "off"
    session = begin(Machine(device="cpu", compile=compile))
    with tempfile.TemporaryDirectory() as folder:
        data = DefaultData.read()
        data.build_corpus(Path(folder))
        data.tokenize(Path(folder), None, into="tokenizer")
        data.write_shards(Path(folder))
        shards = Path(folder, "shards")
        recipe = parse_recipe(choices, SIZE)
        recipe = dataclasses.replace(recipe, train=dataclasses.replace(recipe.train, steps=WARMUP + PAIRS))
        run = parse_run(choices, "separate")
        trainer, _, log = assemble(run, recipe, work_of(run, recipe, shards), session)
        log.quiet = True
        training = build(NANO, "separate")
        batches = [
            torch.from_numpy(rows) for rows in islice(read_split(shards, "train").batches(NANO.sequences), BATCHES)
        ]
        turns = InTurns(in_turns(lambda tokens: training.update(tokens, microbatch=len(tokens)), batches))
        trainer.state.callbacks.append(turns)
        trainer.fit()
        trainer.close()
    measured = Ratio.of(*(seconds[WARMUP:] for seconds in turns.seconds))
    return [measured.row("step by Composer ÷ bare loop, nano with separate heads", BOUND)]
