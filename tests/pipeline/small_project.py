"""A copy of the project that tests may run and change: the smoke size, few documents, runs, steps and figures."""

import functools
import json
import os
import re
import shutil
import subprocess
import sys
from itertools import islice
from pathlib import Path

from pipeline_code import ROOT

sys.path.insert(0, str(ROOT / "tests"))

from own_git import use_own_git  # noqa: E402

from perlayer.data.sources import wiki_intros  # noqa: E402
from perlayer.questions import QUESTIONS  # noqa: E402

RUNS = """runs:
  baseline: {residual: sandwich, readouts: none, seed: 0}
  separate: {residual: sandwich, readouts: separate, seed: 0}
  narrow_multi_token: {rung: narrow, residual: sandwich, readouts: none, seed: 0, multi_token_prediction: {weight: 0.3}}
  growing:
    {residual: sandwich, readouts: none, seed: 0, steps: 0.5, growth: {stages: [{layers: [1], share: 0.5}]}}
rungs:
  narrow: {model: {layers: 1, hidden_size: 16, head_dim: 8}, train: {steps: 6}}
retrain_heads:
  runs: [separate]
lens:
  tuned: [separate]
routing:
  runs: []
depth:
  runs: [separate]
  prompts: {sums: {operands: [2, 4], each: 2}}
depth_maps: {pair: {from: baseline, to: separate}}
anatomy: {runs: [baseline], published_recovery: []}
published: {}
report: {confidence: 0.99, smallest_effect: 0.02}
"""

DOCUMENTS = 800
ANSWERED = ("q1_layer_contribution", "q4_hyper_connections", "q7_multi_token", "d1_contributions", "a6_growth")
EAGER = {"PERLAYER_COMPILE": "off"}  # the smoke size is not worth the time of compiling


class Project:
    """A folder with the project in it, and the commands one would type there; see `warm_python` for `warm`."""

    def __init__(self, folder: Path, warm: Path | None = None):
        self.folder, self.warm = folder, warm

    def command(self, *words, ok=True, **environment):
        """Run a command and return what it printed, both streams together."""
        environment = self.environment(**environment)
        if self.warm:
            environment["PATH"] = f"{self.warm}{os.pathsep}{environment['PATH']}"
        result = subprocess.run(
            words,
            cwd=self.folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        assert (result.returncode == 0) == ok, result.stdout
        return result.stdout

    def environment(self, **extra):
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        return {**os.environ, "PATH": path, **EAGER, **extra}

    def dvc(self, *words, ok=True):
        return self.command("dvc", *words, ok=ok)

    def edit(self, name, old, new):
        path = self.folder / name
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new))

    def commit(self):
        self.command("git", "add", "-A")
        self.command("git", "commit", "-q", "--allow-empty", "-m", "state")

    def bytes_of(self, *folders):
        """The content of every file below some folders."""
        files = [file for folder in folders for file in sorted((self.folder / folder).rglob("*")) if file.is_file()]
        files = [file for file in files if not file.name.startswith("perlayer.duckdb")]  # built when it is asked
        assert files
        return {file.relative_to(self.folder).as_posix(): file.read_bytes() for file in files}


@functools.cache
def unanswered():
    """The files of all questions but those `ANSWERED`, and of their figures, which take longest to draw."""
    answered = {figure for question in QUESTIONS if question.folder.name in ANSWERED for figure in question.figures}
    others = [question for question in QUESTIONS if question.folder.name not in ANSWERED]
    figures = {figure for question in others for figure in question.figures} - answered
    folder = ROOT / "src/perlayer/report/figures"
    used = {
        figure
        for path in folder.glob("*.py")
        if path.stem not in figures
        for figure in re.findall(r"from perlayer\.report\.figures\.(\w+) import", path.read_text())
    }
    return [f"src/perlayer/questions/{question.folder.name}/" for question in others] + [
        f"src/perlayer/report/figures/{figure}.py" for figure in sorted(figures - used)
    ]


def copy_project(folder, warm=None):
    use_own_git()
    listing = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    for name in subprocess.run(listing, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\0"):
        if name and (ROOT / name).is_file() and not name.startswith(("metrics/", "report/", "dvc.lock", *unanswered())):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    params = (folder / "params.yaml").read_text()
    params = re.sub(r"^size: \w+", "size: smoke", params, flags=re.MULTILINE)
    params = params.replace("      steps: 30 ", "      steps: 12 ").replace(": wiki-intros ", ": texts.jsonl ")
    lines = (json.dumps({"text": text}) + "\n" for text in islice(wiki_intros(), DOCUMENTS))
    (folder / "texts.jsonl").write_text("".join(lines))
    # Two sizes are enough: DVC parses all of params.yaml anew for each stage that it looks at.
    first, rest, end = (params.index(f"\n{key}:") for key in ("  nano", "  qwen3_1_2b", "runs"))
    (folder / "params.yaml").write_text(params[:first] + params[rest : end + 1] + RUNS)
    project = Project(folder, warm)
    project.command("git", "init", "-q")
    project.commit()
    return project
