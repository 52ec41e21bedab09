"""What surrounds a process changes nothing that it makes: settled here, before anything else is imported.

How a machine is to be used is said by `PERLAYER_*` (see `environment`), CUDA_VISIBLE_DEVICES and CXX; those stay.
"""

from __future__ import annotations

import getpass
import os
import sys
from collections.abc import Mapping
from pathlib import Path

from perlayer.project import use_own_package

# What Composer's launcher tells each of its processes. A scheduler or another launcher may set some of it, too.
LAUNCHED = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "NODE_RANK", "MASTER_ADDR", "MASTER_PORT")
OF_OTHER_LAUNCHERS = ("BASE_RANK", "GROUP_RANK", "GROUP_WORLD_SIZE", "ROLE_", "TORCHELASTIC_")
# What libraries read, by how it begins: it changes the last digits of a sum, how kernels are compiled or how a figure
# looks, or ends in a traceback.
SETTINGS = (
    "ACCELERATE_",
    "AOTINDUCTOR_",
    "AOT_INDUCTOR_",
    "ARROW_USER_SIMD_LEVEL",
    "ATEN_",
    "CUBLAS_WORKSPACE_CONFIG",
    "DNNL_",
    "FORCE_TF_AVAILABLE",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",  # in a hook, this and its like name the repository of the hook
    "GIT_COMMON_DIR",
    "GIT_DIR",
    "GIT_INDEX_FILE",
    "GIT_NAMESPACE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_WORK_TREE",
    "GOTO_",
    "INDUCTOR_",
    "KMP_",
    "LOGLEVEL",
    "MATPLOTLIBRC",
    "MKL_",
    "MPLBACKEND",
    "NPY_",
    "NVIDIA_TF32_OVERRIDE",
    "OMP_",
    "ONEDNN_",
    "OPENBLAS_",
    "PANDAS_",
    "PYTHONSAFEPATH",  # with it a script of stages/ does not find _run.py
    "SOURCE_DATE_EPOCH",
    "TORCHDYNAMO_",
    "TORCHINDUCTOR_",
    "TORCH_",
    "TQDM_",
    "TRITON_INTERPRET",
    "USE_FLAX",  # this and its like hide libraries from transformers
    "USE_JAX",
    "USE_TF",
    "USE_TORCH",
    "VECLIB_",
)
KEPT = ("OMP_PREFIX", "TORCH_DISTRIBUTED_DEBUG", "TORCH_EXTENSIONS_DIR", "TORCH_GLOO_", "TORCH_HOME", "TORCH_NCCL_")
FIXED = {
    # One thread, whatever the number of cores; torch is told its own (PERLAYER_THREADS).
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "VECLIB_MAXIMUM_THREADS": "1",
    "MATPLOTLIBRC": os.devnull,  # an empty one, which is found before that of the user
}
# Loader workers are reached by sockets three folders below it, whose paths may have 107 bytes.
LONGEST_TMPDIR = 46


def settle(beside: Path | None = None) -> None:
    """Make this process, and those that it starts, independent of its surroundings; the first thing a command does.

    A working folder that is gone, or whose path libraries cannot take, ends it with a line that says so.

    Args:
        beside: see `use_own_package`.
    """
    _start_anew()
    _settle_streams()
    _require_folder()
    use_own_package(beside)
    settled = settled_environment(os.environ)
    for name in set(os.environ) - set(settled):
        del os.environ[name]
    os.environ.update(settled | _who_and_where())


def settled_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """What is left of an environment, and what is set in it.

    Only what Composer's launcher has started, which has all of `LAUNCHED`, is one process of several.
    """
    removed = [*OF_OTHER_LAUNCHERS, *SETTINGS]
    if len(os.fsencode(environment.get("TMPDIR", ""))) > LONGEST_TMPDIR:
        removed.append("TMPDIR")
    if not is_launched(environment):
        removed += LAUNCHED
    kept = {
        name: value
        for name, value in environment.items()
        if name.startswith(KEPT) or not name.startswith(tuple(removed))
    }
    return kept | FIXED


def _who_and_where() -> dict[str, str]:
    """A user and a home for libraries that ask for them, where a container runs as an id that has neither."""
    found = {}
    try:
        getpass.getuser()
    except (KeyError, OSError):  # the latter since Python 3.13
        found["USER"] = str(os.getuid())
    try:
        Path.home()
    except RuntimeError:
        found["HOME"] = os.sep
    return found


def is_launched(environment: Mapping[str, str]) -> bool:
    """Whether an environment is that of a process which Composer's launcher has started."""
    *numbers, _, port = (environment.get(name, "") for name in LAUNCHED)
    if not (environment.get("MASTER_ADDR") and all(text.isascii() and text.isdigit() for text in [*numbers, port])):
        return False
    rank, world, local_rank, local_world, _ = map(int, numbers)
    return rank < world and local_rank < local_world <= world


def _start_anew() -> None:
    """Start again under other options of Python, where it was given some that hold until the process ends."""
    wanted = {"PYTHONUTF8": "1"} if sys.getfilesystemencoding() != "utf-8" else {}
    unwanted = [name for name in ("PYTHONINSPECT", "PYTHONOPTIMIZE") if name in os.environ]
    if "error" in os.environ.get("PYTHONWARNINGS", ""):  # libraries warn of much that is none of our business
        unwanted.append("PYTHONWARNINGS")
    if not wanted and not unwanted:
        return
    if wanted and sys.stdout is not None and "PYTHONIOENCODING" not in os.environ:
        wanted["PYTHONIOENCODING"] = sys.stdout.encoding  # the terminal still reads what it did
    kept = {name: value for name, value in os.environ.items() if name not in unwanted}
    os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], kept | wanted)


def _settle_streams() -> None:
    """Have standard streams that were closed lead nowhere: else the next file that is opened takes their place.

    And what is said is not worth the work: letters that the terminal cannot show are escaped.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            os.dup2(os.open(os.devnull, os.O_RDWR), number)
            setattr(sys, name, open(number, "r" if number == 0 else "w", closefd=False))
    if sys.stdout.errors == "strict":
        sys.stdout.reconfigure(errors="backslashreplace")


def _require_folder() -> None:
    try:
        folder = os.getcwd()
    except OSError as error:
        sys.exit(f"error: the working folder cannot be found: {error.strerror}")
    try:
        folder.encode()
    except UnicodeEncodeError:
        sys.exit(f"error: expected a working folder whose path is UTF-8, found {ascii(folder)}")
