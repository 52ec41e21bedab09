"""Kills what `make repro` runs again and again, and looks whether it ends as if it had never been killed.

`python tests/pipeline/kill_campaign.py RUNS KILLS [SEED]`: so many whole runs of a small pipeline with two runs of each
kind, each killed so many times at drawn moments, a third of them while dvc.lock is being written, and started again at
once. Ends with status 0 where every run has left the reference bytes, and nothing else.
"""

import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import yaml
from small_project import Project, copy_project

OUTS = ("data", "metrics", "report")
PATIENCE = 1800  # seconds that one start may take
LONGEST = 10.0  # seconds after a start at which a kill may fall
TWO_OF_EACH = {
    "  separate: {residual: sandwich, readouts: separate, seed: 0}\n": "  separate: {residual: sandwich, readouts: "
    "separate, seed: 0}\n  probes: {residual: sandwich, readouts: probes, seed: 0}\n",
    "  runs: [separate]\nlens:": "  runs: [separate, probes]\nlens:",
    "  tuned: [separate]": "  tuned: [separate, probes]",
    "depth:\n  runs: [separate]": "depth:\n  runs: [separate, probes]",
    "  runs: []\ndepth": "  runs: []\ndepth",
    "depth_maps: {": "depth_maps: {other: {from: separate, to: probes}, ",
    "anatomy: {runs: [baseline]": "anatomy: {runs: [baseline, separate]",
    "  growing:\n": "  uniform: {residual: sandwich, readouts: none, seed: 0, steps: 0.5}\n  growing:\n",
}


class _State(NamedTuple):
    file: int
    size: int
    changed: int


