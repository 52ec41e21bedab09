"""Stages that only take their time, under a DVC that is real."""

import json
import os
import pty
import shutil
import signal
import subprocess
import sys
import time

import pytest
from toy_pipeline import PATIENCE, Toy, interrupt

ALL = ["plan", "train@a", "train@b", "train@c", "lens@a", "lens@b", "lens@c", "collect"]
GOES_ON = "`make repro` goes on from here"


@pytest.fixture(scope="module")
def template(tmp_path_factory):
    return Toy(tmp_path_factory.mktemp("template"), new=True).folder


@pytest.fixture
def toy(template, tmp_path):
    toy = Toy(shutil.copytree(template, tmp_path, dirs_exist_ok=True))
    yield toy
    toy.end()


@pytest.fixture(scope="module")
def done(template, tmp_path_factory):
    """A toy of which everything has run, and what that said."""
    toy = Toy(shutil.copytree(template, tmp_path_factory.mktemp("done"), dirs_exist_ok=True))
    yield toy.folder, toy.repro("--jobs", "2")
    toy.end()


@pytest.fixture
def again(done, tmp_path):
    """A copy of it whose log is empty, and a function that changes the command of some of its stages."""
    toy = Toy(shutil.copytree(done[0], tmp_path, dirs_exist_ok=True))
    toy.remove("log")

    def change(old, new):
        pipeline = (toy.folder / "dvc.yaml").read_text()
        assert old in pipeline
        (toy.folder / "dvc.yaml").write_text(pipeline.replace(old, new))

    yield toy, change
    toy.end()


def test_each_stage_runs_once_after_what_it_needs_and_two_at_a_time(done):
    toy, said = Toy(done[0]), done[1]
    ran = toy.ran
    assert sorted(ran) == sorted(ALL)
    for run in "abc":
        assert ran["plan"][1] < ran[f"train@{run}"][0] < ran[f"train@{run}"][1] < ran[f"lens@{run}"][0]
        assert ran[f"lens@{run}"][1] < ran["collect"][0]
    assert ran["lens@a"][0] < ran["train@c"][1]  # a run is read before the last is trained
    moments = [(begin, 1) for begin, *_ in ran.values()] + [(end, -1) for _, end, *_ in ran.values()]
    running = [sum(change for _, change in sorted(moments)[:count]) for count in range(len(moments))]
    assert max(running) == 2
    (told,) = [line for line in said if line.startswith("question Q1")]
    assert told.endswith("has all its runs: `perlayer preview` writes the page of what is there")
    assert [line.split()[0] for line in said[:-1] if line != told] == [f"{number}/8" for number in range(1, 9)]
    assert said[-1].startswith("8 of 8 stages ran; 0:") and said[-1].endswith("; the page: report/index.html")
    assert json.loads(toy.dvc("status", "--json")) == {}
    assert toy.repro("--jobs", "2")[-1].startswith("everything is up to date; 0:0")
    assert len((toy.folder / "log").read_text().splitlines()) == 8


def test_a_change_runs_what_it_touches_alone_and_is_written_down_as_dvc_does(again):
    toy, change = again
    before = (toy.folder / "dvc.lock").read_text()
    change("lens@${key} 0.1", "lens@${key} 0.2")
    said = toy.repro("--jobs", "3")
    assert sorted(toy.ran) == ["lens@a", "lens@b", "lens@c"]  # which came out as before, so that collect has not run
    assert said[-1].startswith("3 of 8 stages ran; 0:")
    lock = (toy.folder / "dvc.lock").read_text()
    assert lock == before.replace("toy.py lens@a 0.1", "toy.py lens@a 0.2").replace(
        "toy.py lens@b 0.1", "toy.py lens@b 0.2"
    ).replace("toy.py lens@c 0.1", "toy.py lens@c 0.2")
    change("lens@${key} 0.2", "lens@${key} 0.1")
    toy.repro("--jobs", "1")
    assert (toy.folder / "dvc.lock").read_text() == before and len(toy.ran) == 3  # answered from DVC's cache


def test_what_fails_is_said_once_and_stops_what_needs_it_alone(toy):
    toy.touch("broken_train@a")
    said = toy.repro("--jobs", "2", status=1)
    assert sorted(toy.ran) == ["lens@b", "lens@c", "plan", "train@b", "train@c"]
    assert said.count("train@a: error: it is broken") == 1
    assert sum("train@a failed after 0:0" in line for line in said) == 1
    assert said[-1].startswith("failed after 0:") and said[-1].endswith(": train@a, and 2 that need them did not run")
    toy.remove("broken_train@a")
    toy.repro("--jobs", "1")
    assert sorted(toy.ran) == sorted(ALL)


