"""Training updates on a GPU: their speed and memory, and whether they learn what the CPU learns.

`python -m benchmarks.gpu [--size SIZE] [--device cpu|gpu] [--steps N] [--sequences N] [--microbatch N] [--json]` times
updates of the baseline and of separate heads on made-up tokens, in a few minutes on one GPU, and compares loss curves
of a small size with those of the CPU in float32. It is no part of `python -m benchmarks`: most machines have no GPU,
and its figures have no bound but the tolerance of the curves. Layers are compiled as in training; on a CPU only with
PERLAYER_COMPILE=on, so that `--size smoke --device cpu` takes seconds.
"""

from __future__ import annotations

import argparse
import gc
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, NoReturn

import torch
from torch._dynamo.exc import BackendCompilerFailed

from benchmarks.bare_training import prepare, read_shape
from benchmarks.loss_curves import LARGEST, MEAN, STEPS, Differences, compare
from benchmarks.measure import significant
from benchmarks.step_speed import StepSpeed, step_speed
from perlayer.environment import Machine
from perlayer.errors import UserError
from perlayer.project import use_own_package
from perlayer.training.compilation import wants_compilation

SIZE, CURVES_SIZE, SMOKE = "qwen3_130m", "nano", "smoke"
SEQUENCES = 32  # an update: a GPU's share of the recipe's 128 where four train, as those of the published figures
MICROBATCH = 16
TIMED = 10  # updates
KINDS = ("none", "separate")
PUBLISHED = {
    "time_ratio": 2.7,  # separate heads against the baseline
    "baseline_mfu": 0.144,
    "size": "qwen3_130m",
    "devices": "four H100s",
    "source": "https://wenhaochai.com/exps/per-layer-contribution.html",
}


@dataclass(frozen=True)
class Findings:
    """What one run of this script found."""

    device: str
    size: str
    compute_dtype: str
    compiled: bool
    sequence_length: int
    sequences: int  # of an update
    microbatch: int
    steps: int  # that were timed
    speeds: dict[str, StepSpeed]  # by kind of readouts
    curves_size: str
    curves: list[Differences]

    @property
    def time_ratio(self) -> float:
        """Median time of an update with separate heads ÷ that of the baseline."""
        return self.speeds["separate"].seconds / self.speeds["none"].seconds

    @property
    def flop_ratio(self) -> float:
        """The same of their operations."""
        return self.speeds["separate"].flops / self.speeds["none"].flops

    @property
    def curves_agree(self) -> bool:
        """Whether every reading stays within the tolerance."""
        return all(differences.within for differences in self.curves)

    def to_json(self) -> dict[str, Any]:
        """Every field and property, the published figures and the tolerance, as JSON values."""
        return asdict(self) | {
            "time_ratio": self.time_ratio,
            "flop_ratio": self.flop_ratio,
            "published": PUBLISHED,
            "curves_steps": STEPS,
            "curves_tolerance": {"largest": LARGEST, "mean": MEAN},
            "curves_agree": self.curves_agree,
        }


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UserError(message)


