"""Which package a process runs: the one that lies in the project it works in, wherever the environment points to."""

from __future__ import annotations

import os
import sys
from pathlib import Path

PACKAGE = Path("src", "perlayer")  # in a project, which is known by it
LOADED = Path(__file__).parent


def use_own_package(beside: Path | None = None) -> None:
    """Have this process, and all that it starts, run the package of the project that the working folder lies in.

    A copy of the project (a worktree, a clone, an experiment in a folder of its own) may share an environment that
    points to another copy. What is started from here inherits PYTHONPATH; a process that has loaded another package
    already starts anew, and where that is in vain it ends with one line.

    Args:
        beside: the project of the running script, where it is one of a project; it also serves outside of all projects.
    """
    name, here = Path(sys.argv[0]).name, Path.cwd()
    project = next((each for each in (here, *here.parents) if os.path.isdir(each / PACKAGE)), beside)
    if project is None:
        return  # installed for itself
    if beside is not None and not project.samefile(beside):
        sys.exit(f"{name}: expected the project of the script, {beside}, as the working folder, found {here}")
    source, inherited = str(project / PACKAGE.parent), os.environ.get("PYTHONPATH", "")
    others = [folder for folder in inherited.split(os.pathsep) if folder not in ("", source)]
    os.environ["PYTHONPATH"] = os.pathsep.join([source, *others])
    own = project / PACKAGE
    if os.path.isdir(own) and own.samefile(LOADED):
        return
    if os.pathsep in source:
        sys.exit(f"{name}: PYTHONPATH expects a project whose path has no {os.pathsep}, found {project}")
    if (inherited + os.pathsep).startswith(source + os.pathsep):  # it has started anew
        sys.exit(f"{name}: expected to run the package {own}, found {LOADED}")
    os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])