@dataclass
class Campaign:
    """Starts the pipeline of a project, kills it, and keeps count."""

    project: Project
    temporary: Path  # its TMPDIR
    random: random.Random
    kills: dict[str, int] = field(default_factory=dict)  # by when and of whom
    cut: int = 0  # kills that left dvc.lock in halves
    said: list[str] = field(default_factory=list)

    def start(self) -> subprocess.Popen:
        command = [sys.executable, "-m", "perlayer.repro", "--jobs", "2"]
        environment = self.project.environment(TMPDIR=str(self.temporary), PERLAYER_CHECKPOINT_STEPS="2")
        with (self.project.folder / ".said").open("ab") as said:
            return subprocess.Popen(
                command,
                cwd=self.project.folder,
                env=environment,
                stdout=said,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def start_and_kill(self, seconds: float, leader: bool, on_write: bool = False, after: str = "") -> bool:
        """Kill a start some seconds after its beginning or the first file `after`, or at the next write of dvc.lock.

        Returns:
            False where it ended before.
        """
        process = self.start()
        if after and not self._wait_for(process, after):
            return self._ended(process)
        try:
            process.wait(seconds)
            return self._ended(process)
        except subprocess.TimeoutExpired:
            pass
        if on_write and not self._wait_for_write(process):
            return self._ended(process)
        if leader:
            process.kill()
        else:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        kind = f"{'on a write of dvc.lock' if on_write else 'at any moment'}, {'the leader' if leader else 'all'}"
        self.kills[kind] = self.kills.get(kind, 0) + 1
        if on_write:
            self.cut += not self._lock_is_whole()
        return True

    def finish(self) -> None:
        """Start, and wait for the end."""
        process = self.start()
        try:
            process.wait(PATIENCE)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
        self._ended(process)

    def _wait_for(self, process: subprocess.Popen, pattern: str) -> bool:
        """Until there is a file of that pattern; False where all ended before."""
        while process.poll() is None:
            if any(self.project.folder.glob(pattern)):
                return True
            time.sleep(0.01)
        return False

    def _ended(self, process: subprocess.Popen) -> bool:
        assert process.returncode == 0, (self.project.folder / ".said").read_text(errors="replace")[-5000:]
        return False

    def _wait_for_write(self, process: subprocess.Popen) -> bool:
        """Until dvc.lock has changed, as DVC empties it and then writes it piece by piece; who mends it replaces it."""
        before = self._lock()
        while process.poll() is None:
            now = self._lock()
            if before and now and now != before and now.file == before.file:
                time.sleep(self.random.choice((0.0, 0.0, 0.005, 0.02, 0.05)))
                return True
            before = now
            time.sleep(0.0005)
        return False

    def _lock(self) -> _State | None:
        try:
            found = (self.project.folder / "dvc.lock").stat()
        except FileNotFoundError:
            return None
        return _State(found.st_ino, found.st_size, found.st_mtime_ns)

    def _lock_is_whole(self) -> bool:
        text = (self.project.folder / "dvc.lock").read_text()
        copy = self.project.folder / ".perlayer" / "dvc.lock"
        return text.endswith("\n") and (not copy.exists() or text.count("\n  ") >= copy.read_text().count("\n  "))

    def left(self) -> list[str]:
        """What should not be there once all has ended: processes, shared memory, temporary files."""
        folder = str(self.project.folder)
        found = [f"process {process}" for process in _processes_in(folder)]
        for block in Path("/dev/shm").glob("*_locals"):
            if folder.encode() in block.read_bytes():
                found.append(str(block))
        found += [str(path) for path in self.temporary.iterdir()]
        scratch = self.project.folder / ".perlayer"
        for pattern in ("scratch/*", "running/*", "progress/*", "*.lock", "*.new"):
            found += [str(path) for path in scratch.glob(pattern) if path.name != "dvc.lock"]
        for pattern in ("metrics/*.duckdb.*", "**/.*.partial", "**/.*.tmp"):
            found += [str(path) for path in self.project.folder.glob(pattern)]
        return found


def _processes_in(folder: str) -> list[str]:
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if os.readlink(process / "cwd").startswith(folder):
                found.append(f"{process.name}: {(process / 'cmdline').read_bytes().decode().replace(chr(0), ' ')}")
        except OSError:
            pass
    return found


def locked(project: Project) -> dict:
    """What dvc.lock holds."""
    return yaml.load((project.folder / "dvc.lock").read_text(), yaml.CSafeLoader)


def compare(project: Project, expected: dict[str, bytes], lock: dict) -> None:
    found = project.bytes_of(*OUTS)
    assert found.keys() == expected.keys(), sorted(found.keys() ^ expected.keys())
    assert [name for name in found if found[name] != expected[name]] == []
    assert locked(project) == lock
    assert json.loads(project.dvc("status", "--json")) == {}


def wait_for_the_dying(campaign: Campaign) -> list[str]:
    """What is left, once those that were killed last have had a moment to end."""
    deadline = time.monotonic() + 5
    while (left := campaign.left()) and time.monotonic() < deadline:
        time.sleep(0.1)
    return left


def small_project(folder: Path) -> Project:
    project = copy_project(folder)
    params = (folder / "params.yaml").read_text()
    for old, new in TWO_OF_EACH.items():
        assert old in params, old
        params = params.replace(old, new)
    (folder / "params.yaml").write_text(params)
    project.commit()
    return project


def main(runs: int, kills: int, seed: int) -> int:
    root = Path(tempfile.mkdtemp(prefix="kills-"))
    os.environ.update(DVC_NO_ANALYTICS="true", OMP_NUM_THREADS="1")

    def of(project: Project, rng: random.Random) -> Campaign:
        temporary = root / f"{project.folder.name}-tmp"
        temporary.mkdir()
        return Campaign(project, temporary, rng)

    (root / "reference").mkdir()
    reference = of(small_project(root / "reference"), random.Random(seed))
    clock = time.monotonic()
    reference.finish()
    longest = time.monotonic() - clock
    print(f"the reference took {longest:.0f} s", flush=True)
    expected, lock = reference.project.bytes_of(*OUTS), locked(reference.project)
    assert wait_for_the_dying(reference) == []
    counts, cut, ended_early = {}, 0, 0
    for number in range(runs):
        rng = random.Random(f"{seed}-{number}")
        reference.project.command("git", "clone", "-q", ".", str(root / f"run{number}"))
        campaign = of(Project(root / f"run{number}"), rng)
        clock = time.monotonic()
        while sum(campaign.kills.values()) < kills:
            on_write = rng.random() < 1 / 3
            seconds = rng.uniform(0.2, LONGEST / (3 if on_write else 1))
            if not campaign.start_and_kill(seconds, leader=rng.random() < 0.25, on_write=on_write):
                ended_early += 1  # all was done before the kill: the last outs are made once more
                shutil.rmtree(campaign.project.folder / "metrics" / "warehouse", ignore_errors=True)
                shutil.rmtree(campaign.project.folder / ".dvc" / "cache" / "runs", ignore_errors=True)
                shutil.rmtree(campaign.project.folder / "data" / "models" / "separate", ignore_errors=True)
        campaign.finish()
        compare(campaign.project, expected, lock)
        left = wait_for_the_dying(campaign)
        assert left == [], left
        said = (campaign.project.folder / ".said").read_text(errors="replace")
        mended = len(re.findall(r"^dvc.lock: ", said, re.MULTILINE))
        print(
            f"run {number}: the reference bytes after {campaign.kills}, {campaign.cut} of them cut dvc.lock, which was "
            f"mended {mended} times; {time.monotonic() - clock:.0f} s",
            flush=True,
        )
        cut += campaign.cut
        for kind, count in campaign.kills.items():
            counts[kind] = counts.get(kind, 0) + count
        shutil.rmtree(campaign.project.folder)
    print(
        f"{sum(counts.values())} kills over {runs} whole runs: {counts}; {cut} cut dvc.lock; ended early {ended_early}"
    )
    shutil.rmtree(root)
    return 0


if __name__ == "__main__":
    runs, kills, *seed = map(int, sys.argv[1:])
    sys.exit(main(runs, kills, *seed or [0]))
