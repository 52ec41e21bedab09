"""What is relied on of DVC's Python API, against the commands of DVC."""

import json
import subprocess
import sys
import threading

import pytest
from toy_pipeline import Toy

from perlayer import dvc_pipeline
from perlayer.dvc_pipeline import Pipeline, StageFailed
from perlayer.errors import UserError

HOLDS = "import fcntl, os; f = open('.dvc/tmp/lock', 'w'); fcntl.flock(f, 2); f.write(f' {os.getpid()}'); f.flush(); "
HOLDS += "print(os.getpid(), flush=True); input()"


@pytest.fixture(scope="module")
def template(tmp_path_factory):
    return Toy(tmp_path_factory.mktemp("template"), new=True)


@pytest.fixture
def toy(template, tmp_path, monkeypatch):
    import shutil

    toy = Toy(shutil.copytree(template.folder, tmp_path, dirs_exist_ok=True))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", toy.environment()["PATH"])
    monkeypatch.setattr(dvc_pipeline, "BUSY_PAUSE", 0.05)
    return toy


@pytest.fixture
def pipeline(toy):
    pipeline = Pipeline()
    pipeline.needs()
    return pipeline


def test_the_graph_is_that_of_dvc_in_its_order(toy, pipeline):
    needs = pipeline.needs()
    listed = toy.dvc("stage", "list", "--all", "--name-only").split()
    assert sorted(needs) == sorted(listed)
    assert needs["collect"] == ["lens@a", "lens@b", "lens@c"] and needs["train@b"] == ["plan"] and needs["plan"] == []
    assert all(list(needs).index(needed) < list(needs).index(name) for name in needs for needed in needs[name])


def test_what_has_changed_is_what_dvc_status_says(toy, pipeline):
    toy.dvc("repro", "train@a", "lens@b")
    (toy.folder / "train_b").write_text("edited")
    pipeline = Pipeline()
    changed = {name for name in pipeline.needs() if pipeline.is_changed(name)}
    assert changed == set(json.loads(toy.dvc("status", "--json"))) >= {"train@b", "train@c", "lens@b"}


def test_params_are_parsed_once_until_they_change(toy, monkeypatch):
    loaded = []
    from dvc.utils import serialize

    real = serialize.load_path
    monkeypatch.setattr(serialize, "load_path", lambda path, fs: loaded.append(path) or real(path, fs))
    pipeline = (toy.folder / "dvc.yaml").read_text()
    (toy.folder / "dvc.yaml").write_text(pipeline.replace("deps: [plan],", "deps: [plan], params: ['runs.${key}'],"))
    toy.dvc("repro", "plan", "train@a", "train@b", "train@c")
    pipeline = Pipeline()
    trained = [name for name in pipeline.needs() if name.startswith("train")]
    loaded.clear()
    assert [pipeline.is_changed(name) for name in trained] == [False, False, False] and len(loaded) == 1
    params = toy.folder / "params.yaml"
    params.write_text(params.read_text().replace("seed: 1", "seed: 7"))
    assert [pipeline.is_changed(name) for name in trained] == [False, True, False] and len(loaded) == 2


def test_a_stage_is_recorded_as_dvc_records_it_and_then_up_to_date(toy, pipeline):
    assert pipeline.reproduce("plan", {}) is True
    first = (toy.folder / "dvc.lock").read_text()
    assert pipeline.reproduce("plan", {}) is False
    (toy.folder / "dvc.lock").unlink()
    toy.dvc("repro", "--single-item", "plan")
    assert (toy.folder / "dvc.lock").read_text() == first


def test_variables_are_given_to_the_command(toy, pipeline):
    pipeline.reproduce("plan", {"CUDA_VISIBLE_DEVICES": "7"})
    assert toy.ran["plan"][2] == "7"


