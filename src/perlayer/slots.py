"""Where stages run side by side: long-lived processes, a core or a GPU each, that run one stage at a time."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path

from perlayer.cluster import ADDRESS, Elsewhere
from perlayer.dvc_pipeline import Pipeline, StageFailed
from perlayer.environment import Machine
from perlayer.errors import UserError
from perlayer.lifetimes import ENDS_WITH, end_with_parent
from perlayer.progress import PROGRESS

PROGRESSES = Path(".perlayer/progress")
NAME = "make repro"  # how other DVC commands call what uses their files
DEVICES = "CUDA_VISIBLE_DEVICES"
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)  # that ask a process to end


@dataclass(frozen=True)
class Said:
    """A line that a stage has said."""

    line: str


@dataclass(frozen=True)
class Ended:
    """A stage has ended."""

    had_work: bool  # False: it was up to date
    seconds: float
    failure: str | None  # in one line


class Slot:
    """A process that runs stages, one at a time."""

    def __init__(self, environment: Mapping[str, str]):
        spawn = multiprocessing.get_context("spawn")
        self.connection, other = spawn.Pipe()
        self._process = spawn.Process(target=_work, args=[other, dict(environment)], daemon=True)
        self._process.start()
        other.close()
        self.stage: str | None = None
        self.since = 0.0

    def start(self, stage: str) -> None:
        """Have it run a stage."""
        self.stage, self.since = stage, time.monotonic()
        with suppress(OSError):  # it has ended, which the next reading tells
            self.connection.send(stage)

    def read(self) -> Said | Ended:
        """What it says next of its stage, once its connection is ready."""
        try:
            news = self.connection.recv()
        except (EOFError, OSError):
            self._process.join()
            how = f"its process has ended with status {self._process.exitcode}"
            news = Ended(True, time.monotonic() - self.since, f"{how}; is the memory full?")
        if isinstance(news, Ended):
            self.stage = None
        return news

    @property
    def is_alive(self) -> bool:
        return self._process.is_alive()

    def end(self) -> None:
        """End it, and with it its stage."""
        self.connection.close()
        if self.stage is not None:
            self._process.kill()
        self._process.join()


def environments(jobs: int | None, machine: Machine) -> list[dict[str, str]]:
    """What each slot adds to the environment: GPUs of its own, where there are any.

    Args:
        jobs: how many slots; None for one a core, or as many as the GPUs serve.
    """
    devices = [] if machine.device == "cpu" else _devices(os.environ)
    if not devices:
        return [{} for _ in range(jobs or _cores())]
    each = machine.processes
    shares = [devices[start : start + each] for start in range(0, len(devices) - each + 1, each)] or [devices]
    return [{DEVICES: ",".join(shares[number % len(shares)])} for number in range(jobs or len(shares))]


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _devices(environment: Mapping[str, str]) -> list[str]:
    """The GPUs that this process may use, as CUDA names them."""
    if DEVICES in environment:
        return [device for device in environment[DEVICES].split(",") if device.strip() not in ("", "-1")]
    try:
        question = ["nvidia-smi", "--query-gpu=index", "--format=csv,noheader"]
        return subprocess.run(question, capture_output=True, text=True, check=True).stdout.split()
    except (OSError, subprocess.CalledProcessError):
        return []


def _work(connection: Connection, environment: dict[str, str]) -> None:
    """What the process of a slot does: run each stage that it is told, until there is nobody to tell it."""
    end_with_parent()
    for number in SIGNALS:  # a terminal interrupts all that runs in it: that is for the stage, not for DVC's writing
        signal.signal(number, lambda *_: None)
    sys.argv[:] = [NAME]
    os.environ.update(environment)
    os.environ[ENDS_WITH] = str(os.getpid())
    turn = threading.Lock()

    def tell(news: Said | Ended) -> None:
        with turn:
            connection.send(news)

    pipeline = elsewhere = None
    with suppress(EOFError, OSError):  # the other end is gone
        while True:
            stage, begin = connection.recv(), time.monotonic()
            had_work, failure = True, None
            with _output_to(lambda line: tell(Said(line))):
                try:
                    pipeline = pipeline or _loaded()
                    if ADDRESS in os.environ and "@" in stage and pipeline.is_changed(stage):
                        elsewhere = elsewhere or Elsewhere(os.environ[ADDRESS], pipeline.cache)
                        elsewhere.run(stage)  # and what it has made is in the cache
                    progress_file(stage).parent.mkdir(parents=True, exist_ok=True)
                    had_work = pipeline.reproduce(stage, {PROGRESS: str(progress_file(stage))})
                except (StageFailed, UserError) as error:
                    failure = str(error)
                except Exception as error:
                    failure = f"{type(error).__name__}: {' '.join(str(error).split())}"
            progress_file(stage).unlink(missing_ok=True)
            tell(Ended(had_work, time.monotonic() - begin, failure))


def _loaded() -> Pipeline:
    pipeline = Pipeline()
    pipeline.needs()
    return pipeline


def progress_file(stage: str) -> Path:
    """Where a running stage writes how far it is."""
    return PROGRESSES.absolute() / stage


@contextmanager
def _output_to(say: Callable[[str], None]) -> Iterator[None]:
    """Give each line that this process, and what it starts meanwhile, writes to stdout and stderr to `say`."""
    sys.stdout.flush()
    sys.stderr.flush()
    before = os.dup(1), os.dup(2)
    end, begin = os.pipe()
    for stream in (1, 2):
        os.dup2(begin, stream)
    os.close(begin)

    def read() -> None:
        with open(end, encoding="utf-8", errors="backslashreplace") as lines, suppress(OSError):
            for line in lines:
                say(line.rstrip("\n"))

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    try:
        yield
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        for stream, old in zip((1, 2), before):
            os.dup2(old, stream)
            os.close(old)
        reader.join(1.0)  # a process that outlives its stage may still hold the other end
