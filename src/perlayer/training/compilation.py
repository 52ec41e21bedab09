"""Compiling by region: one layer becomes a few fused kernels that every layer, run and depth of its shape shares."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import importlib
import io
import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from pickle import UnpicklingError
from typing import Any
from unittest.mock import patch

import torch
from torch._dynamo.exc import BackendCompilerFailed
from torch._inductor.exc import InvalidCxxCompiler

from perlayer.environment import Machine
from perlayer.errors import UserError
from perlayer.lifetimes import is_held
from perlayer.model.decoder import Decoder

KERNELS = Path(".perlayer/kernels")
CPUINFO = Path("/proc/cpuinfo")
DEFINES_CPU = ("vendor_id", "cpu family", "model", "flags", "CPU ", "Features")  # of x86 and of ARM
COMPILERS = ("g++", "clang++", "c++")
C_COMPILERS = ("gcc", "clang")  # for the kernels of a GPU
BUILDING = "_CxxBuild"  # how torch ends the name of a folder that is there while it builds the kernel of that name
PATIENCE = 5.0  # seconds that loading kernels may take
FAILURES = (BackendCompilerFailed, InvalidCxxCompiler, UnpicklingError, EOFError, OSError, AttributeError)


def wants_compilation(machine: Machine) -> bool:
    """Whether training compiles here: `auto` does where Linux has a C++ compiler and the headers of Python.

    Raises:
        UserError: compilation is asked for, and there is no compiler.
    """
    if machine.compile == "off":
        return False
    found = _found("CXX", COMPILERS) and Path(sysconfig.get_path("include"), "Python.h").is_file()
    if torch.cuda.is_available():
        found = found and _found("CC", C_COMPILERS)
    if machine.compile == "on" and not found:
        raise UserError(
            "PERLAYER_COMPILE: expected a C++ compiler that works (CXX) and the headers of Python, found none"
        )
    return found and (machine.compile == "on" or sys.platform == "linux")


def _found(variable: str, usual: tuple[str, ...]) -> bool:
    names = (os.environ[variable],) if variable in os.environ else usual
    return any(shutil.which(name) and _works(name) for name in names)


def _works(compiler: str) -> bool:
    asked = subprocess.run([compiler, "--version"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return asked.returncode == 0


def compiled_layer(decoder: Decoder) -> Callable:
    """`decoder.run_layer`, compiled at its first call; the kernels stay in .perlayer/kernels for later runs.

    Kernels hold the number of threads and the CPU that they were compiled for, so each pair has a folder of its own.

    Raises:
        UserError: the path of the folder is none that C++ can include headers from.
    """
    folder = KERNELS.absolute() / f"threads-{torch.get_num_threads()}-{_cpu()}"
    if set('"\n') & set(str(folder)):
        raise UserError(
            f"{folder}: expected a path without quotation marks and line breaks, which C++ cannot include headers "
            "from; move the project, or train without compilation by PERLAYER_COMPILE=off, which gives other bytes"
        )
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = str(folder)
    _remove_half_built(folder)
    import torch._dynamo.config as dynamo
    import torch._inductor.config as inductor

    with contextlib.redirect_stderr(io.StringIO()):  # at import it tells of a CUDA folder without a GPU
        importlib.import_module("torch.utils.cpp_extension")
    dynamo.recompile_limit = 128  # where the state of a design grows, each layer has a shape of its own
    dynamo.optimize_ddp = False  # or a layer is cut where its gradients are sent in buckets
    inductor.cpp.vec_isa_ok = True  # or each process compiles and loads a trial first, which takes seconds
    inductor.compile_threads = 1  # or each starts another that imports torch, to wait for work
    _escape_paths()
    if not folder.exists() and not torch.cuda.is_available():
        with contextlib.suppress(OSError, InvalidCxxCompiler):  # what is wrong will be said of the first kernel
            _precompile_header()
    return _CompiledLayer(torch.compile(decoder.run_layer, dynamic=False), folder)


def _cpu() -> str:
    """A short hash of what `-march=native` means here, which Inductor's own keys take for the same everywhere."""
    described = [platform.machine(), platform.processor()]
    with contextlib.suppress(OSError):  # of other systems
        first = CPUINFO.read_text(errors="replace").partition("\n\n")[0]
        described += [line for line in first.splitlines() if line.startswith(DEFINES_CPU)]
    return hashlib.sha256("\n".join(described).encode()).hexdigest()[:8]


