"""A training step with a readout after every layer beside one without, against the arithmetic that the readouts add."""

from __future__ import annotations

from benchmarks.measure import Ratio, Row, alternate
from benchmarks.training_step import NANO, SLICE_130M, Subject, build, prepare, step_of
from perlayer.model.flops import training_flops

BOUND = 1.10
NAMES = {"nano": "nano", "qwen3_130m": "130m-shaped slice"}
PAIRS = {"nano": 40, "qwen3_130m": 3}


def rows_of(readouts: str, label: str) -> list[Row]:
    """The rows of one kind of readouts."""
    prepare()
    return [row(subject, readouts, label) for subject in (NANO, SLICE_130M)]


def row(subject: Subject, readouts: str, label: str) -> Row:
    config = subject.shape.config
    arithmetic = training_flops(config, subject.sequences, subject.length, config.layers) / training_flops(
        config, subject.sequences, subject.length, 1
    )
    with_readouts, baseline = (step_of(build(subject, kind), subject) for kind in (readouts, "none"))
    measured = alternate(with_readouts, baseline, PAIRS[subject.size], warmup=3 if subject is NANO else 1)
    share = Ratio(
        measured.median / arithmetic,
        measured.low / arithmetic,
        measured.high / arithmetic,
        measured.first_seconds,
        measured.second_seconds,
    )
    note = f"ratio {measured.median:.2f} of the steps, {arithmetic:.2f} of the operations"
    return share.row(f"step with {label} ÷ (baseline × operations), {NAMES[subject.size]}", BOUND, note)
