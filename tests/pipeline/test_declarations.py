"""Declared = imported = read: what dvc.yaml says of each stage, held against its script."""

import ast
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from pipeline_code import CLOSURE, PACKAGE, ROOT, imported, stages

from perlayer.code_hash import code_hash
from perlayer.params import load
from perlayer.plan import write_code
from perlayer.store import fresh_folder


@pytest.fixture(scope="module")
def hashed(tmp_path_factory):
    """What the plan writes of the code of each stage."""
    folder = tmp_path_factory.mktemp("code")
    write_code(ROOT / "stages", CLOSURE, folder)
    return {path.stem: json.loads(path.read_text())["files"] for path in folder.iterdir()}


@pytest.mark.parametrize("name", stages())
def test_every_stage_depends_on_the_hashes_of_its_code(name, hashed):
    code = {
        dependency for dependency in stages()[name]["deps"] if dependency.startswith(("src/", "stages", "data/code"))
    }
    if name == "plan":  # which makes them
        assert code == {"src/perlayer", "stages"}
        return
    assert code == {f"data/code/{name}.json"}
    assert hashed[name] == {file: code_hash(ROOT / file) for file in hashed[name]}
    assert {f"stages/{name}.py", "stages/_run.py", "src/perlayer/stage.py"} <= set(hashed[name])


# What reads the words of a source, or says where in it something stands.
OF_WORDS = {
    *("__doc__", "getdoc", "cleandoc", "get_docstring", "getcomments", "getsource", "getsourcelines", "findsource"),
    *("linecache", "co_consts", "co_firstlineno", "co_lines", "co_positions", "f_lineno", "tb_lineno"),
}


def names_in(file):
    """Every name in a Python file, also those in strings of their own, as `getattr` takes them."""
    for node in ast.walk(ast.parse((ROOT / file).read_text())):
        values = (getattr(node, field, None) for field in ("id", "attr", "name", "value", "module"))
        yield from (value for value in values if isinstance(value, str))


def test_nothing_that_a_stage_writes_comes_from_a_docstring_or_a_comment():
    """As hashes do not see them."""
    optional = [path for room in ("algorithms", "model/residual") for path in (PACKAGE / room).rglob("*.py")]
    files = {path.relative_to(ROOT).as_posix() for path in optional}.union(*map(imported, stages()))
    found = {file: names for file in sorted(files) if (names := OF_WORDS.intersection(names_in(file)))}
    assert found == {"src/perlayer/code_hash.py": {"get_docstring"}}  # which cuts them out


@pytest.mark.parametrize("name", ["corpus", "lens", "collect", "train"])
def test_what_is_hashed_is_what_is_loaded(name, hashed):
    # the imports of the script itself, those inside its function included, are the reference
    tree = ast.parse((ROOT / "stages" / f"{name}.py").read_text())
    names = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)} - {"_run", "pathlib"}
    lines = [f"import {module}" for module in sorted(names)]
    lines += ["import sys", "print(*(m.__file__ for n, m in sys.modules.items() if n.split('.')[0] == 'perlayer'))"]
    found = subprocess.run([sys.executable, "-c", "\n".join(lines)], stdout=subprocess.PIPE, text=True, check=True)
    loaded = {Path(path).relative_to(ROOT).as_posix() for path in found.stdout.split()}
    assert loaded and loaded <= set(hashed[name])


@pytest.mark.parametrize("name", stages())
def test_every_stage_says_what_it_does_and_runs_its_own_script(name):
    stage = stages()[name]
    assert stage["desc"].endswith(".")
    assert stage["cmd"].split("$")[0].strip() == f"python stages/{name}.py"
    assert "PERLAYER" not in stage["cmd"]


def test_the_machine_is_in_no_stage():
    text = (ROOT / "dvc.yaml").read_text() + (ROOT / "params.yaml").read_text()
    for word in ("device", "processes", "workers", "threads", "microbatch"):
        assert word not in text