@functools.cache
def _escape_paths() -> None:
    """Have Inductor escape the paths in its commands to the compiler, which it splits as a shell would."""
    from torch._inductor.cpp_builder import CppBuilder

    built, written = CppBuilder.__init__, CppBuilder.get_command_line

    def __init__(self, name: str, sources: str | list[str], BuildOption: Any, output_dir: str = "") -> None:
        built(self, name, sources, BuildOption, output_dir)
        self._sources_args = " ".join(map(_escaped, [sources] if isinstance(sources, str) else sources))
        self._include_dirs_args = "".join(f"-I{_escaped(folder)} " for folder in BuildOption.get_include_dirs())
        self._libraries_dirs_args = "".join(f"-L{_escaped(folder)} " for folder in BuildOption.get_libraries_dirs())

    def get_command_line(self) -> str:
        with patch.object(self, "_target_file", _escaped(self._target_file)):
            return written(self)

    CppBuilder.__init__, CppBuilder.get_command_line = __init__, get_command_line


def _escaped(path: str) -> str:
    # Not by quotes: Inductor makes one space of several.
    return re.sub(r"[^\w@%+=:,./-]", r"\\\g<0>", path)


def _remove_half_built(folder: Path) -> None:
    """Remove kernels in whose building a process was killed: torch takes a file that is there for a whole one."""
    for building in folder.glob(f"*/*{BUILDING}"):
        kernel = building.name.removesuffix(BUILDING)
        if not is_held(folder / "locks" / f"{kernel}.lock"):  # or another run is at it
            building.with_name(f"{kernel}.so").unlink(missing_ok=True)
            shutil.rmtree(building, ignore_errors=True)


def _precompile_header() -> None:
    """Have GCC read once the headers that every kernel includes: two thirds of the time that a kernel takes.

    It looks for the outcome beside the header, and takes it where the options are the same; other compilers do not.
    """
    from torch._inductor.codecache import cpp_prefix_path
    from torch._inductor.cpp_builder import CppBuilder, CppTorchDeviceOptions
    from torch._inductor.cpu_vec_isa import pick_vec_isa

    header = cpp_prefix_path()
    options = CppTorchDeviceOptions(vec_isa=pick_vec_isa(), device_type="cpu", compile_only=True)
    built = CppBuilder("header", header, BuildOption=options, output_dir=str(Path(header).parent))
    with tempfile.TemporaryDirectory(dir=Path(header).parent) as folder:
        outcome = Path(folder) / "outcome"
        command = shlex.split(built.get_command_line())
        command[command.index(header) : command.index(header) + 1] = ["-x", "c++-header", header]
        command[command.index("-o") + 1] = str(outcome)
        if subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0:
            outcome.replace(f"{header}.gch")


class _CompiledLayer:
    """Says when it compiles, and what to do when that fails."""

    def __init__(self, compiled: Callable, folder: Path):
        self.compiled, self.folder = compiled, folder
        self.called = False

    def __call__(self, *arguments: Any) -> Any:
        if self.called:
            return self.compiled(*arguments)
        said = threading.Timer(PATIENCE, print, ["compiling a layer; later runs find it done"], {"file": sys.stderr})
        said.daemon = True
        said.start()
        try:
            state = self.compiled(*arguments)
        except FAILURES as error:
            if isinstance(error, AttributeError) and "torch._inductor" not in str(error):
                raise  # a fault of the model's own code
            lines = [line for line in str(error).splitlines() if line.strip() and not line.startswith("backend=")]
            reason = lines[0] if lines else type(error).__name__
            raise UserError(
                f"{self.folder}: a layer cannot be compiled or loaded from here ({reason}); delete the folder to "
                "compile anew, or train without by PERLAYER_COMPILE=off, which gives other bytes"
            ) from None
        finally:
            said.cancel()
        self.called = True
        return state
