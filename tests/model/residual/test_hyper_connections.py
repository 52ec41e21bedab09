import pytest
import torch
from tiny import (
    assert_gradients,
    assert_mixed_precision,
    assert_taps,
    build,
    layers_compiled,
    move,
    own_parameters,
    some_tokens,
)

from perlayer.model.residual.hyper_connections import normed_projection
from perlayer.model.residual.protocol import Sublayer
from perlayer.optim.groups import backbone_group

torch.set_num_threads(1)
DESIGNS = ["hyper_connections", "hyper_connections_static"]


def weights(written, layer, kind, streams):
    """r, w and A (before, after) of one token with streams H (4, hidden), a number at a time (recipe section 6b)."""
    part = f"{kind}_connection."
    read, write, mixing = (written.weight(layer, part + name).clone() for name in ("read", "write", "mixing"))
    if written.config.residual == "hyper_connections_static":
        return read, write, mixing
    projection, inner, outer = (
        written.weight(layer, part + name) for name in ("projection", "input_scale", "output_scale")
    )
    for s in range(4):
        normed = streams[s] / torch.sqrt((streams[s] ** 2).mean() + written.config.norm_epsilon)
        read[s] += inner * torch.tanh(projection[0] @ normed)
        write[s] += outer * torch.tanh(projection[1] @ normed)
        for t in range(4):
            mixing[s, t] += inner * torch.tanh(projection[2 + t] @ normed)
    return read, write, mixing


def reference(written):
    """x = sum_s r_s H_s; H_t <- sum_s A_st H_s + w_t F(RN x) (arXiv 2409.19606, section 2); taps are their sums."""
    streams = torch.stack([written.embedding()] * 4, 1)  # (length, 4, hidden)
    taps = [streams.sum(1)]
    for layer in range(1, written.config.layers + 1):
        for kind, norm, sublayer in (
            ("attention", "input_layernorm", written.attention),
            ("mlp", "post_attention_layernorm", written.mlp),
        ):
            tokens = [weights(written, layer, kind, each) for each in streams]
            x = torch.stack([read @ each for (read, _, _), each in zip(tokens, streams)])
            output = sublayer(layer, written.norm(x, written.weight(layer, f"{norm}.weight")))
            streams = torch.stack(
                [
                    mixing.T @ each + write[:, None] * out
                    for (_, write, mixing), each, out in zip(tokens, streams, output)
                ]
            )
        taps.append(streams.sum(1))
    return taps


def without_output_scale(decoder):
    """Undoes the 1 / sqrt(4) of the output projections."""
    with torch.no_grad():
        for block in decoder.model.layers:
            block.self_attn.o_proj.weight.mul_(2)
            block.mlp.down_proj.weight.mul_(2)
    return decoder


@pytest.mark.parametrize("name", DESIGNS)
def test_at_the_start_every_stream_is_that_of_pre_ln(name):
    # r = e_k, A = I, w = 1, W = 0: each sublayer reads one stream and adds to all, so that all four stay equal
    for tap, expected in zip(without_output_scale(build(name))(some_tokens()), build("pre_ln")(some_tokens())):
        torch.testing.assert_close(tap, 4 * expected)


