"""A project whose stages only take their time, so that what runs them can be tried."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

from perlayer.lifetimes import is_held
from perlayer.params import load

ROOT = Path(__file__).parents[1]
RECIPE = json.dumps(load(ROOT / "params.yaml")["recipes"]["smoke"])
PARAMS = f"""size: smoke
recipes: {{smoke: {RECIPE}}}
runs:
  a: {{residual: sandwich, readouts: none, seed: 0}}
  b: {{residual: sandwich, readouts: none, seed: 1}}
  c: {{residual: sandwich, readouts: none, seed: 2}}
"""
PIPELINE = """stages:
  plan: {cmd: python toy.py plan 0.1 plan, deps: [toy.py], outs: [plan]}
  train:
    foreach: ${runs}
    do: {cmd: 'python toy.py train@${key} 0.4 train_${key}', deps: [plan], outs: ['train_${key}']}
  lens:
    foreach: ${runs}
    do: {cmd: 'python toy.py lens@${key} 0.1 lens_${key}', deps: ['train_${key}'], outs: ['lens_${key}']}
  collect: {cmd: python toy.py collect 0.1 collect, deps: [lens_a, lens_b, lens_c], outs: [collect]}
"""
# Behaves as stages do: its id stands in .perlayer/running, a signal ends it, it ends with what has started it.
STAGE = """import os, signal, sys, time
from pathlib import Path
from perlayer.lifetimes import alone, end_with_starter
from perlayer.progress import report

stage, seconds, out = sys.argv[1:]
flags = Path(os.environ.get("TOY", "."))  # the project, where this is a clone of it
signal.signal(signal.SIGTERM, signal.default_int_handler)
end_with_starter()
with alone(Path(".perlayer/running", stage), stage):
    begin = time.time()
    while (flags / f"held_{stage.partition('@')[0]}").exists() or time.time() < begin + float(seconds):
        try:
            report(3, 10)
            time.sleep(0.02)
        except KeyboardInterrupt:
            if not (flags / "stubborn").exists():
                sys.exit(f"{stage}: interrupted")
    if (flags / f"broken_{stage}").exists():
        sys.exit("error: it is broken")
    Path(out).write_text(stage)
    with open(flags / "log", "a") as log:
        log.write(f"{stage} {begin} {time.time()} {os.environ.get('CUDA_VISIBLE_DEVICES')} {os.getcwd()}\\n")
"""
PATIENCE = 60.0


class Toy:
    """A folder with the project in it."""

    def __init__(self, folder, new=False):
        self.folder = folder
        self.started = []
        if not new:
            return
        for name, text in (("params.yaml", PARAMS), ("dvc.yaml", PIPELINE), ("toy.py", STAGE)):
            (folder / name).write_text(text)
        for command in (["git", "init", "-q"], ["dvc", "init", "-q"]):
            subprocess.run(command, cwd=folder, env=self.environment(), check=True)

    def keep_run_a(self):
        """Leave out the other runs."""
        (self.folder / "params.yaml").write_text(PARAMS[: PARAMS.index("  b: ")])
        (self.folder / "dvc.yaml").write_text(PIPELINE.replace("lens_a, lens_b, lens_c", "lens_a"))

    def environment(self, **extra):
        return {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}", **extra}

    def start(self, *words, **environment):
        """Start `python -m perlayer.repro`, with a process group of its own."""
        return self.popen(sys.executable, "-m", "perlayer.repro", *words, **environment)

    def make(self):
        """Start `make repro`, as the project has it, in this environment."""
        shutil.copy(ROOT / "Makefile", self.folder)
        (self.folder / ".venv").symlink_to(sys.prefix)
        return self.popen("make", "--assume-old", "setup", "repro", "JOBS=2", MAKEFLAGS="", MAKELEVEL="")

    def popen(self, *words, **environment):
        process = subprocess.Popen(
            words,
            cwd=self.folder,
            env=self.environment(**environment),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
            preexec_fn=_listen,
        )
        self.started.append(process)
        return process

    def end(self):
        """End what a failed test may have left."""
        for process in self.started:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
            process.stdout.close()

    def repro(self, *words, status=0, **environment):
        """The lines that it says."""
        process = self.start(*words, **environment)
        said, _ = process.communicate(timeout=PATIENCE)
        assert process.returncode == status, said
        return said.splitlines()

    def dvc(self, *words):
        return subprocess.run(
            ["dvc", *words], cwd=self.folder, env=self.environment(), capture_output=True, text=True, check=True
        ).stdout

    def touch(self, *names):
        for name in names:
            (self.folder / name).touch()

    def remove(self, *names):
        for name in names:
            (self.folder / name).unlink()

    @property
    def ran(self):
        """Beginning, end, GPUs and folder of each stage that has ended well."""
        lines = [line.split() for line in (self.folder / "log").read_text().splitlines()]
        return {stage: (float(begin), float(end), *rest) for stage, begin, end, *rest in lines}

    def wait_for(self, *stages):
        """Until some stages run."""
        deadline = time.monotonic() + PATIENCE
        while not all(is_held(self.folder / ".perlayer/running" / stage) for stage in stages):
            assert time.monotonic() < deadline, stages
            time.sleep(0.02)

    def processes(self):
        """What runs in the folder, once the dying have had a moment to end."""
        deadline = time.monotonic() + 5
        while (found := list(self._processes())) and time.monotonic() < deadline:
            time.sleep(0.05)
        return found

    def _processes(self):
        for process in Path("/proc").glob("[0-9]*"):
            try:
                if os.readlink(process / "cwd") == str(self.folder):
                    yield (process / "cmdline").read_text().replace("\0", " ")
            except OSError:
                pass


def _listen():
    for number in (signal.SIGINT, signal.SIGHUP):  # which tests that run in the background, or under nohup, ignore
        signal.signal(number, signal.SIG_DFL)


def interrupt(process, number=signal.SIGINT):
    """As a terminal does: all processes of the group at once."""
    os.killpg(process.pid, number)
