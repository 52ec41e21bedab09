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

from perlayer.optim.groups import backbone_group


def written_out(sublayers):
    """RMS_post(a h + F(RMS_pre(h))), a = 2L (arXiv 2601.19895); the first layer without a and its attention
    without RMS_post."""
    h = sublayers.embedding()
    taps = [h]
    for layer in range(1, sublayers.config.layers + 1):
        a = 1 if layer == 1 else 2 * sublayers.config.layers
        x = sublayers.norm(h, sublayers.weight(layer, "input_layernorm.weight"))
        h = a * h + sublayers.attention(layer, x)
        if layer > 1:
            h = sublayers.norm(h, sublayers.weight(layer, "post_attention_norm.weight"))
        x = sublayers.norm(h, sublayers.weight(layer, "post_attention_layernorm.weight"))
        h = sublayers.norm(a * h + sublayers.mlp(layer, x), sublayers.weight(layer, "post_mlp_norm.weight"))
        taps.append(h)
    return taps


@pytest.mark.parametrize("prepare", [lambda decoder: decoder, move])
def test_every_tap_is_the_stream_of_the_formula(prepare):
    assert_taps(prepare(build("keel")), written_out)


def test_at_the_start_the_first_layer_is_that_of_pre_ln_with_a_norm_behind_it():
    # by definition: with a = 1 and scales of 1, RMS(h + F(RMS h)) after the two sublayers of Pre-LN
    tokens = some_tokens()
    first = build("pre_ln")(tokens)[1]
    expected = first / (first.square().mean(-1, keepdim=True) + 1e-5).sqrt()
    torch.testing.assert_close(build("keel")(tokens)[1], expected)


def test_at_the_start_every_tap_has_a_mean_square_of_one():
    # scales are 1, and epsilon is small beside the mean square of a h + F, a = 6
    for tap in build("keel")(some_tokens())[2:]:
        torch.testing.assert_close(tap.square().mean(-1), torch.ones(2, 9, dtype=torch.float64), rtol=0, atol=1e-5)


def test_gradients():
    decoder = build("keel", layers=2, hidden_size=8, head_dim=4, intermediate_size=8)
    assert_gradients(move(decoder), torch.tensor([[3, 4, 5]]))


def test_it_adds_two_norms_a_sublayer_but_one_for_the_first():
    decoder = build("keel")
    assert sum(decoder.get_parameter(name).numel() for name in own_parameters(decoder)) == (4 * 3 - 1) * 16
    assert {backbone_group(decoder, name) for name in own_parameters(decoder)} == {"adam"}


def test_the_first_layer_is_compiled_apart_and_one_serves_all_others_of_every_depth():
    assert layers_compiled(build("keel"), build("keel", layers=2)) == 2
