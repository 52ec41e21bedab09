"""How fast an update is, what share of the device's peak that is, and how much memory it takes."""

from __future__ import annotations

import re
from dataclasses import dataclass

import torch

from benchmarks.bare_training import BareTraining, Shape
from benchmarks.measure import seconds_of
from benchmarks.synthetic_tokens import synthetic_tokens
from perlayer.model.flops import training_flops

WARM_UP = 3  # updates: the first compiles, the second still finds its memory

# Peak of dense bfloat16 products in FLOP/s, by a name within the device's: NVIDIA's data sheets, halved where they
# count with sparsity. The first that fits counts.
PEAKS = {
    "H200 NVL": 835.5e12,
    "H200": 989.5e12,
    "H100 NVL": 835.5e12,
    "H100 PCIe": 756.5e12,
    "H100": 989.5e12,
    "A100": 312e12,
}


@dataclass(frozen=True)
class StepSpeed:
    """Updates of one kind of readouts; memory is None on a CPU, and `mfu` where the device's peak is not known."""

    readouts: str
    seconds: float  # of an update: median and quartiles
    low_seconds: float
    high_seconds: float
    tokens_per_second: float
    flops: int  # of an update, as `perlayer.model.flops` counts
    mfu: float | None  # the share of the peak that those make
    kept_bytes: int  # weights, gradients and moments
    peak_bytes: int | None  # the most that was allocated at once
    peak_bytes_above_kept: int | None


def step_speed(
    shape: Shape, readouts: str, device: torch.device, compiled: bool, sequences: int, microbatch: int, steps: int
) -> StepSpeed:
    """Time `steps` updates of `sequences` made-up sequences each, after a warm-up."""
    config = shape.config
    training = BareTraining(shape, readouts, device, getattr(torch, shape.train.compute_dtype), compiled)
    tokens = synthetic_tokens(sequences, config.sequence_length, config.vocab_size, seed=0).to(device)
    on_gpu = device.type == "cuda"

    def update() -> None:
        training.update(tokens, microbatch)
        if on_gpu:
            torch.cuda.synchronize(device)

    for _ in range(WARM_UP):
        update()
    if on_gpu:
        torch.cuda.reset_peak_memory_stats(device)
    seconds = seconds_of(update, steps)
    flops = training_flops(config, sequences, config.sequence_length, 1 if readouts == "none" else config.layers)
    peak = peak_flops(torch.cuda.get_device_name(device)) if on_gpu else None
    most = torch.cuda.max_memory_allocated(device) if on_gpu else None
    return StepSpeed(
        readouts=readouts,
        seconds=seconds.median,
        low_seconds=seconds.low,
        high_seconds=seconds.high,
        tokens_per_second=sequences * config.sequence_length / seconds.median,
        flops=flops,
        mfu=flops / seconds.median / peak if peak else None,
        kept_bytes=training.kept_bytes,
        peak_bytes=most,
        peak_bytes_above_kept=most - training.kept_bytes if on_gpu else None,
    )


def peak_flops(device_name: str) -> float | None:
    """Dense bfloat16 FLOP/s of a GPU by the name that CUDA gives it, or None; a slice of one (MIG) is not known."""
    if "MIG" in device_name.split():
        return None
    return next((peak for name, peak in PEAKS.items() if re.search(rf"\b{name}\b", device_name)), None)