@pytest.mark.parametrize(
    "number, whom", [(signal.SIGINT, "all"), (signal.SIGTERM, "the first"), (signal.SIGHUP, "the first")]
)
def test_a_signal_ends_it_in_a_moment_and_starts_nothing(toy, number, whom):
    toy.touch("held_train")
    process = toy.start("--jobs", "2")
    toy.wait_for("train@a", "train@b")
    begin = time.monotonic()
    interrupt(process, number) if whom == "all" else process.send_signal(number)
    said = process.communicate(timeout=PATIENCE)[0].splitlines()
    assert time.monotonic() - begin < 5
    assert process.returncode == 128 + number
    *waits, last = said[1:]
    assert last == f"interrupted after 1 of 8 stages; {GOES_ON}"
    assert all(line.endswith(" may save what there is; a second interruption ends this at once") for line in waits)
    assert toy.processes() == []


def test_make_is_interrupted_in_a_moment_and_goes_on(toy):
    toy.touch("held_train")
    process = toy.make()
    toy.wait_for("train@a", "train@b")
    begin = time.monotonic()
    interrupt(process)
    said, _ = process.communicate(timeout=PATIENCE)
    assert time.monotonic() - begin < 5 and process.returncode != 0
    assert f"interrupted after 1 of 8 stages; {GOES_ON}\n" in said and "Traceback" not in said
    assert toy.processes() == []
    toy.remove("held_train", ".venv")
    process = toy.make()
    assert "\n7 of 8 stages ran; 0:" in process.communicate(timeout=PATIENCE)[0] and process.returncode == 0


def test_where_make_is_killed_all_ends(toy):
    toy.touch("held_train", "stubborn")
    process = toy.make()
    toy.wait_for("train@a", "train@b")
    process.kill()
    process.wait()
    assert toy.processes() == []


def test_a_second_signal_ends_at_once_what_does_not_listen(toy):
    toy.touch("held_train", "stubborn")
    process = toy.start("--jobs", "2")
    toy.wait_for("train@a", "train@b")
    interrupt(process)
    time.sleep(1)
    assert process.poll() is None
    interrupt(process)
    said = process.communicate(timeout=5)[0].splitlines()
    assert (process.returncode, said[-1]) == (130, f"interrupted; {GOES_ON}")
    assert toy.processes() == []


def test_no_process_but_that_of_the_stage_is_asked_to_end(toy):
    """A stage that was killed has left its id, which may be that of another process by now."""
    stage = (toy.folder / "toy.py").read_text()
    (toy.folder / "toy.py").write_text(f"import time; time.sleep(2)\n{stage}")  # as long as a stage may take to begin
    with subprocess.Popen(["sleep", "60"]) as other:
        running = toy.folder / ".perlayer/running/plan"
        running.parent.mkdir(parents=True)
        running.write_text(str(other.pid))
        toy.touch("held_plan")
        process = toy.start("--jobs", "2")
        time.sleep(2)
        process.send_signal(signal.SIGTERM)
        said, _ = process.communicate(timeout=PATIENCE)
        assert process.returncode == 143 and said.splitlines()[-1] == f"interrupted after 0 of 8 stages; {GOES_ON}"
        assert other.poll() is None
        other.kill()


@pytest.mark.parametrize("reader", ["| head -n 1", ">/dev/full"])
def test_where_nobody_reads_what_it_says_the_work_is_done(again, reader):
    toy, change = again
    change("lens@${key} 0.1", "lens@${key} 0.2")
    words = f"{sys.executable} -m perlayer.repro --jobs 1 2>&1 {reader}"
    toy.popen("sh", "-c", words).communicate(timeout=PATIENCE)
    assert sorted(toy.ran) == ["lens@a", "lens@b", "lens@c"] and json.loads(toy.dvc("status", "--json")) == {}


def test_whoever_is_killed_takes_along_what_it_has_started(toy):
    toy.touch("held_train", "stubborn")
    process = toy.start("--jobs", "2")
    toy.wait_for("train@a", "train@b")
    process.kill()
    process.wait()
    assert toy.processes() == []


def test_a_slot_that_dies_fails_its_stage_alone(toy):
    toy.touch("held_train", "stubborn")
    process = toy.start("--jobs", "1")
    toy.wait_for("train@a")
    stage = int((toy.folder / ".perlayer/running/train@a").read_text())
    slot = int(subprocess.check_output(["ps", "-o", "ppid=", str(stage)]))
    if "toy.py" in (subprocess.check_output(["ps", "-o", "args=", str(slot)], text=True)):  # a shell between the two
        slot = int(subprocess.check_output(["ps", "-o", "ppid=", str(slot)]))
    toy.remove("held_train")
    os.kill(slot, signal.SIGKILL)
    said, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 1
    assert "train@a failed after 0:0" in said and "its process has ended with status -9" in said
    assert sorted(toy.ran) == ["lens@b", "lens@c", "plan", "train@b", "train@c"]


