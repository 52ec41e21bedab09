"""Stages on the workers of a Dask cluster, each worker in a clone of its own at the commit of the project.

Workers see the file system of the project: they clone it, share the cache of DVC, through whose run-cache their results
come back, and the scratch folder, so that a training goes on elsewhere from the checkpoints of a worker that is lost.
"""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from perlayer.dvc_pipeline import Pipeline, StageFailed
from perlayer.environment import PREFIX
from perlayer.errors import UserError
from perlayer.lifetimes import alone, ask_to_end, tied
from perlayer.progress import PROGRESS
from perlayer.stage import RUNNING
from perlayer.training.scratch import SCRATCH

if TYPE_CHECKING:
    from distributed import Client, Future

ADDRESS = "CLUSTER"  # environment variable: where the scheduler of the cluster is reached
SLURM = "slurm"
CODE = ("src", "stages", "dvc.yaml", "params.yaml", "constraints.txt")  # what decides what a stage computes
STOP = Path(".perlayer/stop")
NOT_INSTALLED = "CLUSTER: needs `pip install -c constraints.txt -e '.[cluster]'`"
TRIES = 3  # of a stage whose worker is lost
ANSWER = 10.0  # seconds that a scheduler may take to answer
PATIENCE = 60.0  # seconds that the first worker may take to come
TICK = 0.5  # seconds between two looks at a stage
GRACE = 60.0  # seconds that a stage may take to end once it was asked to


@dataclass(frozen=True)
class Unit:
    """A stage, and all that a worker needs to know to run it."""

    stage: str
    project: str  # the folder that is cloned
    commit: str
    lock: str  # what dvc.lock holds, which the commit need not
    cache: str
    environment: dict[str, str]  # how machines are to be used, see `perlayer.environment`

    @property
    def scratch(self) -> Path:
        """The scratch folder that all share."""
        return Path(self.project, SCRATCH)

    @property
    def is_stopped(self) -> bool:
        """Whether the project wants it to end."""
        return Path(self.project, STOP).exists()


class Elsewhere:
    """Has stages run by the workers of a cluster.

    Args:
        address: of its scheduler.
        cache: the folder of DVC's cache.

    Raises:
        UserError: no scheduler answers there.
    """

    def __init__(self, address: str, cache: str):
        self._client = connect(address)
        self._cache = cache
        workers = self._client.scheduler_info()["workers"].values()
        self._resources = {"GPU": 1} if any("GPU" in worker["resources"] for worker in workers) else None

    def run(self, stage: str) -> None:
        """Have a worker run a stage; what it made is in the cache afterwards.

        Raises:
            StageFailed: its command failed, or its workers were lost.
        """
        from distributed.client import FutureCancelledError
        from distributed.scheduler import KilledWorker

        lock = Path("dvc.lock")
        commit = git("rev-parse", "HEAD").strip()
        text = lock.read_text() if lock.exists() else ""
        environment = {name: value for name, value in os.environ.items() if name.startswith(PREFIX)}
        unit = Unit(stage, os.getcwd(), commit, text, self._cache, environment)
        for _ in range(TRIES):
            future = self._client.submit(run_in_clone, unit, resources=self._resources, pure=False, retries=0)
            self._wait(future)
            try:
                status, said = future.result()
            except (KilledWorker, FutureCancelledError):
                print("its worker is lost; another goes on", file=sys.stderr, flush=True)
                continue
            print(said, end="", flush=True)
            if status:
                raise StageFailed(f"failed on a worker, with status {status}")
            return
        raise StageFailed(f"{TRIES} workers were lost on it")

    def _wait(self, future: Future) -> None:
        """Until it has ended, or is to end and nobody is at it."""
        said = False
        while not future.done():
            time.sleep(TICK)
            if STOP.exists() and not any(future.key in keys for keys in self._client.processing().values()):
                raise StageFailed("interrupted")
            if not said and not self._client.nthreads():
                print("there is no worker; waiting for one", file=sys.stderr, flush=True)
                said = True


def connect(address: str) -> Client:
    """A client of the scheduler at an address.

    Raises:
        UserError: the package is not installed, or nothing answers there.
    """
    try:
        from distributed import Client
    except ModuleNotFoundError:
        raise UserError(NOT_INSTALLED) from None
    try:
        return Client(address, timeout=ANSWER, set_as_default=False)
    except (OSError, ValueError) as error:
        raise UserError(f"CLUSTER: no scheduler answers at {address}: {error}") from None


