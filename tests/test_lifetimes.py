"""What ends with a process that is killed."""

import errno
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from perlayer.lifetimes import alone, temporary_folder, tied, unused

# Each says that it is ready, with what the test has to know, and waits.
HOLDS = "with alone(Path(sys.argv[1]), 'it'): print(os.getpid(), flush=True); time.sleep(60)"
MAKES = "with temporary_folder('ours-', sys.argv[1]) as folder: print(folder, flush=True); time.sleep(60)"
OPENS = "file = open(sys.argv[1]); print('open', flush=True); time.sleep(60)"
MAPS = "import mmap; file = open(sys.argv[1], 'r+b'); mapped = mmap.mmap(file.fileno(), 0); file.close(); print(); "
MAPS += "sys.stdout.flush(); time.sleep(60)"
IMPORTS = "import os, sys, time\nfrom pathlib import Path\nfrom perlayer.lifetimes import *\n"
linux = pytest.mark.skipif(sys.platform != "linux", reason="what Linux alone offers")


@pytest.fixture
def started():
    """A function that starts Python code with one argument, and returns the process and the line that it says."""
    processes = []

    def start(code, argument):
        command = [sys.executable, "-c", IMPORTS + code, str(argument)]
        processes.append(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
        return processes[-1], processes[-1].stdout.readline().strip()

    yield start
    for process in processes:
        process.kill()
        process.wait()
        process.stdout.close()


def until(condition):
    deadline = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_the_second_waits_and_says_for_whom_until_the_first_is_killed(tmp_path, started, capsys):
    path = tmp_path / "new" / "lock"
    first, said = started(HOLDS, path)
    waiting = [sys.executable, "-c", IMPORTS + "with alone(Path(sys.argv[1]), 'it'): print('mine', flush=True)", path]
    second = subprocess.Popen(waiting, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert second.stderr.readline() == f"it: waiting for process {said}, which is at it\n"
    assert second.poll() is None
    first.kill()
    assert second.communicate(timeout=10) == ("mine\n", "") and not path.exists()


def test_a_lock_is_free_afterwards(tmp_path, capsys):
    for _ in range(2):
        with alone(tmp_path / "lock", "it"):
            assert int((tmp_path / "lock").read_text()) == os.getpid()
    assert not (tmp_path / "lock").exists()
    assert capsys.readouterr().err == ""


def test_where_there_are_no_locks_work_goes_on(tmp_path, monkeypatch):
    def refuses(descriptor, operation):
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))  # Lustre, as it is mounted by default

    monkeypatch.setattr("fcntl.flock", refuses)
    with alone(tmp_path / "lock", "it"), temporary_folder("ours-", tmp_path) as folder:
        assert folder.is_dir()
    assert list(tmp_path.iterdir()) == []


def test_a_new_temporary_folder_takes_away_those_of_killed_processes_alone(tmp_path, started):
    (dead, left), (_, living) = started(MAKES, tmp_path), started(MAKES, tmp_path)
    Path(left, "inside").write_text("x")
    elsewhere = tmp_path / "ours-another-machine-12345678.held"  # whose locks do not show here
    others = [elsewhere, tmp_path / "ours-but-not-a-temporary-folder"]
    for folder in others:
        folder.mkdir()
    dead.kill()
    dead.wait()
    with temporary_folder("ours-", tmp_path) as folder:
        assert folder.is_dir() and Path(living).is_dir() and not Path(left).exists()
    assert set(tmp_path.iterdir()) == {Path(living), *others}


@linux
def test_files_in_use_are_those_that_a_process_has_open_or_mapped(tmp_path, started):
    files = [tmp_path / name for name in ("opened", "mapped", "neither")]
    for file in files:
        file.write_bytes(b"x" * 10)
    processes = [started(OPENS, files[0])[0], started(MAPS, files[1])[0]]
    assert unused(files) == files[2:]
    for process in processes:
        process.kill()
        process.wait()
    assert unused(files) == files


# A stage below a shell that outlives what has started it, as dash does.
STAGE = "import os, time; from perlayer.lifetimes import end_with_starter; end_with_starter(); "
STAGE += "print(os.getpid(), flush=True); time.sleep(60)"


@linux
@pytest.mark.parametrize("killed", ["top", "tied"])
def test_what_a_process_has_started_ends_with_it(killed):
    """Three deep: a process, the command that it tied to itself, and a stage that this runs in a shell."""
    shell = tied("sh", "-c", f"echo $$; {sys.executable} -c '{STAGE}'; true")
    top = "import os, subprocess; from perlayer.lifetimes import tied; print(os.getpid(), flush=True); "
    top += f"subprocess.run(tied(*{shell[4:]!r}))"
    with subprocess.Popen([sys.executable, "-c", top], stdout=subprocess.PIPE, text=True) as process:
        ids = dict(zip(("top", "tied", "stage"), (int(process.stdout.readline()) for _ in range(3))))
        os.kill(ids[killed], signal.SIGKILL)
        process.wait(timeout=10)
        until(lambda: not any(_runs(each) for each in ids.values()))


def _runs(process):
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_what_people_start_by_hand_goes_on():
    code = f"import subprocess, sys; print(subprocess.Popen([sys.executable, '-c', {STAGE!r}], stdout=subprocess.PIPE, "
    code += "text=True).stdout.readline(), flush=True)"
    environment = {name: value for name, value in os.environ.items() if name not in ("DVC_STAGE", "ENDS_WITH")}
    said = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, check=True, env=environment)
    time.sleep(0.1)
    os.kill(int(said.stdout), signal.SIGKILL)  # fails where it has ended with its parent


@linux
def test_a_command_whose_starter_has_ended_meanwhile_does_not_run():
    ended = subprocess.Popen(["true"])
    ended.wait()
    command = tied("echo", "ran")
    command[3] = str(ended.pid)
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    assert (done.returncode, done.stdout) == (1, "")


def test_a_command_that_is_not_there_is_named():
    done = subprocess.run(tied("nosuch"), stderr=subprocess.PIPE, text=True)
    assert done.returncode == 1 and done.stderr.startswith("nosuch: no such command on PATH;")


def test_the_tracker_of_shared_memory_outlives_the_terminal():
    code = (
        "import os, signal, time\nfrom multiprocessing import resource_tracker as tracker, shared_memory\n"
        "from perlayer.lifetimes import start_tracker\n"
        "start_tracker()\nassert signal.getsignal(signal.SIGHUP) == signal.SIG_DFL\n"
        "block = shared_memory.SharedMemory(create=True, size=1)\n"
        "os.kill(tracker._resource_tracker._pid, signal.SIGHUP)\ntime.sleep(0.2)\nblock.unlink()"
    )
    code = f"import signal\nsignal.signal(signal.SIGHUP, signal.SIG_DFL)\n{code}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
