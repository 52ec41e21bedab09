"""`python -m benchmarks [NAME ...] [--json]`: run the benchmarks, and hold what they measure against its bounds."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.measure import Row, significant
from benchmarks.project import ROOT
from perlayer.project import use_own_package

BENCHMARKS = (
    "separate_heads",
    "probes",
    "plain_loop",
    "peak_memory",
    "composer_step",
    "optimizer_step",
    "residual_designs",
    "depth_skipping",
    "growth",
    "tokenize_and_shard",
    "local_shards",
    "nothing_to_do",
    "verification",
    "warehouse_load",
    "default_pipeline",
)

HEADERS = ("", "measured", "quartiles", "bound", "holds")


def main(arguments: Sequence[str]) -> int:
    """Run the named benchmarks, or all, and print their rows.

    Returns:
        The exit status: 0, 1 when a row does not hold, 2 for a name that is no benchmark.
    """
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"one of {', '.join(BENCHMARKS)}; all without a name")
    parser.add_argument("--json", action="store_true", help="print the rows as JSON instead of a table")
    options = parser.parse_args(arguments)
    unknown = [name for name in options.names if name not in BENCHMARKS]
    if unknown:
        print(f"error: no benchmark {', '.join(unknown)}; there are {', '.join(BENCHMARKS)}", file=sys.stderr)
        return 2
    rows = []
    for name in options.names or BENCHMARKS:
        print(f"{name} ...", file=sys.stderr, flush=True)
        start = time.monotonic()
        rows += measure(f"benchmarks.{name}")
        print(f"{name}: {time.monotonic() - start:.0f} s", file=sys.stderr, flush=True)
    if options.json:
        print(json.dumps([row.to_json() for row in rows], indent=2))
    else:
        print(table(rows))
    return 0 if all(row.holds for row in rows) else 1


def measure(module: str) -> list[Row]:
    """The rows of a benchmark, run in a fresh process; one that fails gives a row that does not hold."""
    with tempfile.TemporaryDirectory() as folder:
        answer = Path(folder, "rows.json")
        command = [sys.executable, "-m", "benchmarks.one", module, str(answer)]
        # In a hook of git its variables have every command work on the repository of the hook.
        environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        environment["PYTHONPATH"] = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
        # What it prints is progress: stdout is for the rows.
        process = subprocess.Popen(
            command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        last = ""
        for line in process.stdout:
            print(line, end="", file=sys.stderr, flush=True)
            last = line.strip() or last
        status = process.wait()
        if status == 0 and answer.exists():
            return [Row.from_json(values) for values in json.loads(answer.read_text(encoding="utf-8"))]
    why = f"ended by signal {-status}" if status < 0 else last or f"exit status {status}"
    return [Row(module.rpartition(".")[2], None, None, None, None, "", f"failed: {why}")]


def table(rows: Sequence[Row]) -> str:
    """The rows for people, the note of each below it."""
    cells = [HEADERS] + [
        (
            row.name,
            with_unit(row.measured, row.unit),
            "-" if row.low is None else f"{significant(row.low)} to {significant(row.high)}",
            with_unit(row.bound, row.unit),
            "yes" if row.holds else "NO",
        )
        for row in rows
    ]
    widths = [max(map(len, column)) for column in zip(*cells)]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip() for line in cells]
    for position, row in reversed(list(enumerate(rows, start=1))):
        if row.note:
            lines.insert(position + 1, f"  {row.note}")
    return "\n".join(lines)


def with_unit(value: float | None, unit: str) -> str:
    return "-" if value is None else f"{significant(value)} {unit}"


if __name__ == "__main__":
    use_own_package()
    sys.exit(main(sys.argv[1:]))
