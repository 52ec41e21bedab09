import json

import pytest
import torch
from tiny_model import tiny_decoder

from perlayer.errors import UserError
from perlayer.lens.lenses import LogitLens, TunedLens, load_lens, save_lens, unembedding_hash
from perlayer.lens.reading import read_layers
from perlayer.store import fresh_folder


@pytest.fixture
def trained():
    lens = TunedLens(3, 16)
    for parameter in lens.parameters():
        torch.nn.init.normal_(parameter, generator=torch.Generator().manual_seed(5))
    return lens


@pytest.fixture
def folder(tmp_path, decoder, trained):
    with fresh_folder(tmp_path / "lens") as folder:
        save_lens(folder, trained, decoder)
    return tmp_path / "lens"


def test_a_tuned_lens_starts_equal_to_the_logit_lens(decoder, rows):
    logit, tuned = read_layers(decoder, LogitLens(), rows), read_layers(decoder, TunedLens(3, 16), rows)
    for one, other in zip(logit, tuned):
        assert all(torch.equal(one[name], other[name]) for name in one)


def test_a_lens_is_kept_with_its_unembedding(folder, decoder, trained):
    again = load_lens(folder, decoder)
    assert all(torch.equal(value, again.state_dict()[name]) for name, value in trained.state_dict().items())
    assert json.loads((folder / "lens.json").read_text())["unembedding"] == unembedding_hash(decoder)


@pytest.mark.parametrize("part", ["lm_head.weight", "model.norm.weight"])
def test_a_lens_refuses_another_unembedding(folder, part):
    other = tiny_decoder()
    with torch.no_grad():
        other.get_parameter(part).view(-1)[3] += 1e-6
    with pytest.raises(UserError, match="this lens belongs to the unembedding .* a lens reads the model"):
        load_lens(folder, other)


def test_a_lens_refuses_a_model_of_another_depth(folder, decoder):
    other = tiny_decoder(layers=2)
    other.model.norm, other.lm_head = decoder.model.norm, decoder.lm_head  # the same unembedding
    with pytest.raises(UserError, match="expected 2 layers of width 16, found 3 of 16"):
        load_lens(folder, other)


def test_the_hash_is_of_the_unembedding_alone(decoder):
    other = tiny_decoder()
    with torch.no_grad():
        other.model.layers[0].mlp.up_proj.weight.zero_()
    assert unembedding_hash(other) == unembedding_hash(decoder)


@pytest.mark.parametrize("file", ["lens.json", "lens.safetensors"])
@pytest.mark.parametrize(("content", "message"), [(None, "no such file"), ("{}", "damaged: ")])
def test_files_that_are_damaged_or_gone_are_named(folder, decoder, file, content, message):
    (folder / file).unlink()
    if content is not None:
        (folder / file).write_text(content)
    with pytest.raises(UserError, match=f"{file}: {message}"):
        load_lens(folder, decoder)