def test_after_an_edit_of_params_nothing_more_starts(toy):
    toy.touch("held_train")
    process = toy.start("--jobs", "2")
    toy.wait_for("train@a", "train@b")
    with (toy.folder / "params.yaml").open("a") as params:
        params.write("# another choice\n")
    toy.remove("held_train")
    said, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 1
    assert said.endswith("params.yaml has changed since the start; `make repro` again for what is left\n")
    assert sorted(toy.ran) == ["plan", "train@a", "train@b"]
    assert toy.repro("--jobs", "1")[-1].startswith("5 of 8 stages ran; ")


def test_a_second_one_waits_for_the_first_and_has_nothing_to_do(toy):
    toy.touch("held_train")
    first = toy.start("--jobs", "1")
    toy.wait_for("train@a")
    second = toy.start("--jobs", "1")
    assert second.stdout.readline() == f"make repro: waiting for process {first.pid}, which is at it\n"
    toy.remove("held_train")
    assert second.communicate(timeout=PATIENCE)[0].startswith("everything is up to date")
    assert (first.wait(), second.returncode) == (0, 0)


def test_other_dvc_commands_beside_it_cost_it_nothing(toy):
    toy.touch("held_train")
    process = toy.start("--jobs", "2")
    toy.wait_for("train@a", "train@b")
    # DVC itself refuses, as others write what it asks for
    subprocess.run(["dvc", "status"], cwd=toy.folder, env=toy.environment(), capture_output=True)
    lock = subprocess.Popen(
        [sys.executable, "-c", "import fcntl, sys; f = open('.dvc/tmp/lock'); fcntl.flock(f, 2); print(); input()"],
        cwd=toy.folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    lock.stdout.readline()
    toy.remove("held_train")
    time.sleep(1.5)
    lock.communicate("\n")
    assert process.communicate(timeout=PATIENCE)[0].splitlines()[-1].startswith("8 of 8 stages ran; ")
    assert process.returncode == 0


def test_each_slot_has_a_gpu_of_its_own(again):
    toy, change = again
    change("train@${key} 0.4", "train@${key} 0.5")
    toy.repro(CUDA_VISIBLE_DEVICES="3,5")
    assert sorted(toy.ran) == ["train@a", "train@b", "train@c"]
    assert {devices for _, _, devices, _ in toy.ran.values()} == {"3", "5"}


def test_a_terminal_shows_how_far_all_and_each_are(toy):
    toy.touch("held_train")
    process, terminal = pty.fork()
    if process == 0:
        os.chdir(toy.folder)
        words = [sys.executable, "-m", "perlayer.repro", "--jobs", "2"]
        os.execve(sys.executable, words, toy.environment(TERM="xterm", COLUMNS="100"))
    toy.wait_for("train@a", "train@b")
    said = b""
    while b"train@b" not in said or b"3 of 10" not in said or b"1 of 8" not in said:
        said += os.read(terminal, 1 << 16)
    os.write(terminal, b"\x03")
    try:
        while chunk := os.read(terminal, 1 << 16):
            said += chunk
    except OSError:  # its other end is closed
        pass
    assert os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == 130
    assert f"interrupted after 1 of 8 stages; {GOES_ON}" in said.decode().splitlines()[-2]
    assert b"Traceback" not in said and b"\x1b[?25h" in said  # the cursor is back


def test_what_dvc_cannot_read_is_one_line(toy):
    for name, text in (("dvc.lock", "<<<<<<< HEAD\n"), ("dvc.yaml", "stages: [\n"), ("params.yaml", "size: [\n")):
        path = toy.folder / name
        before = path.read_text() if path.exists() else None
        path.write_text(text)
        said = toy.repro("--jobs", "2", status=1)
        assert len(said) == 1 and said[0].startswith("error: ") and name in said[0]
        path.unlink() if before is None else path.write_text(before)


@pytest.mark.parametrize("jobs", ["0", "-1", "two", "\u0662"])
def test_wrong_jobs_are_said(toy, jobs):
    said = toy.repro(f"--jobs={jobs}", status=2)
    assert said == [
        "usage: make repro [JOBS=N] [CLUSTER=ADDRESS|slurm]",
        f"make repro: error: argument --jobs: expected a whole number from 1, found {jobs!r}",
    ]
