"""Flips single bytes of what stages hand on, and looks whether anything that reads them gives other numbers.

`python tests/pipeline/flip_campaign.py FLIPS COMMANDS [SEED]`: so many flips against the readers in one process, spread
over all kinds of files, and so many against stages as they are started, in a small finished project. Ends with status
0 where everything gave the right bytes, or one line that names the file.
"""

import collections
import contextlib
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from small_project import Project, copy_project

from perlayer.errors import UserError
from perlayer.params import load

BY_PEOPLE = ("summary.json",)  # which no stage reads


@dataclass(frozen=True)
class Kind:
    """Files that stages hand on, and what reads them."""

    folders: list[str]
    read: Callable[[], object]  # everything that the readers give of them, to be compared
    commands: list[list[str]]  # stages that read them

    def files(self) -> list[Path]:
        files = [path for folder in self.folders for path in sorted(Path(folder).rglob("*")) if path.is_file()]
        return [path for path in files if path.stat().st_size and path.name not in BY_PEOPLE]


def _corpus() -> object:
    from perlayer.data.corpus import read_corpus

    return list(read_corpus("data/corpus"))


def _tokens() -> object:
    from perlayer.data.folders import read_array
    from perlayer.data.tokens import read_tokens, read_vocabulary

    tokens = read_tokens("data/tokens")
    arrays = [tokens.ids, tokens.offsets, read_array(Path("data/tokens/bytes_per_token.npy"))]
    return read_vocabulary("data/tokens"), [array.tobytes() for array in arrays]


def _tokenizer() -> object:
    from perlayer.data.tokens import read_tokenizer

    return read_tokenizer("data/tokenizer").backend.to_str()


def _shards() -> object:
    from perlayer.data.batches import read_split
    from perlayer.data.dataset import read_bytes_per_token, read_dataset, verify_shards

    verify_shards("data/shards")  # as training does, whose batches streaming reads
    arrays = [read_split("data/shards", split)[:] for split in ("train", "val")] + [read_bytes_per_token("data/shards")]
    return read_dataset("data/shards"), [array.tobytes() for array in arrays]


def _weights(module) -> object:
    return {name: value.numpy().tobytes() for name, value in module.state_dict().items()}


def _models() -> object:
    from perlayer.heads.readouts import load_retrained
    from perlayer.lens.lenses import load_lens
    from perlayer.model.weights import load_model, load_readouts

    models = {path.name: load_model(path) for path in sorted(Path("data/models").iterdir())}
    read = [load_readouts(Path("data/models/separate")), load_lens(Path("data/lenses/separate"), models["separate"])]
    read.append(load_retrained(Path("data/heads/separate"), models["separate"].config))
    return [_weights(module) for module in [*models.values(), *read]]


def _prompts() -> object:
    from perlayer.depth.prompt_sets import read_prompt_sets

    return read_prompt_sets(Path("data/prompts"))


def _results() -> object:
    from perlayer.anatomy.importance import read_importance
    from perlayer.warehouse.collect import collect

    importance = read_importance(Path("metrics/analyses/anatomy/baseline"))
    with tempfile.TemporaryDirectory() as folder:
        collect(load("params.yaml"), "metrics", folder + "/warehouse", ["data/shards", "data/prompts"])
        return importance, [path.read_bytes() for path in sorted(Path(folder, "warehouse").glob("*.parquet"))]


def _warehouse() -> object:
    from perlayer.warehouse.database import connect
    from perlayer.warehouse.tables import TABLES

    with connect(Path("metrics/warehouse")) as connection:
        return [connection.execute(f"FROM {table}").fetchall() for table in TABLES]