@contextmanager
def cluster_at(where: str, jobs: int | None) -> Iterator[tuple[str, int]]:
    """The address of a cluster's scheduler, and how many stages at a time it is to have.

    Args:
        where: an address, or `slurm`: then jobs of SLURM become workers, as dask-jobqueue is configured.
        jobs: how many stages at a time; None for as many as the workers there are have threads.

    Raises:
        UserError: there are uncommitted changes, which workers would not see; or no cluster.
    """
    changes = git("status", "--porcelain", "--", *CODE).split("\n")[0][3:]
    if changes:
        raise UserError(
            f"CLUSTER: expected a project without uncommitted changes, as workers clone it; found {changes}"
        )
    STOP.unlink(missing_ok=True)
    if where != SLURM and "://" not in where:
        raise UserError(f"CLUSTER: expected slurm or an address such as tcp://HOST:8786, found {where}")
    if where != SLURM:
        with connect(where) as client:
            yield where, jobs or _threads(client)
        return
    if jobs is None:
        raise UserError("CLUSTER=slurm: expected JOBS, how many stages at a time")
    try:
        import dask
        from dask_jobqueue import SLURMCluster
    except ModuleNotFoundError:
        raise UserError(NOT_INSTALLED) from None
    logging.getLogger("distributed.scheduler").setLevel(logging.CRITICAL)  # of a lost worker it is said here
    with dask.config.set({"distributed.scheduler.allowed-failures": 0}), SLURMCluster() as cluster:
        cluster.adapt(minimum_jobs=jobs, maximum_jobs=jobs)  # a job whose time is over is replaced
        yield cluster.scheduler_address, jobs


def git(*words: str) -> str:
    """What git says of the project.

    Raises:
        UserError: it is none of git.
    """
    done = subprocess.run(["git", *words], capture_output=True, text=True)
    if done.returncode:
        raise UserError(f"git {words[0]}: {' '.join(done.stderr.split())}")
    return done.stdout


def run_in_clone(unit: Unit) -> tuple[int, str]:
    """Run a stage in this worker's clone: its exit status, and what it said."""
    from distributed import get_worker

    clone = Path(get_worker().local_directory, f"perlayer-{unit.commit[:12]}").absolute()
    try:
        _prepare(clone, unit)
    except subprocess.CalledProcessError as error:
        return 1, error.stderr
    with alone(unit.scratch.parent / "elsewhere" / unit.stage, unit.stage):  # one that was thought lost may still run
        with subprocess.Popen(
            tied(sys.executable, "-m", "perlayer.cluster", unit.stage),
            cwd=clone,
            env={**os.environ, **unit.environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="backslashreplace",
        ) as process:
            said = _ended(process, unit, clone)
    return process.returncode, said


def _prepare(clone: Path, unit: Unit) -> None:
    def run(*words: str) -> None:
        subprocess.run(words, cwd=clone if clone.exists() else None, capture_output=True, text=True, check=True)

    if not (clone / ".perlayer").exists():
        run("git", "clone", "--quiet", "--no-checkout", unit.project, str(clone))
        run("git", "checkout", "--quiet", unit.commit)
        own = Path(unit.project, ".dvc/config.local")
        if own.exists():
            (clone / ".dvc/config.local").write_bytes(own.read_bytes())
        run(sys.executable, "-m", "dvc", "cache", "dir", "--local", unit.cache)
        unit.scratch.mkdir(parents=True, exist_ok=True)
        (clone / ".perlayer").mkdir()
        (clone / SCRATCH).symlink_to(unit.scratch)
    (clone / "dvc.lock").write_text(unit.lock)


def _ended(process: subprocess.Popen, unit: Unit, clone: Path) -> str:
    """What a stage said until it ended; it is asked to where the project wants that."""
    deadline = None
    while True:
        try:
            said, _ = process.communicate(timeout=TICK)
            return said
        except subprocess.TimeoutExpired:
            if unit.is_stopped and deadline is None and ask_to_end(clone / RUNNING / unit.stage):
                deadline = time.monotonic() + GRACE
            elif deadline is not None and time.monotonic() > deadline:
                process.kill()


def _threads(client: Client) -> int:
    client.wait_for_workers(1, timeout=PATIENCE)
    return sum(client.nthreads().values())


def main(stage: str) -> int:
    """Run a stage of the project in the working folder, once what it needs is there; returns the exit status."""
    try:
        pipeline = Pipeline()
        pipeline.needs()
        pipeline.check_out(stage)
        pipeline.reproduce(stage, {PROGRESS: os.devnull})  # nobody watches, and lines of steps are none of its log
    except (UserError, StageFailed) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    from perlayer.lifetimes import end_with_starter
    from perlayer.surroundings import settle

    settle()
    end_with_starter()
    sys.exit(main(sys.argv[1]))
