"""Peak memory of a training step above its weights, gradients and moments, at the head size of the 130m recipe.

Each model trains in a fresh process that uses every core. After a first step, which makes the optimizer's moments, the
kernel's record of the largest resident size is reset before each of two more. From the lower of their peaks go what
the process held after a small model's step, which brings in the libraries, and the bytes of weights, gradients and
moments; the ratio is of what remains.
"""

from __future__ import annotations

import dataclasses
import os
import resource
import sys
from collections.abc import Callable
from pathlib import Path

from benchmarks.apart import apart
from benchmarks.measure import Row
from benchmarks.plain_loop import plain
from benchmarks.training_step import NANO, SLICE_130M, Step, build, prepare, step_of

SUBJECT = dataclasses.replace(SLICE_130M, length=512)
SMALL = dataclasses.replace(NANO, compiled=False)
BOUND_BASELINE, BOUND_PLAIN = 1.10, 0.25
STEPS = 2
STATUS, RESET = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def rows() -> list[Row]:
    measured = {}
    for name, *subject in (("baseline", ours, "none"), ("separate", ours, "separate"), ("plain", plain_loop)):
        with apart(*subject) as peak_above:
            measured[name] = peak_above()
    separate_bytes = measured["separate"]
    return [
        Row(
            f"peak memory of separate heads ÷ {label}, 130m-shaped slice",
            separate_bytes / measured[other],
            None,
            None,
            bound,
            "×",
            f"{separate_bytes / 2**20:.0f} MiB against {measured[other] / 2**20:.0f} MiB above weights, gradients and "
            f"moments, {SUBJECT.length} tokens",
        )
        for other, label, bound in (("baseline", "baseline", BOUND_BASELINE), ("plain", "plain loop", BOUND_PLAIN))
    ]


def ours(readouts: str) -> Callable[[], int]:
    prepare(threads=os.cpu_count())
    step_of(build(SMALL, readouts), SMALL)()
    before = resident("VmRSS")
    training = build(SUBJECT, readouts)
    step = step_of(training, SUBJECT)
    return lambda: peak(step) - before - training.kept_bytes


def plain_loop() -> Callable[[], int]:
    plain(SMALL, threads=os.cpu_count())[0]()
    before = resident("VmRSS")
    step, model, optimizer = plain(SUBJECT, threads=os.cpu_count())

    def kept_bytes() -> int:
        moments = [*optimizer.first.values(), *optimizer.second.values()]
        return 2 * sum(p.nbytes for p in model.parameters()) + sum(moment.nbytes for moment in moments)

    return lambda: peak(step) - before - kept_bytes()


def peak(step: Step) -> int:
    """Bytes resident at the peak of a step, the lower of two after a first one."""
    step()
    peaks = []
    for _ in range(STEPS):
        if RESET.exists():
            RESET.write_text("5")  # the peak begins anew (proc(5))
        step()
        peaks.append(resident("VmHWM"))
    return min(peaks)


def resident(field: str) -> int:
    """The resident size now (VmRSS) or at its peak (VmHWM), in bytes; the peak for both where there is no /proc."""
    if not STATUS.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    line = next(line for line in STATUS.read_text().splitlines() if line.startswith(field + ":"))
    return int(line.split()[1]) * 1024
