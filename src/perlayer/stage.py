"""Runs the function of a stage: its params, its errors as one line each, its time and memory."""

from __future__ import annotations

import contextlib
import inspect
import json
import os
import resource
import sys
import time
from collections.abc import Callable, Sequence
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

from perlayer import params
from perlayer.code_hash import code_hash
from perlayer.errors import UserError, is_interruption, shortened
from perlayer.lifetimes import alone, end_though_deaf, end_with_starter, own_temporary_folder
from perlayer.loaded_code import loaded_files
from perlayer.provenance import declared, record
from perlayer.store import require_writable

TIMINGS, RUNNING = Path(".perlayer/timings"), Path(".perlayer/running")  # RUNNING/STAGE holds the id of its process
LONGEST = 2000  # characters of a line of error
LOADED = tuple(EXTENSION_SUFFIXES)  # of modules that the system loads
CONNECTIONS = ("gloo", "NCCL")  # which torch names where one between processes is lost
NO_MEMORY = "DefaultCPUAllocator"  # what torch names where there is none


def run(function: Callable[..., None], name: str, arguments: Sequence[str]) -> int:
    """Call `function(params, *arguments)` with the checked params.yaml of the working directory.

    What the user can mend (a `UserError`, a file that cannot be read or written, a missing package) becomes one line on
    stderr; any other exception is a fault of ours and goes on with its traceback. The time and peak memory of a stage
    that ended well go to .perlayer/timings, with its size and code; no stage reads them.

    Args:
        function: the stage; its first parameter takes the params, the others are the stage's arguments, all names.
        name: the stage, as dvc.yaml names it.
        arguments: what the command line holds.

    Returns:
        The exit status: 0, 1 for an error, 2 for arguments that no stage takes, 130 when interrupted.
    """
    expected = [parameter.upper() for parameter in inspect.signature(function).parameters][1:]
    if len(arguments) != len(expected):
        return _fail(" ".join([f"usage: python stages/{name}.py", *expected]), status=2)
    for parameter, argument in zip(expected, arguments):
        if not params.NAME.fullmatch(argument):
            return _fail(f"error: {parameter}: expected {params.A_NAME}, found {shortened(argument)}", status=2)
    stage = "@".join([name, *filter(None, ["-".join(arguments)])])  # as DVC names it
    end_with_starter()
    try:
        with _alone(stage), own_temporary_folder():
            start, clock = time.time(), time.perf_counter()
            choices = params.load("params.yaml")
            declaration = declared(name, arguments, choices)
            if _rank() == 0:
                require_writable(declaration.outs)
            function(choices, *arguments)
            if _rank() == 0:
                record(declaration, choices)
    except UserError as error:
        return _fail(f"error: {error}")
    except OSError as error:
        return _fail(f"error: {describe(error)}")
    except ModuleNotFoundError as error:
        if (error.name or "perlayer").partition(".")[0] == "perlayer":
            raise
        return _fail(f"error: {sys.executable} has no package {error.name}; `make setup` installs what is locked")
    except ImportError as error:
        if not (error.path or "").endswith(LOADED):
            raise
        return _fail(f"error: {error.path}: the system cannot load it: {error}")
    except (MemoryError, RuntimeError) as error:
        if is_interruption(error):
            return _interrupted(name)
        if "RANK" in os.environ and any(name in str(error) for name in CONNECTIONS):
            return _fail(f"error: another of the training processes has ended: {str(error).splitlines()[0]}")
        if isinstance(error, RuntimeError) and NO_MEMORY not in str(error):
            raise
        return _fail("error: there is not as much memory as this takes, or a limit is set (ulimit -v)")
    except KeyboardInterrupt:
        return _interrupted(name)
    if _rank() == 0:
        _write_timing(stage, start, time.perf_counter() - clock, choices["size"])
    return 0


def listen(name: str) -> None:
    """Have a signal end this process, which runs the stage `name` and nothing else, though a native call is at work."""
    end_though_deaf(lambda: os._exit(_interrupted(name)))


def describe(error: OSError) -> str:
    """One line for an error of the operating system: the path, where the system names one, and what is wrong."""
    if error.filename is not None and error.strerror:
        return f"{os.fsdecode(error.filename)}: {error.strerror}"
    if error.strerror:
        return f"{error.strerror} (working in {os.getcwd()})"
    return str(error) or type(error).__name__


def _interrupted(name: str) -> int:
    return _fail(f"{name}: interrupted", status=130)


def _fail(message: str, status: int = 1) -> int:
    # With several processes, what goes wrong in one of them (a full disk, a corrupted shard) must not pass in silence.
    where = f"process {_rank()}: " if _rank() else ""
    line = " ".join(message.split())
    half = LONGEST // 2
    print(where + (line if len(line) <= LONGEST else f"{line[:half]}... ...{line[-half:]}"), file=sys.stderr)
    return status


def _rank() -> int:
    rank = os.environ.get("RANK", "0")
    return int(rank) if rank.isdigit() else 0


def _alone(name: str) -> contextlib.AbstractContextManager:
    """Let one process at a time run a stage, as two would write the same files; what a stage starts is with it."""
    if "RANK" in os.environ:
        return contextlib.nullcontext()
    try:
        RUNNING.mkdir(parents=True, exist_ok=True)
    except OSError:
        return contextlib.nullcontext()  # the stage says what it cannot write
    return alone(RUNNING / name, name)


def _write_timing(name: str, start: float, seconds: float, size: str) -> None:
    unit = 1 if sys.platform == "darwin" else 1024  # of ru_maxrss
    peak = max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    timing = {
        "stage": name,
        "seconds": round(seconds, 3),
        "peak_memory_bytes": peak * unit,
        "start": round(start, 3),  # unix seconds
        "end": round(start + seconds, 3),
        "size": size,
    }
    try:
        timing["code"] = _code()
        TIMINGS.mkdir(parents=True, exist_ok=True)
        (TIMINGS / f"{name}.json").write_text(json.dumps(timing) + "\n", encoding="utf-8")
    except OSError:
        pass  # a timing is a convenience; the stage itself has done its work


def _code() -> dict[str, str]:
    """The hash of the stage script, of how it starts and of each loaded module, by its path from the working folder."""
    scripts = [getattr(sys.modules.get(name), "__file__", None) for name in ("__main__", "_run")]
    files = [*loaded_files().values(), *(Path(script) for script in scripts if script)]
    return dict(sorted((os.path.relpath(file.resolve()), code_hash(file)) for file in files))
