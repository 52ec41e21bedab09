import subprocess
import sys
from dataclasses import fields

import pytest

from perlayer.data.settings import CorpusSettings, DataSettings, ShardSettings, parse_part
from perlayer.errors import UserError
from perlayer.params import parse

SECTION = {
    "corpus": "wiki-intros",
    "text_column": "text",
    "validation": None,
    "tokenizer": None,
    "vocab_size": 512,
    "val_fraction": 0.05,
    "sequence_length": 64,
    "block_cross_document": True,
    "seed": 42,
}


def test_every_recipe_of_the_project_parses(request):
    from perlayer.params import load, recipe

    params = load(request.config.rootpath / "params.yaml")
    for size in params["recipes"]:
        section, where = recipe(params, "data", size)
        assert set(section) == {field.name for field in fields(DataSettings)}
        assert parse(DataSettings, section, where).corpus == section["corpus"]


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("corpus", ""),
        ("corpus", "a\0b*.txt"),
        ("validation", "a\nb.txt"),
        ("tokenizer", "\ud800"),
        ("text_column", ""),
        ("validation", ""),
        ("tokenizer", ""),
        ("vocab_size", 257),
        ("vocab_size", 512.5),
        ("val_fraction", 0.0),
        ("val_fraction", 1.0),
        ("sequence_length", 0),
        ("seed", -1),
        ("block_cross_document", "yes"),
    ],
)
def test_an_impossible_value_is_named(key, value):
    with pytest.raises(UserError, match=rf"^params.yaml: recipes.x.data.{key}: expected .*, found"):
        parse(DataSettings, SECTION | {key: value}, "recipes.x.data")


def test_a_part_reads_only_its_own_keys():
    class Tracked(dict):
        read = set()

        def __getitem__(self, key):
            self.read.add(key)
            return super().__getitem__(key)

    section = Tracked(SECTION | {"vocab_size": "wrong, but not read"})
    assert parse_part(ShardSettings, section, "data") == ShardSettings(0.05, 64, 42)
    assert section.read == {"val_fraction", "sequence_length", "seed"}


def test_a_missing_key_of_a_part_is_named():
    with pytest.raises(UserError, match="recipes.x.data.validation: missing"):
        parse_part(CorpusSettings, {"corpus": "a", "text_column": "b"}, "recipes.x.data")


def test_settings_import_nothing_heavy():
    code = "import sys, perlayer.data.settings; print(*{'torch', 'numpy', 'duckdb', 'streaming'} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True).stdout.strip() == ""
