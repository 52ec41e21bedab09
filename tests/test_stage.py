"""A stage's errors are one line each, its time is written down, and nothing of that touches its outs."""

import errno
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import pytest

from perlayer import errors, stage
from perlayer.code_hash import code_hash
from perlayer.errors import UserError

PARAMS = "size: smoke\nrecipes: {smoke: {}}\nruns: {baseline: {seed: 3}}\n"


@pytest.fixture(autouse=True)
def project(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("RANK", raising=False)
    (tmp_path / "params.yaml").write_text(PARAMS, encoding="utf-8")
    return tmp_path


def raising(error):
    def function(params, run):
        raise error

    return function


def test_calls_the_stage_with_params_and_arguments_and_says_nothing(capfd):
    calls = []
    assert stage.run(lambda params, run: calls.append((params["runs"], run)), "train", ["baseline"]) == 0
    assert calls == [({"baseline": {"seed": 3}}, "baseline")]
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("arguments", [[], ["baseline", "more"]])
def test_a_wrong_number_of_arguments_gives_the_usage(arguments, capfd):
    assert stage.run(raising(AssertionError("called")), "train", arguments) == 2
    assert capfd.readouterr().err == "usage: python stages/train.py RUN\n"


@pytest.mark.parametrize("argument", ["", "../x", "a" * 51, "a" * 5000, "A", "\udcff", "a\nb", "baseline\n"])
def test_an_argument_that_can_be_no_name_is_one_line(argument, capfd):
    assert stage.run(raising(AssertionError("called")), "train", [argument]) == 2
    said = capfd.readouterr().err
    assert said.startswith("error: RUN: expected a name of at most 50 lower-case letters, digits and _, starting with ")
    assert said.count("\n") == 1 and len(said) < 300


def test_a_name_that_is_nowhere_is_one_line(capfd):
    assert stage.run(lambda params, run: params["runs"][run]["seed"], "anatomy", ["nosuch"]) == 1
    assert capfd.readouterr().err == "error: params.yaml: runs.nosuch: missing\n"


def test_a_long_error_keeps_its_beginning_and_its_end(capfd):
    error = OSError(errno.ENAMETOOLONG, os.strerror(errno.ENAMETOOLONG), "x" * 100_000)
    assert stage.run(raising(error), "corpus", ["baseline"]) == 1
    said = capfd.readouterr().err
    assert said.startswith("error: xxx") and said.endswith("x: File name too long\n") and len(said) < 2100


@pytest.mark.parametrize(
    ("error", "status", "line"),
    [
        (UserError("params.yaml: size: expected\n  this"), 1, "error: params.yaml: size: expected this\n"),
        (PermissionError(errno.EACCES, "Permission denied", "data/x"), 1, "error: data/x: Permission denied\n"),
        (OSError("Can't load\nthe tokenizer"), 1, "error: Can't load the tokenizer\n"),
        (KeyboardInterrupt(), 130, "train: interrupted\n"),
        (RuntimeError("Query interrupted"), 130, "train: interrupted\n"),  # what DuckDB makes of it
        (
            ImportError("libtorch_cuda.so: failed to map segment from shared object", path="torch/_C.abi3.so"),
            1,
            "error: torch/_C.abi3.so: the system cannot load it: libtorch_cuda.so: failed to map segment from shared "
            "object\n",
        ),
        (MemoryError(), 1, "error: there is not as much memory as this takes, or a limit is set (ulimit -v)\n"),
    ],
)
def test_an_error_for_people_is_one_line(error, status, line, capfd):
    assert stage.run(raising(error), "train", ["baseline"]) == status
    assert capfd.readouterr() == ("", line)
    assert not stage.TIMINGS.exists()


def test_a_full_disk_names_the_place(project, capfd):
    # What a write to a full disk raises: the system names no path there.
    assert stage.run(raising(OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))), "train", ["baseline"]) == 1
    assert capfd.readouterr().err == f"error: No space left on device (working in {project.resolve()})\n"


def test_a_missing_package_is_named(capfd):
    def function(params):
        import no_such_package.inside  # noqa: F401

    assert stage.run(function, "corpus", []) == 1
    line = capfd.readouterr().err
    assert "has no package no_such_package;" in line and "make setup" in line and line.count("\n") == 1


def test_memory_that_torch_does_not_get_is_one_line(capfd):
    import torch

    assert stage.run(lambda params: torch.empty(2**60), "corpus", []) == 1
    assert capfd.readouterr().err.startswith("error: there is not as much memory as this takes")


@pytest.mark.parametrize(
    "error",
    [
        ZeroDivisionError(),
        RuntimeError("no memory"),
        ModuleNotFoundError("no", name="perlayer.gone"),
        ImportError("cannot import name", name="perlayer.store", path="src/perlayer/store.py"),
    ],
)
def test_a_fault_of_ours_keeps_its_traceback(error):
    with pytest.raises(type(error)):
        stage.run(raising(error), "train", ["baseline"])


