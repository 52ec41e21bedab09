"""What a process says on its standard output, whose reader may have left (`| head`)."""

from __future__ import annotations

import os
import sys


def say(line: str) -> None:
    """Print a line at once; where nobody reads any more, the work goes on all the same."""
    try:
        print(line, flush=True)
    except BrokenPipeError:
        leave_output()


def leave_output() -> None:
    """Have Python write into nothing from here on, so that it does not complain again when it ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
