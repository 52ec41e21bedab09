"""What ends with a process, however it ends: the processes that it has started, its locks and its temporary folders."""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import shutil
import signal
import stat
import sys
import tempfile
import threading
import zlib
from collections.abc import Callable, Iterable, Iterator
from multiprocessing import resource_tracker
from pathlib import Path

ENDS_WITH = "ENDS_WITH"  # environment variable: the id of the process with which this one is to end
PR_SET_PDEATHSIG = 1  # of Linux's prctl
HELD = ".held"  # how the names of temporary folders end
DEAF = 5.0  # seconds for which a native call may keep Python from hearing that it is to end


def tied(*command: str) -> list[str]:
    """The command that runs `command` so that it ends with this process, and the stages that it starts with it."""
    return [sys.executable, "-m", "perlayer.lifetimes", str(os.getpid()), *command]


def end_with_starter() -> None:
    """End this process when what has started it ends: DVC, a command that was `tied`, or whom `ENDS_WITH` names.

    On Linux; what people start by hand goes on.
    """
    starter = os.environ.get(ENDS_WITH, "")
    if not starter.isdigit() and "DVC_STAGE" not in os.environ:
        return
    end_with_parent()
    if starter.isdigit() and hasattr(os, "pidfd_open"):  # a shell may stand between the two, and live on
        _end_with(int(starter))


def end_with_parent() -> None:
    """Have Linux kill this process when its parent ends."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def end_with_parent_alone(worker: int) -> None:
    """Have this process, a loader's worker, end with its parent or when that asks it to.

    Signals that ask a whole group or job to end pass it by: its parent still needs its batches to end in order.
    """
    end_with_parent()
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    if hasattr(signal, "sigwaitinfo"):
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
        threading.Thread(target=_wait_for_parent, daemon=True).start()


def _wait_for_parent() -> None:
    while signal.sigwaitinfo({signal.SIGTERM}).si_pid != os.getppid():
        pass
    os._exit(0)


def start_tracker() -> None:
    """Start Python's tracker of shared memory so that the end of a terminal does not end it before this process."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    resource_tracker.ensure_running()
    signal.signal(signal.SIGHUP, before)


def _end_with(process: int) -> None:
    try:
        ended = os.pidfd_open(process)
    except ProcessLookupError:
        os.kill(os.getpid(), signal.SIGKILL)
    except OSError:  # not to be had here
        return

    def wait() -> None:
        select.select([ended], [], [])
        os.kill(os.getpid(), signal.SIGKILL)

    threading.Thread(target=wait, daemon=True).start()


def end_though_deaf(end: Callable[[], None]) -> None:
    """Call `end`, in a thread, when a native call keeps this process from the KeyboardInterrupt that a signal asks for.

    Python's handlers run in the main thread, between its own instructions. Where a signal has another handler, it is a
    wish for which there is time.
    """
    heard = threading.Event()
    signal.signal(signal.SIGURG, lambda *_: heard.set())  # which nobody sends: it comes after those of lower numbers
    asked, wakes = os.pipe()
    os.set_blocking(wakes, False)
    signal.set_wakeup_fd(wakes, warn_on_full_buffer=False)
    os.register_at_fork(after_in_child=lambda: signal.set_wakeup_fd(-1))

    def wait() -> None:
        while True:
            if signal.getsignal(os.read(asked, 1)[0]) is signal.default_int_handler:
                heard.clear()
                signal.pthread_kill(threading.main_thread().ident, signal.SIGURG)
                if not heard.wait(DEAF):
                    end()

    threading.Thread(target=wait, daemon=True).start()


