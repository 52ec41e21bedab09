"""Which package a process runs, where two copies of the project share one environment."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
COMMANDS = [["-m", "perlayer.cli"], [str(Path(sys.executable).with_name("perlayer"))]]


def copy(folder):
    """A project of its own: the command, which names its file when it is asked for help, and a toy stage."""
    (folder / "src/perlayer").mkdir(parents=True)
    for name in ("__init__", "cli", "errors", "output", "project", "surroundings"):
        shutil.copy(ROOT / f"src/perlayer/{name}.py", folder / "src/perlayer")
    cli = folder / "src/perlayer/cli.py"
    cli.write_text(cli.read_text().replace('prog="perlayer"', "prog=__file__"))
    (folder / "src/perlayer/stage.py").write_text(
        "import subprocess, sys\n\ndef listen(name):\n    pass\n\ndef run(function, name, arguments):\n"
        "    print(__file__, flush=True)\n"
        "    code = 'from perlayer import stage; print(stage.__file__)'\n"
        "    return subprocess.run([sys.executable, '-c', code]).returncode\n"
    )
    (folder / "stages").mkdir()
    shutil.copy(ROOT / "stages/_run.py", folder / "stages")
    (folder / "stages/toy.py").write_text("from _run import run\n\nrun(None)\n")
    return folder


@pytest.fixture
def projects(tmp_path, monkeypatch):
    """Two of them; the environment points to the first."""
    first, second = copy(tmp_path / "first"), copy(tmp_path / "second")
    monkeypatch.setenv("PYTHONPATH", str(first / "src"))
    return first, second


def run(folder, *words):
    return subprocess.run([sys.executable, *words], cwd=folder, capture_output=True, text=True)


@pytest.mark.parametrize("command", COMMANDS, ids=["module", "console script"])
def test_a_command_runs_the_package_of_the_project_that_it_is_called_in(projects, command, tmp_path):
    for project in projects:
        for folder in (project, project / "stages"):
            done = run(folder, *command, "--help")
            assert (done.stdout.split()[1], done.stderr) == (str(project / "src/perlayer/cli.py"), "")
    outside = run(tmp_path, *command, "--help")  # the environment's
    assert outside.stdout.split()[1] == str(projects[0] / "src/perlayer/cli.py")


def test_a_stage_and_what_it_starts_run_the_package_beside_it(projects, tmp_path):
    for project in projects:
        for folder in (project, tmp_path):  # in its project, or outside of all
            done = run(folder, project / "stages/toy.py")
            assert done.stdout.splitlines() == [str(project / "src/perlayer/stage.py")] * 2, done.stderr


def test_a_stage_of_another_project_is_refused(projects):
    first, second = projects
    done = run(first, second / "stages/toy.py")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        f"toy.py: expected the project of the script, {second}, as the working folder, found {first}\n"
    )


def test_where_the_package_cannot_be_had_it_is_one_line(projects, tmp_path):
    first, second = projects
    shutil.rmtree(second / "src")
    done = run(second, "stages/toy.py")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        f"toy.py: expected to run the package {second / 'src/perlayer'}, found {first / 'src/perlayer'}\n"
    )
    colon = copy(tmp_path / "a:b")
    done = run(colon, *COMMANDS[1], "--help")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"perlayer: PYTHONPATH expects a project whose path has no :, found {colon}\n"
    assert run(colon, "stages/toy.py").stdout.startswith(str(colon / "src/perlayer/stage.py\n"))


def test_a_working_folder_that_is_gone_is_one_line(projects, tmp_path):
    (tmp_path / "gone").mkdir()
    words = f"cd gone && rmdir ../gone && exec {sys.executable} {projects[0] / 'stages/toy.py'}"
    done = subprocess.run(["sh", "-c", words], cwd=tmp_path, capture_output=True, text=True, env=os.environ)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.splitlines()[-1] == "error: the working folder cannot be found: No such file or directory"
