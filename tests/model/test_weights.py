import dataclasses
import json

import pytest
import torch
from safetensors.torch import load_file, save_file

from perlayer.errors import UserError
from perlayer.model.config import ModelConfig
from perlayer.model.decoder import Decoder
from perlayer.model.readouts import auxiliary_readouts
from perlayer.model.weights import load_model, load_readouts, save_model
from perlayer.store import fresh_folder

CONFIG = ModelConfig("sandwich", 3, 16, 32, 2, 1, 8, 10000.0, 1e-5, 40, 12, 1, True)


@pytest.fixture
def folder(tmp_path):
    decoder = Decoder(CONFIG)
    decoder.initialize(0)
    with fresh_folder(tmp_path / "model") as folder:
        save_model(folder, decoder, auxiliary_readouts(CONFIG, 0))
    return tmp_path / "model"


def test_a_model_comes_back_bit_for_bit(folder):
    first = Decoder(CONFIG)
    first.initialize(0)
    loaded = load_model(folder)
    assert loaded.config == CONFIG
    for name, value in first.state_dict().items():
        assert torch.equal(value, loaded.state_dict()[name])


def test_that_bos_is_eos_comes_back_and_is_said_only_where_it_holds(folder, tmp_path):
    assert "bos_is_eos" not in json.loads((folder / "config.json").read_text())["perlayer"]
    config = dataclasses.replace(CONFIG, bos_is_eos=True)
    with fresh_folder(tmp_path / "other") as other:
        save_model(other, Decoder(config), auxiliary_readouts(config, 0))
    assert load_model(tmp_path / "other").config == config


def test_readouts_are_named_by_layer(folder):
    names = set(load_file(folder / "readouts.safetensors"))
    assert names == {f"readouts.{k}.{part}.weight" for k in (1, 2) for part in ("norm", "lm_head")}
    assert set(load_readouts(folder)) == {"1", "2"}


def test_the_same_model_gives_the_same_bytes(folder, tmp_path):
    again = tmp_path / "again"
    again.mkdir()
    save_model(again, load_model(folder), load_readouts(folder))
    for name in ("model.safetensors", "readouts.safetensors", "config.json"):
        assert (again / name).read_bytes() == (folder / name).read_bytes()


def save_others(folder, weights):
    """A model of the same configuration, with other weights."""
    config = (folder / "config.json").read_text()
    with fresh_folder(folder) as fresh:
        save_file(weights, fresh / "model.safetensors")
        (fresh / "config.json").write_text(config)


def test_weights_of_another_shape_are_named(folder):
    weights = load_file(folder / "model.safetensors")
    save_others(folder, {**weights, "lm_head.weight": torch.zeros(41, 16)})
    with pytest.raises(
        UserError, match=r"model.safetensors: lm_head.weight: expected the shape \(40, 16\), found \(41, 16\)"
    ):
        load_model(folder)


def test_missing_and_foreign_weights_are_named(folder):
    weights = load_file(folder / "model.safetensors")
    kept = {name: value for name, value in weights.items() if name != "model.norm.weight"}
    save_others(folder, kept)
    with pytest.raises(UserError, match="model.norm.weight is missing"):
        load_model(folder)
    save_others(folder, {**weights, "model.extra": torch.zeros(1)})
    with pytest.raises(UserError, match="model.extra belongs to no part"):
        load_model(folder)


def test_a_configuration_of_something_else_is_named(tmp_path):
    with fresh_folder(tmp_path / "model") as folder:
        (folder / "config.json").write_text(json.dumps({"hidden_size": 3}))
    with pytest.raises(UserError, match="config.json: not a model configuration"):
        load_model(tmp_path / "model")


@pytest.mark.parametrize("name", ["config.json", "model.safetensors", "readouts.safetensors"])
def test_files_that_are_damaged_or_gone_are_named(folder, name):
    content = bytearray((folder / name).read_bytes())
    content[-10] ^= 1
    (folder / name).write_bytes(content)
    with pytest.raises(UserError, match=f"{name}: damaged: "):
        load_model(folder), load_readouts(folder)
    (folder / name).unlink()
    with pytest.raises(UserError, match=f"{name}: no such file"):
        load_model(folder), load_readouts(folder)
