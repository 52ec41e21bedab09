"""A project whose pipeline has run, for all tests here."""

import pytest
from small_project import copy_project


@pytest.fixture(scope="session")
def finished(tmp_path_factory):
    """A project whose pipeline has run once."""
    project = copy_project(tmp_path_factory.mktemp("project"))
    project.dvc("repro")
    project.commit()
    return project