KINDS = {
    "corpus": Kind(["data/corpus"], _corpus, [["tokenize"]]),
    "tokens": Kind(["data/tokens"], _tokens, [["shard"]]),
    "tokenizer": Kind(["data/tokenizer"], _tokenizer, [["depth", "separate"]]),
    "shards": Kind(["data/shards"], _shards, [["train", "baseline"], ["lens", "separate"]]),
    "models": Kind(
        ["data/models", "data/lenses", "data/heads"],
        _models,
        [["lens", "baseline"], ["retrain_heads", "separate"], ["anatomy", "baseline"], ["depth_maps", "pair"]],
    ),
    "prompts": Kind(["data/prompts"], _prompts, [["depth", "separate"]]),
    "results": Kind(["metrics/runs", "metrics/analyses"], _results, [["collect"]]),
    "warehouse": Kind(["metrics/warehouse"], _warehouse, [["plot"], ["report"]]),
}


@contextlib.contextmanager
def flipped(path: Path, rng: random.Random) -> Iterator[None]:
    """A file of which one byte is another, at a moment that no clock is too coarse to tell from others."""
    content = path.read_bytes()
    position = rng.randrange(len(content))
    damaged = bytearray(content)
    damaged[position] ^= rng.randrange(1, 256)
    for some in (bytes(damaged), content):
        then = path.stat().st_mtime_ns
        path.write_bytes(some)
        os.utime(path, ns=(then, then + 1))
        if some is not content:
            try:
                yield
            except AssertionError as error:
                raise AssertionError(f"{path}, byte {position}: {error}") from error


def in_process(kind: Kind, flips: int, rng: random.Random) -> collections.Counter:
    """Flip bytes of one kind of files, and read them; says how often it ended how."""
    expected, ended = kind.read(), collections.Counter()
    for path in (rng.choice(kind.files()) for _ in range(flips)):
        with flipped(path, rng):
            try:
                assert kind.read() == expected, "other numbers"
                ended["the right numbers"] += 1
            except UserError as error:
                assert str(error).startswith(f"{path}: damaged: ") and "\n" not in str(error), error
                ended["one line"] += 1
    assert kind.read() == expected
    return ended


def by_command(project: Project, kind: Kind, command: list[str], rng: random.Random) -> str:
    """Flip a byte, and start a stage that reads files of its kind; says how it ended."""
    path, (stage, *arguments) = rng.choice(kind.files()), command
    before = project.bytes_of("data", "metrics", "report")
    with flipped(path, rng):
        result = subprocess.run(
            ["python", f"stages/{stage}.py", *arguments],
            env=project.environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        after = project.bytes_of("data", "metrics", "report")
        others = [name for name in before | after if before.get(name) != after.get(name) and name != str(path)]
        assert not others, f"other bytes of {others}"
        if result.returncode == 0:
            return "the right bytes"
        assert result.stdout.strip().splitlines()[-1].startswith(f"error: {path}: damaged: "), result.stdout
        assert "Traceback" not in result.stdout, result.stdout
        return "one line"


def main(flips: int, commands: int, seed: int) -> int:
    os.environ.update(DVC_NO_ANALYTICS="true", OMP_NUM_THREADS="1")
    folder = Path(tempfile.mkdtemp(prefix="flips-"))
    project = copy_project(folder)
    project.dvc("repro")
    os.chdir(folder)
    for number, (name, kind) in enumerate(KINDS.items()):
        start, share = time.monotonic(), flips // len(KINDS) + (number < flips % len(KINDS))
        ended = in_process(kind, share, random.Random(f"{seed}-{name}"))
        print(f"{name}: {share} flips: {dict(ended)}; {time.monotonic() - start:.0f} s", flush=True)
    started = [(kind, command) for kind in KINDS.values() for command in kind.commands]
    rng, ended = random.Random(seed), collections.Counter()
    for number in range(commands):
        kind, command = started[number % len(started)]
        outcome = by_command(project, kind, command, rng)
        ended[outcome] += 1
        print(f"{' '.join(command)}: {outcome}", flush=True)
    print(f"{commands} commands: {dict(ended)}")
    shutil.rmtree(folder)
    return 0


if __name__ == "__main__":
    flips, commands, *seed = map(int, sys.argv[1:])
    sys.exit(main(flips, commands, *seed or [0]))