def test_bad_params_stop_the_stage_before_it_starts(project, capfd):
    (project / "params.yaml").write_text(PARAMS.replace("size: smoke", "size: huge"), encoding="utf-8")
    assert stage.run(raising(AssertionError("called")), "train", ["baseline"]) == 1
    assert capfd.readouterr().err == "error: params.yaml: size: expected one of smoke, found 'huge'\n"


def test_writes_time_memory_size_and_code():
    size = 50_000_000
    before = time.time()
    assert stage.run(lambda params, run: bytearray(size), "train", ["baseline"]) == 0
    timing = json.loads((stage.TIMINGS / "train@baseline.json").read_text(encoding="utf-8"))
    assert list(timing) == ["stage", "seconds", "peak_memory_bytes", "start", "end", "size", "code"]
    assert timing["stage"] == "train@baseline" and timing["size"] == "smoke"
    assert 0 <= timing["seconds"] < 60
    assert timing["end"] - timing["start"] == pytest.approx(timing["seconds"], abs=0.002)
    assert before - 1 < timing["start"] <= timing["end"] < before + 60  # unix seconds
    assert size < timing["peak_memory_bytes"] < 1e12  # bytes: the process has held at least the array
    for module in (stage, errors):
        path = os.path.relpath(module.__file__)
        assert timing["code"][path] == code_hash(Path(path))


def test_the_code_of_a_stage_is_its_scripts_and_what_it_has_loaded(project):
    (project / "stages").mkdir()
    script = project / "stages" / "toy.py"
    script.write_text("import _run\nfrom perlayer import stage\nstage.run(lambda params: 0, 'toy', [])\n")
    (project / "stages" / "_run.py").touch()
    environment = os.environ | {"PYTHONPATH": str(Path(stage.__file__).parents[1])}
    subprocess.run([sys.executable, "stages/toy.py"], env=environment, check=True)
    code = json.loads((stage.TIMINGS / "toy.json").read_text(encoding="utf-8"))["code"]
    assert code["stages/toy.py"] == code_hash(script)
    modules = {Path(path).name for path in set(code) - {"stages/toy.py", "stages/_run.py"}}
    assert modules >= {"__init__.py", "errors.py", "lifetimes.py", "loaded_code.py", "params.py", "stage.py"}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("native", [True, False])
def test_a_signal_ends_a_stage_that_is_in_a_native_call(number, native):
    """PBKDF2 of OpenSSL stands for one: of 10**9 rounds it takes minutes, and lets other threads run."""
    stages = str(Path(__file__).parents[1] / "stages")
    call = "hashlib.pbkdf2_hmac('sha256', b'', b'', 10**9)" if native else "time.sleep(600)"
    script = f"""
import hashlib, signal, sys, time
for number in (signal.SIGINT, signal.SIGTERM):  # which tests that run in the background ignore
    signal.signal(number, signal.default_int_handler)
sys.path.insert(0, {stages!r})
sys.argv[0] = "toy.py"
from _run import run
from perlayer import lifetimes
lifetimes.DEAF = 0.5

def toy(params):
    print("begun", flush=True)
    {call}

run(toy)
"""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", script], text=True, **pipes) as process:
        assert process.stdout.readline() == "begun\n", process.stderr.read()
        time.sleep(0.2)  # until it is in the call
        process.send_signal(number)
        try:
            said = process.communicate(timeout=10)
        finally:
            process.kill()
    assert (process.returncode, *said) == (130, "", "toy: interrupted\n")


def test_the_second_of_two_at_once_waits_for_the_first(project, capfd):
    started, ended = threading.Event(), []

    def function(params, run):
        started.set()
        while "waiting" not in capfd.readouterr().err:
            time.sleep(0.01)
        ended.append("first")

    first = threading.Thread(target=stage.run, args=[function, "train", ["a_b"]])
    first.start()
    assert started.wait(10)
    assert stage.run(lambda params, run: ended.append("second"), "train", ["a_b"]) == 0
    first.join(10)
    assert ended == ["first", "second"] and not list(stage.RUNNING.iterdir())


def test_a_stage_has_a_temporary_folder_of_its_own_which_goes_with_it():
    found = []

    def function(params, run):
        found.append(Path(tempfile.mkdtemp()))
        assert os.environ["TMPDIR"] == tempfile.gettempdir() == str(found[0].parent)

    before = os.environ["TMPDIR"]
    assert stage.run(function, "train", ["baseline"]) == 0
    assert found[0].parents[1] == Path(before) and not found[0].parent.exists()
    assert os.environ["TMPDIR"] == before == tempfile.gettempdir()


def test_a_timing_that_cannot_be_written_fails_nothing(project, capfd):
    (project / ".perlayer").write_text("in the way", encoding="utf-8")
    assert stage.run(lambda params: None, "corpus", []) == 0
    assert capfd.readouterr() == ("", "")


def test_only_the_first_process_writes_and_the_others_name_themselves(monkeypatch, capfd):
    monkeypatch.setenv("RANK", "1")
    assert stage.run(lambda params, run: None, "train", ["baseline"]) == 0
    assert not stage.TIMINGS.exists()
    assert stage.run(raising(UserError("data/shards: corrupted")), "train", ["baseline"]) == 1
    assert capfd.readouterr().err == "process 1: error: data/shards: corrupted\n"
