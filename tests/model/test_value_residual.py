import math

import pytest
import torch

from perlayer.errors import InvalidValue
from perlayer.model.config import ModelConfig
from perlayer.model.decoder import Decoder
from perlayer.model.residual.protocol import ResidualDesign
from perlayer.model.value_residual import ValueResidual

EOS = 1


def build(kind, **changes):
    shape = dict(
        residual="pre_ln",
        layers=3,
        hidden_size=16,
        intermediate_size=24,
        attention_heads=2,
        key_value_heads=1,
        head_dim=8,
        rope_theta=10000.0,
        norm_epsilon=1e-5,
        vocab_size=20,
        sequence_length=10,
        eos_id=EOS,
        block_cross_document=True,
        value_residual=kind,
    )
    decoder = Decoder(ModelConfig(**{**shape, **changes}))
    decoder.initialize(seed=4)
    return decoder


def reference(decoder, tokens, weights):
    """Pre-LN with V'_n = a V_1 + b V_n after the first layer (ResFormer, section 3), a token and a head at a time."""
    c, w = decoder.config, {name: value.double() for name, value in decoder.state_dict().items()}

    def norm(x, weight):
        return x / torch.sqrt((x * x).mean(-1, keepdim=True) + c.norm_epsilon) * weight

    def rotated(x, position):
        half = c.head_dim // 2
        angles = position * c.rope_theta ** (-2.0 * torch.arange(half, dtype=torch.float64) / c.head_dim)
        left, right = x[:half], x[half:]
        return torch.cat([left * angles.cos() - right * angles.sin(), left * angles.sin() + right * angles.cos()])

    h, first, taps = w["model.embed_tokens.weight"][tokens], None, []
    for n in range(c.layers):
        part = f"model.layers.{n}."
        x = norm(h, w[part + "input_layernorm.weight"])
        value = x @ w[part + "self_attn.v_proj.weight"].T
        if first is None:
            first = value
        else:
            value = weights[n - 1][0] * first + weights[n - 1][1] * value
        key = norm(x @ w[part + "self_attn.k_proj.weight"].T, w[part + "self_attn.k_norm.weight"])
        key = torch.stack([rotated(key[t], t) for t in range(len(tokens))])
        mixed = torch.zeros(len(tokens), c.attention_heads * c.head_dim, dtype=torch.float64)
        for head in range(c.attention_heads):
            rows = slice(head * c.head_dim, (head + 1) * c.head_dim)
            query = norm(x @ w[part + "self_attn.q_proj.weight"][rows].T, w[part + "self_attn.q_norm.weight"])
            for t in range(len(tokens)):
                start = max([s + 1 for s in range(t) if tokens[s] == EOS], default=0)
                scores = key[start : t + 1] @ rotated(query[t], t) / math.sqrt(c.head_dim)
                mixed[t, rows] = torch.softmax(scores, 0) @ value[start : t + 1]
        h = h + mixed @ w[part + "self_attn.o_proj.weight"].T
        x = norm(h, w[part + "post_attention_layernorm.weight"])
        gate, up = x @ w[part + "mlp.gate_proj.weight"].T, x @ w[part + "mlp.up_proj.weight"].T
        h = h + (torch.nn.functional.silu(gate) * up) @ w[part + "mlp.down_proj.weight"].T
        taps.append(h)
    return taps


def some_tokens():
    tokens = torch.randint(2, 20, (2, 10), generator=torch.Generator().manual_seed(0))
    tokens[0, 4] = EOS
    return tokens


@pytest.mark.parametrize(
    ("kind", "weights"),
    [
        ("identity", [(0.5, 0.5), (0.5, 0.5)]),
        ("constant", [(2.0, 1.0), (2.0, 1.0)]),
        ("learnable", [(0.3, -0.7), (1.5, 0.25)]),
    ],
)
def test_against_a_plain_reference(kind, weights):
    decoder, tokens = build(kind), some_tokens()
    if kind == "learnable":
        with torch.no_grad():
            for block, each in zip(decoder.model.layers[1:], weights, strict=True):
                block.value_residual.weights.copy_(torch.tensor(each))
    for row, sequence in enumerate(tokens):
        for tap, expected in zip(decoder(tokens)[1:], reference(decoder, sequence, weights), strict=True):
            torch.testing.assert_close(tap[row].double(), expected, atol=1e-5, rtol=1e-5)


def test_only_learnable_weights_are_parameters_and_start_at_a_half():
    names = {name: p for name, p in build("learnable").named_parameters() if "value_residual" in name}
    assert {name: p.tolist() for name, p in names.items()} == {
        f"model.layers.{n}.value_residual.weights": [0.5, 0.5] for n in (1, 2)
    }
    decoder = build("learnable")
    assert {decoder.design.parameter_group(name) for name in names} == {"routing"}
    assert build("identity").state_dict().keys() == build(None).state_dict().keys()


def test_detaching_ends_every_gradient():
    decoder = build("identity")
    found = []

    def fork(layer, before, after, run):
        if run is not None and layer == 2:
            found.append(decoder.design.tap(run(decoder.design.detach(before)), layer))
        return after, after

    decoder(some_tokens(), fork)
    found[0].square().sum().backward()
    trained = {name.split(".")[2] for name, p in decoder.named_parameters() if p.grad is not None}
    assert trained == {"1"}  # the second layer, counted from 0


def test_a_design_with_attention_of_its_own_is_refused():
    class Own(ResidualDesign):
        def attend(self, state, sublayer, rotary, mask):
            return super().attend(state, sublayer, rotary, mask)

    with pytest.raises(InvalidValue, match="value_residual: expected a residual design with the usual attention"):
        ValueResidual(Own(build(None).config), "identity")


def test_every_question_to_a_design_reaches_the_one_inside():
    asked = {name for name in vars(ResidualDesign) if not name.startswith("_")}
    assert asked <= vars(ValueResidual).keys()
