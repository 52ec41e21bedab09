"""A project whose pipeline has run, for all tests here."""

import os
import shutil

import pytest
from filelock import FileLock
from small_project import Project, copy_project
from warm_python import warm_python


@pytest.fixture(scope="session")
def warm(tmp_path_factory):
    with warm_python(tmp_path_factory.mktemp("warm")) as folder:
        yield folder


@pytest.fixture(scope="session")
def finished(tmp_path_factory, warm):
    """A project whose pipeline has run once, as `make repro` runs it; each process of pytest-xdist has a copy."""
    several = "PYTEST_XDIST_WORKER" in os.environ
    root = tmp_path_factory.getbasetemp().parent if several else tmp_path_factory.getbasetemp()
    first, done = root / "finished", root / "finished.done"
    with FileLock(f"{first}.lock"):
        if not done.exists():
            shutil.rmtree(first, ignore_errors=True)  # what failed
            project = copy_project(first, warm)
            project.command("python", "-m", "perlayer.repro", "--jobs", "2")
            project.commit()
            done.touch()
    folder = tmp_path_factory.mktemp("project")
    return Project(shutil.copytree(first, folder, symlinks=True, dirs_exist_ok=True), warm)