def main(arguments: Sequence[str]) -> int:
    """Measure and print.

    Returns:
        The exit status: 0, 1 when the loss curves disagree, 2 for what cannot be run, which one line says.
    """
    parser = _Parser(
        prog="python -m benchmarks.gpu", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--size", default=SIZE, help=f"a recipe of params.yaml (default: {SIZE})")
    parser.add_argument("--device", choices=("cpu", "gpu"), default="gpu", help="where to train (default: gpu)")
    parser.add_argument("--steps", type=int, default=TIMED, help=f"updates that are timed (default: {TIMED})")
    parser.add_argument("--sequences", type=int, help=f"an update (default: {SEQUENCES}, at most the recipe's)")
    parser.add_argument("--microbatch", type=int, help=f"sequences at once (default: {MICROBATCH})")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of text")
    try:
        options = parser.parse_args(arguments)
        findings = measure(options.size, options.device, options.steps, options.sequences, options.microbatch)
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except torch.cuda.OutOfMemoryError:
        print("error: the GPU's memory is too small; pass a smaller --microbatch", file=sys.stderr)
        return 2
    except BackendCompilerFailed as error:
        first_line = str(error).strip().partition("\n")[0]
        print(f"error: the compiler failed ({first_line}); PERLAYER_COMPILE=off does without it", file=sys.stderr)
        return 2
    print(json.dumps(findings.to_json(), indent=2) if options.json else text(findings))
    return 0 if findings.curves_agree else 1


def measure(size: str, device_kind: str, steps: int, sequences: int | None, microbatch: int | None) -> Findings:
    """Time the updates of each kind and compare the curves.

    Raises:
        UserError: an impossible argument or environment, or no GPU.
    """
    machine = Machine.from_environment()
    shape = read_shape(size)
    sequences = min(SEQUENCES, shape.train.batch) if sequences is None else sequences
    microbatch = min(MICROBATCH, sequences) if microbatch is None else microbatch
    for name, value in (("steps", steps), ("sequences", sequences), ("microbatch", microbatch)):
        if value < 1:
            raise UserError(f"--{name}: expected at least 1, found {value}")
    if sequences % microbatch:
        raise UserError(f"--microbatch: expected a divisor of the {sequences} sequences, found {microbatch}")
    if device_kind == "gpu" and not torch.cuda.is_available():
        raise UserError("no GPU that torch can use; --size smoke --device cpu runs a small one on the CPU")
    device = torch.device("cuda", 0) if device_kind == "gpu" else torch.device("cpu")
    compiled = wants_compilation(machine) and (device_kind == "gpu" or machine.compile == "on")
    prepare(machine, device)
    speeds = {}
    for kind in KINDS:
        _say(f"{size}, readouts {kind} ...")
        speeds[kind] = step_speed(shape, kind, device, compiled, sequences, microbatch, steps)
        _forget()
    curves_size = SMOKE if size == SMOKE else CURVES_SIZE
    _say(f"loss curves of {curves_size} ...")
    return Findings(
        device=torch.cuda.get_device_name(device) if device_kind == "gpu" else "cpu",
        size=size,
        compute_dtype=shape.train.compute_dtype,
        compiled=compiled,
        sequence_length=shape.config.sequence_length,
        sequences=sequences,
        microbatch=microbatch,
        steps=steps,
        speeds=speeds,
        curves_size=curves_size,
        curves=compare(read_shape(curves_size), device, compiled),
    )


def text(findings: Findings) -> str:
    """The findings for people."""
    cells = [("readouts", "tokens/s", "an update", "MFU", "peak memory", "above weights, gradients, moments")]
    for kind, speed in findings.speeds.items():
        cells.append(
            (
                kind,
                f"{speed.tokens_per_second:,.0f}",
                f"{significant(speed.seconds)} s",
                "-" if speed.mfu is None else f"{100 * speed.mfu:.1f} %",
                _gib(speed.peak_bytes),
                _gib(speed.peak_bytes_above_kept),
            )
        )
    lines = [
        f"{findings.device}, {findings.size} in {findings.compute_dtype}, layers "
        f"{'compiled' if findings.compiled else 'not compiled'}; median of {findings.steps} updates of "
        f"{findings.sequences} sequences of {findings.sequence_length}, {findings.microbatch} at once",
        *_aligned(cells),
    ]
    if findings.speeds["none"].mfu is None:
        lines.append(f"no MFU: the peak of the device {findings.device} is not in the table")
    lines += [
        f"separate ÷ none: {significant(findings.time_ratio)} × the time, "
        f"{significant(findings.flop_ratio)} × the operations",
        f"published for {PUBLISHED['size']} on {PUBLISHED['devices']}: {PUBLISHED['time_ratio']} × the time, "
        f"the baseline at {100 * PUBLISHED['baseline_mfu']:.1f} % MFU; {PUBLISHED['source']}",
        "",
        f"loss curves of {findings.curves_size}, {STEPS} updates, in nats: {findings.device} in bfloat16 against "
        "the CPU in float32",
        *_aligned(
            [("reading", "largest", "mean", "last losses")]
            + [
                (
                    differences.reading,
                    f"{differences.largest:.4f}",
                    f"{differences.mean:.4f}",
                    f"{differences.device_last:.4f} {differences.reference_last:.4f}",
                )
                for differences in findings.curves
            ]
        ),
        f"they {'stay within' if findings.curves_agree else 'EXCEED'} the tolerance of {LARGEST} nats at most and "
        f"{MEAN} on average",
    ]
    return "\n".join(lines)


def _aligned(cells: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*cells)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip() for line in cells]


def _gib(count: int | None) -> str:
    return "-" if count is None else f"{significant(count / 2**30)} GiB"


def _forget() -> None:
    # So that the next model finds the memory free, and its peak is its own.
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()


def _say(what: str) -> None:
    print(what, file=sys.stderr, flush=True)


if __name__ == "__main__":
    use_own_package()
    sys.exit(main(sys.argv[1:]))
