"""A project whose pipeline has run, for all tests here."""

import os
import shutil

import pytest
from filelock import FileLock
from small_project import Project, copy_project


@pytest.fixture(scope="session")
def finished(tmp_path_factory):
    """A project whose pipeline has run once, as `make repro` runs it; each process of pytest-xdist has a copy."""
    several = "PYTEST_XDIST_WORKER" in os.environ
    root = tmp_path_factory.getbasetemp().parent if several else tmp_path_factory.getbasetemp()
    first = root / "finished"
    with FileLock(f"{first}.lock"):
        if not first.exists():
            project = copy_project(first)
            project.command("python", "-m", "perlayer.repro", "--jobs", "2")
            project.commit()
    folder = tmp_path_factory.mktemp("project")
    return Project(shutil.copytree(first, folder, symlinks=True, dirs_exist_ok=True))
