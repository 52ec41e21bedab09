import pytest
import torch
from tiny import (
    assert_gradients,
    assert_taps,
    build,
    layers_compiled,
    move,
    own_parameters,
    some_tokens,
)

from perlayer.model.residual.layernorm_scaling import Design
from perlayer.optim.groups import backbone_group


def written_out(sublayers):
    """h + F(RMSNorm(h) / sqrt(l)), l from 1 (arXiv 2502.05795, section 4)."""
    h = sublayers.embedding()
    taps = [h]
    for layer in range(1, sublayers.config.layers + 1):
        x = sublayers.norm(h, sublayers.weight(layer, "input_layernorm.weight")) / layer**0.5
        h = h + sublayers.attention(layer, x)
        x = sublayers.norm(h, sublayers.weight(layer, "post_attention_layernorm.weight")) / layer**0.5
        h = h + sublayers.mlp(layer, x)
        taps.append(h)
    return taps


@pytest.mark.parametrize("prepare", [lambda decoder: decoder, move])
def test_every_tap_is_the_stream_of_the_formula(prepare):
    assert_taps(prepare(build("layernorm_scaling")), written_out)


def test_the_first_layer_is_pre_ln_and_later_ones_shrink_their_norms():
    # by definition: Pre-LN with norms of 1 / sqrt(l) where both have their initial weights
    decoder, pre_ln, tokens = build("layernorm_scaling"), build("pre_ln"), some_tokens()
    torch.testing.assert_close(decoder(tokens)[1], pre_ln(tokens)[1], rtol=1e-12, atol=0)
    assert not torch.allclose(decoder(tokens)[2], pre_ln(tokens)[2])
    for layer, block in enumerate(pre_ln.model.layers, 1):
        for norm in (block.input_layernorm, block.post_attention_layernorm):
            torch.nn.init.constant_(norm.weight, layer**-0.5)
    for tap, expected in zip(decoder(tokens), pre_ln(tokens), strict=True):
        torch.testing.assert_close(tap, expected)


def test_gradients():
    decoder = build("layernorm_scaling", layers=2, hidden_size=8, head_dim=4, intermediate_size=8)
    assert_gradients(move(decoder), torch.tensor([[3, 4, 5]]))


def test_it_adds_the_norms_of_pre_ln_and_nothing_else():
    # two scales a layer (section 4: no new parameters beside Pre-LN)
    decoder = build("layernorm_scaling")
    assert sum(decoder.get_parameter(name).numel() for name in own_parameters(decoder)) == 3 * 2 * 16
    assert decoder.state_dict().keys() == build("pre_ln").state_dict().keys()
    assert {backbone_group(decoder, name) for name in own_parameters(decoder)} == {"adam"}
    assert {Design(decoder.config).parameter_group(name) for name in own_parameters(decoder)} == {"adam"}


def test_one_compiled_layer_serves_every_layer_and_depth():
    assert layers_compiled(build("layernorm_scaling"), build("layernorm_scaling", layers=2)) == 1