@pytest.mark.parametrize("name", DESIGNS)
def test_sublayers_read_the_streams_in_turn_at_the_start(name):
    decoder = build(name)
    state = torch.randn(1, 2, 4, 16, dtype=torch.float64)
    for index in range(6):
        kind = "mlp" if index % 2 else "attention"
        routing = decoder.design.routing(state, Sublayer(index, index // 2 + 1, kind, decoder.model.layers[index // 2]))
        expected = {"read": torch.eye(4)[index % 4], "write": torch.ones(4), "mixing": torch.eye(4)}
        for weight, value in expected.items():
            torch.testing.assert_close(routing[weight], value.double().expand(1, 2, *value.shape))
    assert decoder.design.routing(state, Sublayer(6, 3, "head", None)) == {}


@pytest.mark.parametrize("name", DESIGNS)
def test_against_the_formulas_written_out(name):
    assert_taps(move(build(name)), reference)


@pytest.mark.parametrize("name", DESIGNS)
def test_routing_gives_what_the_sublayers_use(name):
    decoder = move(build(name))
    block = decoder.model.layers[1]
    state, output = torch.randn(1, 2, 4, 16).double(), torch.randn(1, 2, 16).double()
    sublayer = Sublayer(3, 2, "mlp", block)
    routing = decoder.design.routing(state, sublayer)
    mixed = torch.einsum("blts,blsc->bltc", routing["mixing"], state)
    expected = mixed + torch.einsum("blt,blc->bltc", routing["write"], output)
    torch.testing.assert_close(decoder.design.write(state, sublayer, output), expected)
    read = torch.einsum("bls,blsc->blc", routing["read"], state)
    torch.testing.assert_close(decoder.design.read(state, sublayer), block.post_attention_layernorm(read))


@pytest.mark.parametrize("name", DESIGNS)
def test_gradients(name):
    decoder = build(name, layers=1, hidden_size=4, head_dim=2, intermediate_size=4)
    assert_gradients(move(decoder), torch.tensor([[3, 4]]))


def test_a_projection_of_normed_rows_and_its_gradient():
    generator = torch.Generator().manual_seed(0)
    hidden = torch.randn(2, 3, 5, generator=generator, dtype=torch.float64).requires_grad_()
    weight = torch.randn(4, 5, generator=generator, dtype=torch.float64).requires_grad_()
    plain = hidden / torch.sqrt(hidden.square().mean(-1, keepdim=True) + 0.1) @ weight.T
    torch.testing.assert_close(normed_projection(hidden, weight, 0.1), plain.movedim(-1, 0))
    assert torch.autograd.gradcheck(lambda h, w: normed_projection(h, w, 0.1), (hidden, weight))


@pytest.mark.parametrize(("name", "count"), [("hyper_connections", 24 + 6 * 16 + 2), ("hyper_connections_static", 24)])
def test_what_it_adds(name, count):
    # a sublayer: n (n + 2) static weights, a projection of hidden to n + 2 and two scales (arXiv 2409.19606,
    # appendix, without a scale of the streams' norm); and the norm of Pre-LN
    decoder = build(name)
    groups = {each: backbone_group(decoder, each) for each in own_parameters(decoder)}
    sizes = {"routing": 0, "adam": 0}
    for each, group in groups.items():
        sizes[group] += decoder.get_parameter(each).numel()
    assert sizes == {"routing": 6 * count, "adam": 6 * 16}
    assert all(each.endswith("layernorm.weight") == (group == "adam") for each, group in groups.items())


@pytest.mark.parametrize("name", DESIGNS)
def test_output_projections_start_at_half_of_the_recipes(name):
    decoder, plain = build(name), build("pre_ln")
    for block, other in zip(decoder.model.layers, plain.model.layers):
        assert torch.equal(block.self_attn.o_proj.weight, other.self_attn.o_proj.weight / 2)
        assert torch.equal(block.mlp.down_proj.weight, other.mlp.down_proj.weight / 2)
        assert torch.equal(block.mlp.up_proj.weight, other.mlp.up_proj.weight)


@pytest.mark.parametrize("name", DESIGNS)
def test_with_products_in_bfloat16_the_stream_stays_float32(name):
    assert_mixed_precision(move(build(name), 0.05))


def test_under_bfloat16_products_the_weights_are_those_of_float32():
    decoder = move(build("hyper_connections")).float()
    sublayer = Sublayer(0, 1, "attention", decoder.model.layers[0])
    state = torch.randn(1, 3, 4, 16)
    expected = decoder.design.routing(state, sublayer)
    with torch.autocast("cpu", torch.bfloat16):
        found = decoder.design.routing(state, sublayer)
    assert all(torch.equal(found[name], expected[name]) for name in ("read", "write", "mixing"))


@pytest.mark.parametrize("name", DESIGNS)
def test_one_compiled_layer_serves_all_of_every_depth(name):
    assert layers_compiled(move(build(name)), move(build(name, layers=2))) == 1
