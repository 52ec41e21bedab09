"""Stages on the workers of a cluster on this machine, in clones of a project whose stages only take their time."""

import json
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest
from local_cluster import local_cluster
from toy_pipeline import PATIENCE, Toy, interrupt

from perlayer import cluster as module
from perlayer.errors import UserError


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    return tmp_path_factory.mktemp("project")


@pytest.fixture(scope="module")
def cluster(project, tmp_path_factory):
    with local_cluster(tmp_path_factory.mktemp("cluster") / "workers", TOY=str(project)) as address:
        yield address


@pytest.fixture
def toy(project):
    shutil.rmtree(project)
    project.mkdir()
    toy = Toy(project, new=True)
    for command in (["git", "add", "-A"], ["git", "commit", "-q", "-m", "toy"]):
        subprocess.run(command, cwd=project, check=True)
    yield toy
    toy.end()


def test_stages_of_runs_go_elsewhere_and_come_back_by_the_cache(toy, cluster):
    toy.touch("broken_train@b")
    said = toy.repro("--cluster", cluster, status=1)
    assert "train@b: error: it is broken" in said
    assert any("train@b failed after" in line and line.endswith("failed on a worker, with status 1") for line in said)
    toy.remove("broken_train@b")
    assert toy.repro("--cluster", cluster)[-1].startswith("3 of 8 stages ran; ")
    ran = {stage: Path(folder) for stage, (*_, folder) in toy.ran.items()}
    assert ran["plan"] == ran["collect"] == toy.folder
    clones = {ran[f"{kind}@{run}"] for kind in ("train", "lens") for run in "abc"}
    assert len(clones) == 2 and toy.folder not in clones
    assert (toy.folder / "lens_c").read_text() == "lens@c" and json.loads(toy.dvc("status", "--json")) == {}


def test_an_interruption_ends_what_runs_elsewhere_and_a_lost_worker_is_replaced(toy, cluster):
    elsewhere = toy.folder / ".perlayer/elsewhere"

    def wait_for(*stages):
        deadline = time.monotonic() + PATIENCE
        while not all((elsewhere / stage).exists() and (elsewhere / stage).read_text() for stage in stages):
            assert time.monotonic() < deadline
            time.sleep(0.05)

    toy.touch("held_train")
    process = toy.start("--cluster", cluster)
    wait_for("train@a", "train@b")
    interrupt(process)
    said, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130 and said.splitlines()[-1].startswith("interrupted after 1 of 8 stages")
    assert not list(elsewhere.iterdir())  # they have ended
    process = toy.start("--cluster", cluster)
    wait_for("train@a")
    os.kill(int((elsewhere / "train@a").read_text()), signal.SIGKILL)
    toy.remove("held_train")
    said, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, said
    assert "train@a: its worker is lost; another goes on\n" in said
    assert json.loads(toy.dvc("status", "--json")) == {}


@pytest.mark.parametrize("changed", ["params.yaml", "src/new.py"])
def test_uncommitted_changes_are_refused(toy, cluster, changed):
    path = toy.folder / changed
    path.parent.mkdir(exist_ok=True)
    with path.open("a") as file:
        file.write("# changed\n")
    (said,) = toy.repro("--cluster", cluster, status=1)
    assert said == (
        f"error: CLUSTER: expected a project without uncommitted changes, as workers clone it; found "
        f"{changed.partition('/')[0] + '/' if '/' in changed else changed}"
    )


def test_no_scheduler_is_one_line(toy, monkeypatch):
    monkeypatch.setattr(module, "ANSWER", 0.2)
    with pytest.raises(UserError, match="^CLUSTER: no scheduler answers at tcp://127.0.0.1:1: ") as error:
        module.connect("tcp://127.0.0.1:1")
    assert "\n" not in str(error.value)
    assert toy.repro("--cluster", "slurm", status=1) == [
        "error: CLUSTER=slurm: expected JOBS, how many stages at a time"
    ]
