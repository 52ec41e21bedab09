"""DVC from inside: the graph of its stages, whether they are up to date, and the run of a stage.

Nothing else calls DVC's Python API. What it relies on beyond `dvc.repo.Repo` is internal to DVC: of that `index.graph`,
`lock`, `scm_context` and `cache`, of a stage `addressing`, `deps`, `outs`, `changed`, `changed_stage`, `changed_deps`,
`reproduce` and `dump`, and that params are read by `dvc.dependency.param.load_path`.
"""

from __future__ import annotations

import logging
import os
import sqlite3
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from datetime import timedelta
from functools import lru_cache
from pathlib import Path
from typing import Any

from perlayer.environment import Machine
from perlayer.errors import UserError

PATIENCE = 5.0  # seconds that another DVC command may take before it is said for whom this process waits
PAUSE = 0.1  # seconds between two tries to get the lock
BUSY_PAUSE = 1.0  # seconds between two tries of a stage whose files another DVC command uses
MAKE_SHARDS = ("corpus", "tokenize", "shard")  # stages that need not run here where shards lie elsewhere


class StageFailed(Exception):
    """A stage did not end well; the message says how, in one line."""


class Pipeline:
    """The stages of the project in the working folder, as they and dvc.lock were when it was made.

    Raises:
        UserError: DVC cannot read the project.
    """

    def __init__(self) -> None:
        from dvc.repo import Repo

        folder = os.getcwd()
        if "{" in folder or "}" in folder:
            raise UserError(f"DVC expects a project whose path has no {{ and no }}, found {folder}")
        _read_params_once()
        for name in ("dvc", "flufl.lock"):
            logging.getLogger(name).setLevel(logging.CRITICAL)
        try:
            self._repo = Repo()
        except Exception as error:  # DVC's own, the system's, and those of the databases that DVC keeps elsewhere
            raise UserError(_described(error)) from None
        self._repo.lock = _PatientLock(self._repo.lock)
        self._stages: dict[str, Any] = {}  # DVC's own, by name

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Hold DVC's lock, for which this waits: no other DVC command works meanwhile."""
        with nullcontext() if self._repo.lock.is_locked else self._repo.lock:
            yield

    def needs(self) -> dict[str, list[str]]:
        """Of each stage those that it needs, all in the order in which `dvc repro` would run them.

        Raises:
            UserError: DVC cannot read dvc.yaml, params.yaml or dvc.lock.
        """
        from dvc.repo.reproduce import get_active_graph, plan_repro

        try:
            with self.alone():
                graph = get_active_graph(self._repo.index.graph)
        except Exception as error:
            raise UserError(_described(error)) from None
        order = plan_repro(graph)
        self._stages = {stage.addressing: stage for stage in order}
        return {stage.addressing: [needed.addressing for needed in graph.successors(stage)] for stage in order}

    def is_changed(self, name: str) -> bool:
        """Whether a stage is to run as things stand.

        Raises:
            StageFailed: DVC cannot tell.
        """
        return self._waiting(name, lambda stage: not _is_made_elsewhere(name, stage) and stage.changed())

    def reproduce(self, name: str, environment: dict[str, str]) -> bool:
        """Run a stage, or take what it would make from DVC's cache, and write that down in dvc.lock.

        Args:
            environment: variables that its command is given beside those of this process.

        Returns:
            Whether there was something to do.

        Raises:
            StageFailed: its command failed, or DVC could not keep what it made.
        """

        def reproduce(stage) -> bool:
            if _is_made_elsewhere(name, stage) or stage.reproduce(run_env=environment) is None:
                return False
            stage.dump(update_pipeline=False)
            return True

        return self._waiting(name, reproduce)

    @property
    def cache(self) -> str:
        """The folder of DVC's cache."""
        return self._repo.cache.local_cache_dir

    def check_out(self, name: str) -> None:
        """Bring from DVC's cache what other stages have made and a stage needs.

        Raises:
            StageFailed: the cache lacks it.
        """
        outs = [out for stage in self._stages.values() for out in stage.outs]
        needed = {
            out.def_path
            for out in outs
            for dep in self._stages[name].deps
            if f"{dep.fs_path}/".startswith(f"{out.fs_path}/")
        }
        try:
            self._repo.checkout(targets=sorted(needed), force=True)
        except Exception as error:
            raise StageFailed(_described(error)) from None

    def _waiting(self, name: str, call) -> bool:
        """Call with a stage under DVC's lock, once no other DVC command uses the files of the stage."""
        from dvc.lock import LockError

        said = False
        while True:
            try:
                with self._repo.lock, self._repo.scm_context(quiet=True):
                    return call(self._stages[name])
            except LockError as error:
                if not said:
                    print(f"{name}: waiting for another DVC command: {_described(error)}", file=sys.stderr)
                said = True
                time.sleep(BUSY_PAUSE)
            except Exception as error:
                raise StageFailed(_described(error)) from None