@contextlib.contextmanager
def alone(path: Path, what: str, patience: float = 0.0) -> Iterator[None]:
    """Hold the lock file `path`, which one process at a time does; wait where another has it.

    The lock goes with the process that holds it, however that ends.

    Args:
        what: how a line on stderr calls what the other process is at, after `patience` seconds.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = _locked(path, what, patience)
    try:
        with contextlib.suppress(OSError):  # a full disk; it only tells others whom they wait for
            os.truncate(descriptor, 0)
            os.pwrite(descriptor, str(os.getpid()).encode(), 0)
        yield
    finally:
        path.unlink(missing_ok=True)
        with contextlib.suppress(OSError):  # where there are no locks
            fcntl.flock(descriptor, fcntl.LOCK_UN)  # processes forked meanwhile share it
        os.close(descriptor)


def _locked(path: Path, what: str, patience: float) -> int:
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            if not _lock(descriptor):
                speaker = threading.Timer(patience, _say_for_whom, [path, what])
                speaker.daemon = True
                speaker.start()
                try:
                    fcntl.flock(descriptor, fcntl.LOCK_EX)
                finally:
                    speaker.cancel()
            if _is_at(descriptor, path):
                return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)  # the one who held it has removed it


def _say_for_whom(path: Path, what: str) -> None:
    with contextlib.suppress(OSError):
        print(f"{what}: waiting for process {path.read_text().strip() or '(unknown)'}, which is at it", file=sys.stderr)


@contextlib.contextmanager
def temporary_folder(prefix: str, parent: str | Path | None = None) -> Iterator[Path]:
    """A new folder of this process in `parent` (by default that for temporary files), gone when the context ends.

    Those of the same prefix that processes of this machine left there when they were killed go before.
    """
    parent = Path(parent or tempfile.gettempdir())
    machine = zlib.crc32(os.fsencode(os.uname().nodename)) & 0xFFFF  # another does not see its locks
    prefix = f"{prefix}{machine:04x}-"
    for left in parent.glob(f"{prefix}*{HELD}"):
        _remove_if_dead(left)
    descriptor = None
    while descriptor is None:
        folder = Path(tempfile.mkdtemp(HELD, prefix, parent))
        with contextlib.suppress(FileNotFoundError):  # another process took it for one that is left
            descriptor = os.open(folder, os.O_RDONLY)
            if not (_lock(descriptor) and _is_at(descriptor, folder)):
                os.close(descriptor)
                descriptor = None
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(descriptor)


@contextlib.contextmanager
def own_temporary_folder() -> Iterator[None]:
    """A TMPDIR for this process and those that it starts, which a launcher's share with the one that started them.

    Libraries leave files there: torch when it is killed, streaming always, where it then finds those of other runs.
    """
    if "RANK" in os.environ:
        yield
        return
    before = os.environ.get("TMPDIR"), tempfile.tempdir
    with temporary_folder("perlayer-") as folder:
        os.environ["TMPDIR"] = tempfile.tempdir = str(folder)
        try:
            yield
        except BaseException:
            # Threads that still read ahead lose this folder now; what they would say of it hides what went wrong.
            threading.excepthook = lambda arguments: None
            raise
        finally:
            os.environ.pop("TMPDIR")
            if before[0] is not None:
                os.environ["TMPDIR"] = before[0]
            tempfile.tempdir = before[1]


def _remove_if_dead(folder: Path) -> None:
    """Remove a temporary folder, unless a living process has it or it is another user's."""
    try:
        found = folder.lstat()
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
            return
        descriptor = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(folder, ignore_errors=True)
    except OSError:  # in use, or on a file system that does not tell
        pass
    finally:
        os.close(descriptor)


def ask_to_end(path: Path) -> bool:
    """Send SIGTERM to the process that holds the lock file `path`, see `alone`; says whether there is one.

    The file that a killed process has left names whoever has its id by now.
    """
    with contextlib.suppress(OSError, ValueError):  # it has just begun, or ended
        if is_held(path):
            os.kill(int(path.read_text()), signal.SIGTERM)
            return True
    return False


def is_held(path: Path) -> bool:
    """Whether a living process has locked a file."""
    try:
        with path.open("rb") as file:
            return not _lock(file.fileno())
    except FileNotFoundError:
        return False


def unused(files: Iterable[Path]) -> list[Path]:
    """Those of some files that no process has open or mapped, as far as Linux shows them; elsewhere none."""
    left = {str(file.absolute()): file for file in files}
    if not left or not os.path.isdir("/proc/self/fd"):
        return []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it has ended, or is another user's
            for descriptor in (process / "fd").iterdir():
                with contextlib.suppress(OSError):
                    left.pop(os.readlink(descriptor), None)
            for line in (process / "maps").read_text(errors="replace").splitlines():
                left.pop(line[line.find("/") :], None)
    return list(left.values())


def _lock(descriptor: int) -> bool:
    """Whether the lock of an open file or folder is now this process's; where there are no locks, it is."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        pass
    return True


def _is_at(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(path))
    except FileNotFoundError:
        return False


if __name__ == "__main__":
    starter, *command = sys.argv[1:]
    end_with_parent()
    if os.getppid() != int(starter):
        sys.exit(1)  # it has ended already
    os.environ[ENDS_WITH] = str(os.getpid())
    try:
        os.execvp(command[0], command)
    except FileNotFoundError:
        sys.exit(f"{command[0]}: no such command on PATH; `make setup` installs what is locked")
