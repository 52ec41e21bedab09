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

from perlayer.optim.groups import backbone_group, parameter_groups
from perlayer.optim.hyperball import Hyperball
from perlayer.optim.settings import OptimizerSettings

SCALED = ("v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")


def written_out(sublayers):
    """LN(a h + F(h)), a = (2L)^(1/4); LN centres and has a scale alone (arXiv 2203.00555, section 3.1)."""

    def norm(x, weight):
        centred = x - x.sum(-1, keepdim=True) / x.shape[-1]
        variance = (centred**2).sum(-1, keepdim=True) / x.shape[-1]
        return centred / (variance + sublayers.config.norm_epsilon) ** 0.5 * weight

    h, a = sublayers.embedding(), (2 * sublayers.config.layers) ** 0.25
    taps = [h]
    for layer in range(1, sublayers.config.layers + 1):
        h = norm(a * h + sublayers.attention(layer, h), sublayers.weight(layer, "post_attention_norm.weight"))
        h = norm(a * h + sublayers.mlp(layer, h), sublayers.weight(layer, "post_mlp_norm.weight"))
        taps.append(h)
    return taps


@pytest.mark.parametrize("prepare", [lambda decoder: decoder, move])
def test_every_tap_is_the_stream_of_the_formula(prepare):
    assert_taps(prepare(build("deepnorm")), written_out)


def test_at_the_start_every_tap_has_mean_zero_and_variance_one():
    # scales are 1, and epsilon is small beside a variance of more than a^2 = sqrt(6)
    for tap in build("deepnorm")(some_tokens())[2:]:
        torch.testing.assert_close(tap.mean(-1), torch.zeros(2, 9, dtype=torch.float64), rtol=0, atol=1e-12)
        torch.testing.assert_close(tap.var(-1, correction=0), torch.ones(2, 9, dtype=torch.float64), rtol=0, atol=1e-4)


def test_what_the_last_layer_gives_is_read_through_an_rms_norm():
    decoder = move(build("deepnorm"))
    last = decoder(some_tokens())[-1]
    normed = last / (last.square().mean(-1, keepdim=True) + 1e-5).sqrt() * decoder.model.norm.weight
    torch.testing.assert_close(decoder.logits(last), normed @ decoder.lm_head.weight.T)


def test_sublayers_start_smaller_but_for_queries_and_keys():
    # section 3.1: beta = (8L)^(-1/4), here of three layers, for values, output and MLP
    decoder, pre_ln = build("deepnorm"), build("pre_ln")
    for name, value in pre_ln.named_parameters():
        if "layernorm" not in name:
            factor = 24**-0.25 if name.split(".")[-2] in SCALED else 1.0
            torch.testing.assert_close(decoder.get_parameter(name), factor * value, msg=name)


def test_training_keeps_the_norm_of_the_smaller_start():
    decoder = build("deepnorm").float()
    settings = OptimizerSettings(0.02, 0.003, 0.95, 0.9, 0.95, 1e-20, 1e-7, 5, 1.0, "linear", 1.0, 0)
    optimizer = Hyperball.from_settings(parameter_groups(decoder, settings), settings)
    before = {name: p.detach().clone() for name, p in decoder.named_parameters() if name.split(".")[-2] in SCALED}
    decoder(some_tokens())[-1][..., 0].square().sum().backward()
    optimizer.step()
    assert len(before) == 15
    for name, start in before.items():
        assert not torch.equal(decoder.get_parameter(name), start), name
        torch.testing.assert_close(decoder.get_parameter(name).norm(), start.norm(), msg=name)


def test_gradients():
    decoder = build("deepnorm", layers=2, hidden_size=8, head_dim=4, intermediate_size=8)
    assert_gradients(move(decoder), torch.tensor([[3, 4, 5]]))


def test_it_adds_one_scale_a_sublayer():
    # by definition: a norm with a scale and no bias for each of the two sublayers of three layers
    decoder = build("deepnorm")
    assert sum(decoder.get_parameter(name).numel() for name in own_parameters(decoder)) == 3 * 2 * 16
    assert {backbone_group(decoder, name) for name in own_parameters(decoder)} == {"adam"}


def test_one_compiled_layer_serves_every_layer_and_depth():
    assert layers_compiled(build("deepnorm"), build("deepnorm", layers=2)) == 1