def _is_made_elsewhere(name: str, stage: Any) -> bool:
    """Whether a stage has made the shards that lie elsewhere: nothing it makes them of has changed."""
    if name not in MAKE_SHARDS or not Machine.from_environment().shards:
        return False
    return not (stage.changed_stage() or stage.changed_deps(allow_missing=True))


def _read_params_once() -> None:
    """Have DVC parse params.yaml once while it stays as it is, not once a stage, which is most of a look at all."""
    from dvc.dependency import param
    from dvc.utils.serialize import load_path

    @lru_cache(maxsize=1)
    def parsed(path: str, content: bytes, fs: Any) -> Any:
        return load_path(path, fs)

    param.load_path = lambda path, fs: parsed(path, Path(path).read_bytes(), fs)


class _PatientLock:
    """DVC's lock of a project, waited for as long as it takes."""

    def __init__(self, lock):
        self._lock = lock

    @property
    def is_locked(self) -> bool:
        return self._lock.is_locked

    def lock(self) -> None:
        from dvc.lock import LockError

        begin, said = time.monotonic(), False
        while True:
            try:
                return self._try()
            except LockError:
                if not said and time.monotonic() - begin > PATIENCE:
                    said = _say_for_whom(Path(self._lock.lockfile))
                time.sleep(PAUSE)

    def unlock(self) -> None:
        self._lock.unlock()

    def __enter__(self) -> None:
        self.lock()

    def __exit__(self, *error) -> None:
        self.unlock()

    def _try(self) -> None:
        from dvc.lock import HardlinkLock

        # Without DVC's own waiting, which is long and in steps of half a second.
        if isinstance(self._lock, HardlinkLock):
            self._lock.lock(timedelta(seconds=PAUSE))
        else:
            self._lock._do_lock()


def _say_for_whom(lock: Path) -> bool:
    """Say which process holds the lock, unless that runs stages beside this process, or cannot be known."""
    import psutil

    try:
        holder = psutil.Process(int(lock.read_text().split()[0]))
        if os.getppid() in (holder.pid, holder.ppid()) or holder.ppid() == os.getpid():
            return False
        command = " ".join(holder.cmdline())
        said = f"process {holder.pid} ({command}), which has the lock of DVC"
    except (OSError, ValueError, IndexError, psutil.Error):  # core.hardlink_lock: a killed process leaves the file
        said = f"the lock of DVC; where no DVC command runs, remove {lock}"
    print(f"waiting for {said}", file=sys.stderr, flush=True)
    return True


def _described(error: BaseException) -> str:
    """What DVC could not do and why, in one line."""
    from dvc.dirs import site_cache_dir
    from dvc.exceptions import DvcException

    parts, at = [], error
    while at is not None:
        said = " ".join(str(at).split())
        parts.append(said if isinstance(at, (DvcException, OSError)) else f"{type(at).__name__} in DVC: {said}")
        at = at.__cause__
    if isinstance(error, sqlite3.Error):
        parts.append(f"what DVC keeps below {site_cache_dir()} may be removed")
    return ": ".join(dict.fromkeys(filter(None, parts)))
