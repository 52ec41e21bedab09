"""When training compiles, and what it says when that fails."""

import ctypes
import pickle
import shutil
import stat
import time

import pytest
import torch
from torch._inductor.cpp_builder import BuildOptionsBase, CppBuilder, CppTorchOptions
from torch.utils._filelock import FileLock

from perlayer.environment import Machine
from perlayer.errors import UserError
from perlayer.training import compilation
from perlayer.training.compilation import _CompiledLayer, compiled_layer, wants_compilation


@pytest.fixture
def compiler(tmp_path, monkeypatch):
    """A compiler that answers as it is told."""

    def answering(status):
        path = tmp_path / "compiler"
        path.write_text(f"#!/bin/sh\nexit {status}\n")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setenv("CXX", str(path))
        monkeypatch.setattr(compilation.sysconfig, "get_path", lambda name: str(tmp_path))
        (tmp_path / "Python.h").touch()
        monkeypatch.setattr(compilation.sys, "platform", "linux")
        monkeypatch.setattr(torch.cuda, "is_available", lambda: False)

    return answering


def test_auto_compiles_where_a_compiler_works(compiler):
    compiler(0)
    assert wants_compilation(Machine()) and wants_compilation(Machine(compile="on"))
    assert not wants_compilation(Machine(compile="off"))


def test_a_compiler_that_does_not_work_is_none(compiler):
    compiler(1)
    assert not wants_compilation(Machine())
    with pytest.raises(UserError, match="PERLAYER_COMPILE: expected a C.. compiler that works"):
        wants_compilation(Machine(compile="on"))


def test_a_compiler_that_is_not_there_is_none(compiler, monkeypatch):
    compiler(0)
    monkeypatch.setenv("CXX", "/nonexistent")
    assert not wants_compilation(Machine())


def test_other_systems_train_without(compiler, monkeypatch):
    compiler(0)
    monkeypatch.setattr(compilation.sys, "platform", "darwin")
    assert not wants_compilation(Machine())


HARD = "a b'c$d%e#f[g](h)&;\u00e9  x\\y*?{z}!~"  # what a folder may be called


@pytest.mark.skipif(shutil.which("g++") is None, reason="there is no compiler")
def test_paths_reach_the_compiler_whole(tmp_path):
    folder = tmp_path / HARD
    folder.mkdir()
    (folder / "one.h").write_text("int one() { return 1; }\n")
    (folder / "two.cpp").write_text(f'#include "{folder}/one.h"\nextern "C" int two() {{ return one() + 1; }}\n')
    compilation._escape_paths()
    options = BuildOptionsBase(compiler="g++", cflags=["shared", "fPIC"])
    options._include_dirs, options._libraries_dirs = [str(folder)], [str(folder)]
    built = CppBuilder("two", [str(folder / "two.cpp")], options, str(folder))
    built.build()
    assert ctypes.CDLL(built.get_target_file_path()).two() == 2


def test_commands_without_such_paths_stay_so_that_kernels_are_found_again():
    options = CppTorchOptions(compiler="g++")
    compilation._escape_paths()
    command = CppBuilder("one", "/some/where/one.cpp", options, "/some/where").get_command_line()
    folders = [f"-I{folder}" for folder in options.get_include_dirs()]
    assert command.startswith("g++ /some/where/one.cpp -D ") and command.endswith(" -o /some/where/one.so")
    assert " ".join(folders) in command and "\\" not in command


@pytest.mark.parametrize("name", ['a"b', "a\nb"])
def test_a_folder_that_headers_cannot_be_included_from_is_named(tmp_path, monkeypatch, name):
    (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path / name)
    with pytest.raises(UserError, match="expected a path without quotation marks and line breaks"):
        compiled_layer(None)


@pytest.mark.parametrize(
    "error",
    [
        pickle.UnpicklingError("pickle data was truncated"),
        OSError("no space left"),
        AttributeError("module 'torch._inductor.x' has no attribute 'call'"),
    ],
)
def test_kernels_that_cannot_be_loaded_are_named_with_the_cure(tmp_path, error):
    def fails(*arguments):
        raise error

    with pytest.raises(UserError, match=f"{tmp_path}: a layer cannot be compiled or loaded.*delete the folder"):
        _CompiledLayer(fails, tmp_path)(1)


def test_kernels_in_whose_building_a_process_was_killed_are_built_anew(tmp_path):
    names = ("killed", "being_built", "whole")
    for name in names:
        (tmp_path / "ab").mkdir(exist_ok=True)
        (tmp_path / "ab" / f"{name}.so").write_bytes(b"\x7fELF")
    for name in names[:2]:
        (tmp_path / "ab" / f"{name}_CxxBuild").mkdir()
    with FileLock(tmp_path / "locks" / "being_built.lock"):  # as torch holds it
        compilation._remove_half_built(tmp_path)
    left = {path.name for path in (tmp_path / "ab").iterdir()}
    assert left == {"being_built.so", "being_built_CxxBuild", "whole.so"}


def test_a_fault_of_the_models_own_code_keeps_its_traceback(tmp_path):
    def fails(*arguments):
        raise AttributeError("'Design' object has no attribute 'gate'")

    with pytest.raises(AttributeError, match="gate"):
        _CompiledLayer(fails, tmp_path)(1)


def test_a_long_compilation_is_said(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(compilation, "PATIENCE", 0.01)
    said = []

    def compiles(value):
        while not said and time.monotonic() < start + 30:
            time.sleep(0.01)
            said.extend(capsys.readouterr().err.splitlines())
        return value

    start = time.monotonic()
    layer = _CompiledLayer(compiles, tmp_path)
    assert layer(3) == 3 and "compiling a layer" in said[0]
    assert layer(4) == 4 and capsys.readouterr().err == ""


def test_kernels_of_another_cpu_lie_elsewhere(tmp_path, monkeypatch):
    cpu = tmp_path / "cpuinfo"
    monkeypatch.setattr(compilation, "CPUINFO", cpu)
    names = []
    for flags, clock in (("sse avx2", 2600), ("sse avx2", 3100), ("sse avx2 avx512f", 2600)):
        cpu.write_text(f"processor\t: 0\nflags\t\t: {flags}\ncpu MHz\t\t: {clock}\n\nprocessor\t: 1\n")
        names.append(compilation._cpu())
    assert names[0] == names[1] != names[2]
