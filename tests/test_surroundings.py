"""What is set in the environment for other ends, or closed, changes nothing that a process does."""

import os
import subprocess
import sys

import pytest

from perlayer.surroundings import is_launched, settled_environment

COMPOSER = {
    "RANK": "3",
    "WORLD_SIZE": "4",
    "LOCAL_RANK": "1",
    "LOCAL_WORLD_SIZE": "2",
    "NODE_RANK": "1",
    "MASTER_ADDR": "127.0.0.1",
    "MASTER_PORT": "29500",
}
SETTLE = "from perlayer.surroundings import settle; settle()\n"


def python(code, folder=None, shell="", **environment):
    """The output of a Python program, and what it says on stderr; `shell` stands behind its command."""
    command = f'"{sys.executable}" -c "$CODE" {shell}'
    whole = {**os.environ, **environment, "CODE": code}
    done = subprocess.run(["sh", "-c", command], cwd=folder, env=whole, capture_output=True)
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


def test_what_says_how_the_machine_is_used_stays():
    said = {
        "PERLAYER_PROCESSES": "2",
        "CUDA_VISIBLE_DEVICES": "",
        "CXX": "clang++",
        "TORCH_NCCL_BLOCKING_WAIT": "1",
        "HF_HOME": "/a",
        "TMPDIR": "/b",
        "PYTORCH_CUDA_ALLOC_CONF": "c",
    }
    assert said.items() <= settled_environment(said).items()


def test_what_would_change_bytes_goes():
    said = {
        "MPLBACKEND": "module://matplotlib_inline.backend_inline",
        "MATPLOTLIBRC": "/home/me",
        "OMP_NUM_THREADS": "8",
        "OMP_DYNAMIC": "true",
        "MKL_CBWR": "COMPATIBLE",
        "ATEN_CPU_CAPABILITY": "default",
        "TORCH_COMPILE_DISABLE": "1",
        "TORCHINDUCTOR_USE_FAST_MATH": "1",
        "NVIDIA_TF32_OVERRIDE": "1",
        "SOURCE_DATE_EPOCH": "today",
        "LOGLEVEL": "debug",
        "USE_TF": "1",
        "USE_TORCH": "0",
        "USE_TORCH_XLA": "1",
        "USE_JAX": "1",
        "TQDM_MININTERVAL": "abc",
        "ACCELERATE_USE_FSDP": "true",
        "ARROW_USER_SIMD_LEVEL": "NONE",
        "PANDAS_COPY_ON_WRITE": "warn",
        "GIT_DIR": "/home/me/.git",
        "GIT_INDEX_FILE": "/home/me/.git/index",
        "GIT_WORK_TREE": "/home/me",
        "PYTHONSAFEPATH": "1",
    }
    assert settled_environment(said) == settled_environment({})


def test_libraries_find_torch_and_show_progress_whatever_is_set():
    code = (
        SETTLE + "from transformers.utils import is_torch_available\nfrom tqdm import tqdm\n"
        "print(is_torch_available(), list(tqdm([1], disable=True)))"
    )
    out, said = python(code, USE_TF="1", USE_TORCH="0", TQDM_MININTERVAL="abc")
    assert (out, said) == (b"True [1]\n", b"")


def test_a_temporary_folder_too_deep_for_sockets_is_left():
    assert settled_environment({"TMPDIR": "/" + 45 * "x"})["TMPDIR"] == "/" + 45 * "x"
    assert settled_environment({"TMPDIR": "/" + 23 * "\u00e9"}) == settled_environment({})  # 47 bytes


def test_processes_of_composers_launcher_know_their_place():
    assert is_launched(COMPOSER)
    assert COMPOSER.items() <= settled_environment(COMPOSER | {"TORCHELASTIC_USE_AGENT_STORE": "True"}).items()


@pytest.mark.parametrize("missing", COMPOSER)
def test_a_part_of_what_a_launcher_tells_is_nothing(missing):
    part = {name: value for name, value in COMPOSER.items() if name != missing}
    assert settled_environment(part | {"BASE_RANK": "1"}) == settled_environment({})


@pytest.mark.parametrize(
    "wrong", [{"RANK": "4"}, {"LOCAL_RANK": "2"}, {"LOCAL_WORLD_SIZE": "5"}, {"RANK": "one"}, {"MASTER_ADDR": ""}]
)
def test_what_cannot_be_of_a_launcher_is_nothing(wrong):
    assert settled_environment(COMPOSER | wrong) == settled_environment({})


def test_options_of_python_that_change_what_code_does_are_left_behind():
    code = (
        SETTLE + "import sys; print(sys.flags.optimize, sys.warnoptions, sys.getfilesystemencoding(), settle.__doc__)\n"
        "assert not sys.flags.inspect"
    )
    hostile = {"PYTHONOPTIMIZE": "2", "PYTHONINSPECT": "1", "PYTHONWARNINGS": "error", "PYTHONUTF8": "0", "LC_ALL": "C"}
    out, said = python(code, PYTHONCOERCECLOCALE="0", **hostile)
    assert out.startswith(b"0 [] utf-8 Make this process") and said == b""


def test_a_terminal_still_reads_what_it_did():
    code = SETTLE + "import sys; print(sys.stdout.encoding)"
    assert python(code, PYTHONUTF8="0", LC_ALL="C", PYTHONCOERCECLOCALE="0")[0] == b"ascii\n"


def test_what_a_terminal_cannot_show_stops_no_work():
    code = SETTLE + "print(chr(8594)); print('done')"
    assert python(code, PYTHONIOENCODING="ascii") == (b"\\u2192\ndone\n", b"")


def test_nothing_that_is_said_lands_in_a_file_where_streams_are_closed(tmp_path):
    code = (
        SETTLE + "import os\nfile = open('out', 'w')\n" + "print('said'); os.write(1, b'said'); os.write(2, b'said')\n"
    )
    code += "os.system('echo said; echo said >&2')\nfile.write('made'); print(input.__name__)"
    python(code, tmp_path, "<&- >&- 2>&-")
    assert (tmp_path / "out").read_text() == "made"


def test_a_folder_that_libraries_cannot_name_is_said(tmp_path):
    folder = os.fsencode(tmp_path) + b"/caf\xe9"
    os.mkdir(folder)
    done = subprocess.run([sys.executable, "-c", SETTLE], cwd=folder, env=os.environ, capture_output=True, text=True)
    assert done.returncode == 1 and done.stderr.count("\n") == 1
    assert "expected a working folder whose path is UTF-8, found" in done.stderr


def test_a_folder_that_is_gone_is_said(tmp_path):
    code = f"import os; os.chdir({str(tmp_path)!r}); os.rmdir({str(tmp_path)!r})\n"
    done = subprocess.run([sys.executable, "-c", code + SETTLE], env=os.environ, capture_output=True, text=True)
    assert done.stderr == "error: the working folder cannot be found: No such file or directory\n"


def test_a_user_without_a_name_and_a_home_gets_both():
    """As in a container that runs with the id of whoever started it."""
    unknown = "import os, pwd\ndef unknown(uid): raise KeyError(uid)\npwd.getpwuid = unknown\n"
    for name in ("HOME", "LOGNAME", "USER", "LNAME", "USERNAME"):
        unknown += f"os.environ.pop({name!r}, None)\n"
    said, _ = python(f"{unknown}{SETTLE}import getpass, pathlib\nprint(getpass.getuser(), pathlib.Path.home())")
    assert said.decode() == f"{os.getuid()} /\n"