def read_by(name, arguments, monkeypatch, tmp_path):
    """The params that a stage touches, as dotted paths, by running its function on params that keep watch."""
    import importlib.util
    import sys

    seen = set()

    class Watched(dict):
        def __init__(self, mapping, path):
            super().__init__({key: wrap(value, f"{path}{key}.") for key, value in mapping.items()})
            self.path = path

        def __getitem__(self, key):
            value = super().__getitem__(key)
            if not isinstance(value, Watched) or not value:  # an empty mapping has no key to read
                seen.add(f"{self.path}{key}")
            return value

        def get(self, key, default=None):
            return self[key] if key in self else default

        def keys(self):
            seen.add(self.path.removesuffix("."))
            return super().keys()

        def items(self):
            return [(key, self[key]) for key in self]

        def values(self):
            return [self[key] for key in self]

    def wrap(value, path):
        return Watched(value, path) if isinstance(value, dict) else value

    params = load(ROOT / "params.yaml")
    if arguments == ["theirs"]:
        params["published"] = {"theirs": {"path": "folder"}}
    shutil.copy(ROOT / "dvc.yaml", tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(ROOT / "stages")
    monkeypatch.delitem(sys.modules, "_run", raising=False)
    spec = importlib.util.spec_from_file_location(f"stage_{name}", ROOT / "stages" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    work = {
        "perlayer.training.run.train": lambda *args, **kwargs: None,
        "perlayer.heads.retraining.retrain_heads": lambda *args, **kwargs: None,
        "perlayer.lens.logit.read_run": lambda *args, **kwargs: None,
        "perlayer.lens.tuned.tune_run": lambda *args, **kwargs: None,
        "perlayer.depth.routing.read_run": lambda *args, **kwargs: None,
        "perlayer.depth.analyses.dissect_run": lambda *args, **kwargs: None,
        "perlayer.depth.pairs.map_pair": lambda *args, **kwargs: None,
        "perlayer.depth.prompt_sets.write_prompt_sets": lambda *args, **kwargs: {},
        "perlayer.depth.published.dissect_published": lambda *args, **kwargs: None,
        "perlayer.anatomy.analyses.anatomize_run": lambda *args, **kwargs: None,
        "perlayer.anatomy.published.anatomize_published": lambda *args, **kwargs: None,
        "perlayer.lens.published.read_published": lambda *args, **kwargs: None,
        "perlayer.model.published_settings.read_published_config": lambda *args, **kwargs: {"vocab_size": 1},
        "perlayer.data.tokens.tokenize_as_published": lambda *args, **kwargs: None,
        "perlayer.data.corpus.build_corpus": lambda *args, **kwargs: {},
        "perlayer.data.tokens.tokenize": lambda *args, **kwargs: (type("T", (), {"size": 1}), {}),
        "perlayer.data.shards.write_shards": lambda *args, **kwargs: type("D", (), {"__getattr__": lambda s, n: 0})(),
    }
    for target, replacement in work.items():
        monkeypatch.setattr(target, replacement)
    if name == "collect":
        for source in ("data/shards", "data/prompts"):
            with fresh_folder(source):
                pass
    if name == "report":
        from perlayer.report.figures import FIGURES
        from perlayer.warehouse.collect import collect

        collect(params, "metrics", "metrics/warehouse")
        (tmp_path / "report/figures").mkdir(parents=True)
        for figure in FIGURES:
            (tmp_path / f"report/figures/{figure}.svg").write_text("<svg></svg>")
    getattr(module, name)(Watched(params, ""), *arguments)
    return seen, params["size"]


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("plan", []),
        ("corpus", []),
        ("tokenize", []),
        ("shard", []),
        ("train", ["separate"]),
        ("train", ["width_16_multi_token"]),
        ("retrain_heads", ["separate"]),
        ("lens", ["separate"]),
        ("tuned_lens", ["separate"]),
        ("routing", ["separate"]),
        ("prompts", []),
        ("depth", ["separate"]),
        ("depth_maps", ["shallow_to_deep"]),
        ("anatomy", ["separate"]),
        ("published", ["theirs"]),
        ("published_lens", ["theirs"]),
        ("published_depth", ["theirs"]),
        ("published_anatomy", ["theirs"]),
        ("collect", []),
        ("report", []),
    ],
)
def test_every_param_that_is_read_is_declared_and_read(name, arguments, monkeypatch, tmp_path):
    seen, size = read_by(name, arguments, monkeypatch, tmp_path)
    tracked = [
        path.replace("${size}", size)
        .replace("${key}", arguments[0] if arguments else "")
        .replace("${item}", arguments[0] if arguments else "")
        for path in stages()[name].get("params", [])
    ]
    if name == "train":  # the plan of the run holds its rung, among the deps
        seen = {path for path in seen if not path.startswith("rungs.width_16")}
    undeclared = {path for path in seen if not any(path == t or path.startswith(t + ".") for t in tracked)}
    assert not undeclared
    # `size` chooses the recipe by interpolation, and names the size in the outs
    unread = {t for t in tracked if not any(path == t or path.startswith(t + ".") for path in seen)}
    assert unread <= {"size"}


def test_collect_tracks_all_that_results_were_made_with():
    """It holds that against params.yaml."""
    tracked = stages()["collect"]["params"]
    results = {name: stage for name, stage in stages().items() if "metrics/analyses" in str(stage["outs"])}
    results["train"] = stages()["train"]
    for name, stage in results.items():
        untracked = {
            path for path in stage["params"] if not any(path == key or path.startswith(key + ".") for key in tracked)
        }
        assert not untracked, name
