import json

import pytest
import torch
from tiny_model import tiny_decoder

from perlayer.errors import UserError
from perlayer.lens.lenses import LogitLens, TunedLens, load_lens, save_lens, unembedding_hash
from perlayer.lens.reading import read_layers


@pytest.fixture
def trained():
    lens = TunedLens(3, 16)
    for parameter in lens.parameters():
        torch.nn.init.normal_(parameter, generator=torch.Generator().manual_seed(5))
    return lens


def test_a_tuned_lens_starts_equal_to_the_logit_lens(decoder, rows):
    logit, tuned = read_layers(decoder, LogitLens(), rows), read_layers(decoder, TunedLens(3, 16), rows)
    for one, other in zip(logit, tuned):
        assert all(torch.equal(one[name], other[name]) for name in one)


def test_a_lens_is_kept_with_its_unembedding(tmp_path, decoder, trained):
    save_lens(tmp_path, trained, decoder)
    again = load_lens(tmp_path, decoder)
    assert all(torch.equal(value, again.state_dict()[name]) for name, value in trained.state_dict().items())
    assert json.loads((tmp_path / "lens.json").read_text())["unembedding"] == unembedding_hash(decoder)


@pytest.mark.parametrize("part", ["lm_head.weight", "model.norm.weight"])
def test_a_lens_refuses_another_unembedding(tmp_path, decoder, trained, part):
    save_lens(tmp_path, trained, decoder)
    other = tiny_decoder()
    with torch.no_grad():
        other.get_parameter(part).view(-1)[3] += 1e-6
    with pytest.raises(UserError, match="this lens belongs to the unembedding .* a lens reads the model"):
        load_lens(tmp_path, other)


def test_a_lens_refuses_a_model_of_another_depth(tmp_path, decoder, trained):
    save_lens(tmp_path, trained, decoder)
    other = tiny_decoder(layers=2)
    other.model.norm, other.lm_head = decoder.model.norm, decoder.lm_head  # the same unembedding
    with pytest.raises(UserError, match="expected 2 layers of width 16, found 3 of 16"):
        load_lens(tmp_path, other)


def test_the_hash_is_of_the_unembedding_alone(decoder):
    other = tiny_decoder()
    with torch.no_grad():
        other.model.layers[0].mlp.up_proj.weight.zero_()
    assert unembedding_hash(other) == unembedding_hash(decoder)


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        ("lens.json", None, "no such file; expected a tuned lens"),
        ("lens.json", "{", "expected the description of a tuned lens"),
        ("lens.json", '{"layers": 3}', "expected the description of a tuned lens"),
        ("lens.safetensors", None, "no such file"),
        ("lens.safetensors", "broken", "not a readable safetensors file"),
    ],
)
def test_broken_files_are_named(tmp_path, decoder, trained, file, content, message):
    save_lens(tmp_path, trained, decoder)
    (tmp_path / file).unlink()
    if content is not None:
        (tmp_path / file).write_text(content)
    with pytest.raises(UserError, match=f"{file}: {message}"):
        load_lens(tmp_path, decoder)
