"""The lenses of a published model, from its folder to the table that `collect` reads."""

import json

import pyarrow.parquet as parquet
import pytest
import torch
from tokenizers import Tokenizer, models, pre_tokenizers

from perlayer.data.corpus import build_corpus
from perlayer.data.shards import write_shards
from perlayer.data.tokens import tokenize_as_published
from perlayer.environment import Machine
from perlayer.lens.lenses import load_lens
from perlayer.lens.published import read_published
from perlayer.lens.settings import TunedLensSettings
from perlayer.model.published import load_published
from perlayer.model.published_settings import PublishedSettings

LENGTH = 16


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    """A random Llama of two layers over bytes, and a text in its tokens."""
    from transformers import LlamaConfig, LlamaForCausalLM

    folder = tmp_path_factory.mktemp("published")
    torch.manual_seed(0)
    shape = dict(vocab_size=257, hidden_size=16, intermediate_size=24, num_hidden_layers=2, num_attention_heads=2)
    LlamaForCausalLM(LlamaConfig(**shape, max_position_embeddings=LENGTH)).save_pretrained(folder / "model")
    backend = Tokenizer(models.BPE({byte: n for n, byte in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}, []))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.add_special_tokens(["<end>"])
    backend.save(str(folder / "model/tokenizer.json"))
    (folder / "model/tokenizer_config.json").write_text(json.dumps({"eos_token": "<end>"}))
    lines = (f'{{"text": "Document {number} says {number * 7}."}}\n' for number in range(60))
    (folder / "texts.jsonl").write_text("".join(lines))
    build_corpus(str(folder / "texts.jsonl"), "text", folder / "corpus")
    tokenize_as_published(folder / "corpus", str(folder / "model"), 257, folder / "tokens")
    write_shards(folder / "tokens", folder / "shards", val_fraction=0.2, sequence_length=LENGTH, seed=42, batch=4)
    return folder


@pytest.mark.parametrize("tuned_steps", [0, 3])
def test_one_table_holds_all_lenses(published, tmp_path, monkeypatch, tuned_steps):
    monkeypatch.chdir(tmp_path)
    settings = PublishedSettings(str(published / "model"), LENGTH, 6, tuned_steps, 4)
    tuned = TunedLensSettings(250, 64, 1, 4, 1.0, 0.9, 1e-3, 1.0)
    machine = Machine(device="cpu", compile="off")
    read_published("mine", settings, tuned, published / "shards", tmp_path / "lenses", tmp_path / "metrics", machine)
    (table,) = (tmp_path / "metrics/mine").iterdir()  # `collect` reads one
    rows = parquet.read_table(table).to_pylist()
    assert {row["run"] for row in rows} == {"mine"} and {row["size"] for row in rows} == {"published"}
    lenses = {"logit_lens", "tuned_lens"} if tuned_steps else {"logit_lens"}
    found = {(row["readout"], row["layer"]) for row in rows if (row["metric"], row["split"]) == ("loss", "val")}
    assert found == {(lens, layer) for lens in lenses for layer in range(3)}
    assert (tmp_path / "lenses/mine").is_dir()
    if tuned_steps:
        assert {row["tokens"] for row in rows if row["step"] == 3} == {3 * 4 * LENGTH}
        load_lens(tmp_path / "lenses/mine", load_published(settings.path, LENGTH))
