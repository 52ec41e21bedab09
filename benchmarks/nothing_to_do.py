"""`dvc repro` of a finished pipeline: the real stages, dependencies and params, with small stand-ins for the outs."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.measure import Row, seconds_of
from benchmarks.project import ROOT

BOUND_SECONDS, BOUND_SECONDS_PER_STAGE = 5.0, 0.05
REPEATS = 5

NOTHING_TO_DO = "Data and pipelines are up to date."


def rows() -> list[Row]:
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as state:
        os.environ |= {"DVC_NO_ANALYTICS": "true", "DVC_SITE_CACHE_DIR": state}  # nothing of it stays on the machine
        stages = finished_copy(Path(folder))
        seconds = seconds_of(lambda: repro(folder), REPEATS, warmup=1)
    bound = BOUND_SECONDS + BOUND_SECONDS_PER_STAGE * stages
    return [seconds.row("dvc repro with nothing to do", bound, f"{stages} stages")]


def finished_copy(folder: Path) -> int:
    """Copy the project, put something in the place of every out and record that as done; returns how many stages."""
    from dvc.repo import Repo

    listing = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    for name in subprocess.run(listing, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True).stdout.split("\0"):
        if (ROOT / name).is_file() and name != "dvc.lock":
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
    subprocess.run(["git", "init", "--quiet"], cwd=folder, check=True)
    with Repo(folder) as repo:
        stages = list(repo.index.stages)
        for out in (out for stage in stages for out in stage.outs):
            path = Path(out.fs_path)
            put(path if path.suffix else path / "stand-in")
        for dependency in (dependency for stage in stages for dependency in stage.deps):
            put(Path(dependency.fs_path))  # a file inside an out
    dvc(folder, "commit", "--force")
    return len(stages)


def put(path: Path) -> None:
    """Write a file of its own name, unless there is something."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(path.name)


def repro(folder: str | Path) -> None:
    said = dvc(folder, "repro")
    if NOTHING_TO_DO not in said:
        raise RuntimeError(f"dvc repro: expected nothing to do, found: {said.strip().splitlines()[-1]}")


def dvc(folder: str | Path, *words: str) -> str:
    """Run DVC there, and return what it says."""
    command = [sys.executable, "-m", "dvc", *words]
    done = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        raise RuntimeError(f"dvc {' '.join(words)}: {done.stdout.strip().splitlines()[-1]}")
    return done.stdout
