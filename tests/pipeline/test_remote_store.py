"""The project and clones of it that share a store of the kind of S3: DVC's remote, and shards that are streamed."""

import shutil

import pytest
from kill_campaign import OUTS
from small_project import Project

MADE = """from perlayer.dvc_pipeline import MAKE_SHARDS, Pipeline
pipeline = Pipeline()
pipeline.needs()
print([pipeline.{method}(name{arguments}) for name in MAKE_SHARDS])
"""


@pytest.fixture
def clone(finished, store, tmp_path):
    """A function that clones the project, whose DVC remote is in the store."""
    pytest.importorskip("dvc_s3", reason="DVC has no S3: the environment is older than pyproject.toml")
    project = Project(shutil.copytree(finished.folder, tmp_path / "project", symlinks=True), finished.warm)
    project.dvc("remote", "add", "--default", "store", "s3://bucket/store")
    project.commit()
    project.dvc("push")

    def clone(name):
        project.command("git", "clone", "--quiet", ".", str(tmp_path / name))
        return Project(tmp_path / name, finished.warm)

    return clone


def test_a_clone_pulls_what_the_project_has_pushed(finished, clone):
    pulled = clone("pulled")
    pulled.dvc("pull")
    assert pulled.bytes_of(*OUTS) == finished.bytes_of(*OUTS)
    assert "up to date" in pulled.dvc("status")


def test_a_clone_trains_from_the_store_with_the_manifest_of_the_shards_alone(finished, clone, store):
    address = store.put(finished.folder / "data/shards", "shards")
    gpu = clone("gpu")
    gpu.dvc("pull", "data/shards/manifest.json")
    gpu.command("dvc", "repro", "--single-item", "plan", "train@separate", PERLAYER_SHARDS=address)
    trained = "data/models/separate", "metrics/runs/separate"
    assert gpu.bytes_of(*trained) == finished.bytes_of(*trained)
    assert (gpu.folder / "dvc.lock").read_text() == (finished.folder / "dvc.lock").read_text()
    assert [path.name for path in (gpu.folder / "data/shards").iterdir()] == ["manifest.json"]
    assert not any((gpu.folder / folder).exists() for folder in ("data/corpus", "data/tokens"))
    # and `make repro` takes the shards as made, until what they are made of changes
    is_changed = MADE.format(method="is_changed", arguments="")
    reproduce = MADE.format(method="reproduce", arguments=", {}")
    for code in (is_changed, reproduce):
        assert gpu.command("python", "-c", code, PERLAYER_SHARDS=address) == "[False, False, False]\n"
    gpu.edit("params.yaml", "sequence_length: 64 ", "sequence_length: 32 ")
    assert gpu.command("python", "-c", is_changed, PERLAYER_SHARDS=address) == "[False, False, True]\n"
