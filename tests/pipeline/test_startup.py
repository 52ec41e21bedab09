"""A stage starts with what it needs: the libraries that train are slow to import, and for training alone."""

import ast
import subprocess
import sys

import pytest
from pipeline_code import PACKAGE, ROOT, imported, stages

TRAINING = {"torch", "composer", "transformers"}
HEAVY = {*TRAINING, "streaming", "matplotlib", "pandas", "seaborn"}
WITH_MODELS = {
    "plan",  # tries every residual design
    "train",
    "retrain_heads",
    "lens",
    "tuned_lens",
    "published_lens",
    "routing",
    "depth",
    "depth_maps",
    "published_depth",
    "anatomy",
    "published_anatomy",
}
WITHOUT_TRAINING = [name for name in stages() if name not in WITH_MODELS]


@pytest.mark.parametrize("name", WITHOUT_TRAINING)
def test_no_heavy_library_is_loaded_before_it_is_used(name):
    files = [(ROOT / file).relative_to(PACKAGE.parent) for file in imported(name) if file.startswith("src/")]
    modules = {".".join(file.with_suffix("").parts).removesuffix(".__init__") for file in files}
    code = "import importlib, sys\nfor module in sys.argv[1:]: importlib.import_module(module)\nprint(*sys.modules)"
    process = subprocess.run([sys.executable, "-c", code, *modules], stdout=subprocess.PIPE, text=True, check=True)
    loaded = set(process.stdout.split())
    assert loaded.issuperset(modules) and not HEAVY & loaded


@pytest.mark.parametrize("name", WITHOUT_TRAINING)
def test_nothing_imports_a_library_of_training_later_either(name):
    """But for transformers, which knows how a published tokenizer begins a text."""
    names = set()
    for file in imported(name):
        for node in ast.walk(ast.parse((ROOT / file).read_text())):
            if isinstance(node, ast.Import):
                names |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.level == 0:
                names.add(node.module.split(".")[0])
    assert not (TRAINING - {"transformers"}) & names


def test_training_starts_without_what_metrics_and_datasets_of_others_need():
    lines = (
        "import sys",
        "from perlayer.lean_imports import import_lean",
        'import_lean("composer.algorithms", "streaming")',
        "import perlayer.training.run, perlayer.data.batches, streaming, composer.algorithms",
        "print(*sys.modules)",
        "import matplotlib.pyplot, scipy.stats, transformers",
        "transformers.BatchEncoding, transformers.AutoModelForCausalLM",
    )
    found = subprocess.run([sys.executable, "-c", "\n".join(lines)], stdout=subprocess.PIPE, text=True, check=True)
    assert not {"transformers", "scipy", "matplotlib", "sklearn", "streaming.text"} & set(found.stdout.split())
