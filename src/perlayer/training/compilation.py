"""Compiling by region: one layer becomes a few fused kernels that every layer, run and depth of its shape shares."""

from __future__ import annotations

import contextlib
import importlib
import io
import os
import shutil
import sys
import sysconfig
from collections.abc import Callable
from pathlib import Path

import torch

from perlayer.environment import Machine
from perlayer.errors import UserError
from perlayer.model.decoder import Decoder

KERNELS = Path(".perlayer/kernels")
COMPILERS = ("g++", "clang++", "c++")
C_COMPILERS = ("gcc", "clang")  # for the kernels of a GPU


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
        raise UserError("PERLAYER_COMPILE: expected a C++ compiler and the headers of Python, found none")
    return found and (machine.compile == "on" or sys.platform == "linux")


def _found(variable: str, usual: tuple[str, ...]) -> bool:
    names = (os.environ[variable],) if variable in os.environ else usual
    return any(map(shutil.which, names))


def compiled_layer(decoder: Decoder) -> Callable:
    """`decoder.run_layer`, compiled at its first call; the kernels stay in .perlayer/kernels for later runs.

    Kernels hold the number of threads that they were compiled for, so each number has a folder of its own.
    """
    folder = KERNELS.absolute() / f"threads-{torch.get_num_threads()}"
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = str(folder)
    if not folder.exists():
        print("compiling layers for the first time here, up to a minute; later runs find them done", file=sys.stderr)
    import torch._dynamo.config as dynamo
    import torch._inductor.config as inductor

    with contextlib.redirect_stderr(io.StringIO()):  # at import it tells of a CUDA folder without a GPU
        importlib.import_module("torch.utils.cpp_extension")
    dynamo.optimize_ddp = False  # or a layer is cut where its gradients are sent in buckets
    inductor.cpp.vec_isa_ok = True  # or each process compiles and loads a trial first, which takes seconds
    inductor.compile_threads = 1  # or each starts another that imports torch, to wait for work
    return torch.compile(decoder.run_layer, dynamic=False)