def test_what_fails_is_one_line_and_leaves_the_lock(toy, pipeline):
    toy.touch("broken_plan")
    with pytest.raises(StageFailed, match="^failed to run: python toy.py plan .*, exited with 1$"):
        pipeline.reproduce("plan", {})
    assert toy.dvc("stage", "list")  # which nobody keeps waiting


@pytest.mark.parametrize("kind", ["flock", "hardlink"])
def test_it_waits_for_the_lock_and_says_for_whom(toy, capfd, monkeypatch, kind):
    lock = toy.folder / ".dvc/tmp/lock"
    if kind == "hardlink":
        toy.dvc("config", "core.hardlink_lock", "true")
        lock.write_text("claimed\n")
        release = lock.unlink
        expected = f"waiting for the lock of DVC; where no DVC command runs, remove {lock}\n"
    else:
        shell = ["sh", "-c", '"$0" "$@"; true', sys.executable, "-c", HOLDS]  # what this process starts is no other
        holder = subprocess.Popen(shell, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        number = int(holder.stdout.readline())

        def release():
            holder.communicate(b"\n")

        expected = f"waiting for process {number} ({sys.executable} -c {HOLDS}), which has the lock of DVC\n"
    real = dvc_pipeline._say_for_whom
    monkeypatch.setattr(dvc_pipeline, "_say_for_whom", lambda lock: (real(lock), release())[0])
    monkeypatch.setattr(dvc_pipeline, "PATIENCE", 0.2)
    assert list(Pipeline().needs())
    assert capfd.readouterr().err == expected


def test_it_waits_for_files_that_another_dvc_command_uses(toy, pipeline, capfd):
    record = toy.folder / ".dvc/tmp/rwlock"
    with subprocess.Popen(["sleep", "60"]) as other:
        record.write_text(json.dumps({"write": {str(toy.folder / "plan"): {"pid": other.pid, "cmd": "dvc repro"}}}))
        threading.Timer(0.5, other.kill).start()
        threading.Timer(0.5, other.wait).start()
        assert pipeline.reproduce("plan", {}) is True
    said = capfd.readouterr().err
    assert said.count("plan: waiting for another DVC command") == 1 and f"(PID {other.pid}): dvc repro" in said


@pytest.mark.parametrize("name", ["dvc.yaml", "params.yaml", "dvc.lock"])
def test_what_dvc_cannot_read_is_one_line(toy, name):
    (toy.folder / name).write_text("stages: [\n")
    with pytest.raises(UserError, match=name) as error:
        Pipeline().needs()
    assert "\n" not in str(error.value)


def test_outside_of_a_project_it_is_one_line(tmp_path_factory, monkeypatch):
    monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))
    with pytest.raises(UserError, match="not inside of a DVC repository"):
        Pipeline()


def test_a_path_that_dvc_cannot_take_is_one_line(toy, tmp_path_factory, monkeypatch):
    folder = tmp_path_factory.mktemp("a") / "{b}"
    folder.symlink_to(toy.folder)
    monkeypatch.setattr("os.getcwd", lambda: str(folder))
    with pytest.raises(UserError, match=r"^DVC expects a project whose path has no { and no }, found .*/{b}$"):
        Pipeline()


def test_a_database_of_dvc_that_is_none_is_one_line_which_says_where_it_lies(toy, tmp_path_factory, monkeypatch):
    site = tmp_path_factory.mktemp("site")
    monkeypatch.setenv("DVC_SITE_CACHE_DIR", str(site))
    assert "plan" in Pipeline().needs()
    databases = list(site.rglob("cache.db"))
    assert databases
    for database in databases:
        database.write_bytes(b"garbage" * 100)
    with pytest.raises((UserError, StageFailed)) as error:
        pipeline = Pipeline()
        pipeline.needs()
        pipeline.is_changed("plan")
    said = str(error.value)
    assert "file is not a database" in said and said.endswith(f"what DVC keeps below {site} may be removed")
    assert "\n" not in said
