import itertools

import pytest
import torch
from tiny import (
    assert_causal,
    assert_documents_apart,
    assert_gradients,
    assert_mixed_precision,
    assert_taps,
    build,
    layers_compiled,
    move,
    own_parameters,
    some_tokens,
)

from perlayer.model.residual.mhc import sinkhorn
from perlayer.model.residual.protocol import Sublayer
from perlayer.optim.groups import backbone_group

torch.set_num_threads(1)
DESIGNS = ["mhc", "mhc_lite"]


def balanced(logits):
    """Sinkhorn by definition (arXiv 2512.24880, section 4.2): exp, then 20 x (columns over their sums, then rows)."""
    matrix = logits.exp()
    for _ in range(20):
        matrix = matrix / matrix.sum(0, keepdim=True)
        matrix = matrix / matrix.sum(1, keepdim=True)
    return matrix


def permuted(logits):
    """The mixture of all permutation matrices by softmax (arXiv 2601.05732); row i has its one at order[i]."""
    shares = logits.exp() / logits.exp().sum()
    matrix = torch.zeros(4, 4, dtype=logits.dtype)
    for share, order in zip(shares, itertools.permutations(range(4))):
        for row, column in enumerate(order):
            matrix[row, column] += share
    return matrix


def weights(written, layer, kind, streams):
    """r, w and A of one token with streams X (4, hidden) (recipe section 6b)."""
    projection, bias, gains = (
        written.weight(layer, f"{kind}_connection.{name}") for name in ("projection", "bias", "gains")
    )
    flat = streams.reshape(-1)
    normed = flat / torch.sqrt((flat * flat).mean() + written.config.norm_epsilon)
    read = gains[0] * (projection[:4] @ normed) + bias[:4]
    write = gains[1] * (projection[4:8] @ normed) + bias[4:8]
    mixing = gains[2] * (projection[8:] @ normed) + bias[8:]
    mixing = balanced(mixing.view(4, 4)) if written.config.residual == "mhc" else permuted(mixing)
    return 1 / (1 + torch.exp(-read)), 2 / (1 + torch.exp(-write)), mixing


def reference(written):
    """X <- A X + w F(RN(r X)); taps are sums of streams."""
    streams = torch.stack([written.embedding()] * 4, 1)
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
                [mixing @ each + write[:, None] * out for (_, write, mixing), each, out in zip(tokens, streams, output)]
            )
        taps.append(streams.sum(1))
    return taps


def moved(name, **changes):
    """With gains of about one, so that tokens differ in how they route."""
    decoder = move(build(name, **changes))
    with torch.no_grad():
        for parameter in (decoder.get_parameter(each) for each in own_parameters(decoder) if each.endswith("gains")):
            parameter.add_(1)
    return decoder


def some_routing(decoder, index=2):
    state = torch.randn(2, 5, 4, 16, generator=torch.Generator().manual_seed(1)).to(decoder.lm_head.weight.dtype)
    kind = "mlp" if index % 2 else "attention"
    return decoder.design.routing(state, Sublayer(index, index // 2 + 1, kind, decoder.model.layers[index // 2]))


@pytest.mark.parametrize("name", DESIGNS)
def test_at_the_start_every_stream_is_that_of_pre_ln(name):
    # w = 2 sigmoid(0) = 1 and rows of A sum to one, so that the four streams stay equal; sum r differs from one by
    # 3 sigmoid(-8) - sigmoid(-8), which the norm takes out but for its epsilon
    decoder = build(name, norm_epsilon=1e-14)
    with torch.no_grad():
        for block in decoder.model.layers:  # undoes the 1 / sqrt(4) of the output projections
            block.self_attn.o_proj.weight.mul_(2)
            block.mlp.down_proj.weight.mul_(2)
    for tap, expected in zip(decoder(some_tokens()), build("pre_ln", norm_epsilon=1e-14)(some_tokens())):
        torch.testing.assert_close(tap, 4 * expected, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("name", DESIGNS)
@pytest.mark.parametrize("index", range(6))
def test_weights_at_the_start(name, index):
    # recipe section 6b: bias of read +8 on stream k mod 4 and -8 elsewhere, write 0, mixing 0 for the identity, -8 else
    routing = some_routing(build(name), index)
    logits = torch.full((4,), -8.0).double()
    logits[index % 4] = 8
    near = torch.full((4, 4), -8.0).double().fill_diagonal_(0)
    mixing = balanced(near) if name == "mhc" else permuted(torch.tensor([0.0] + [-8.0] * 23).double())
    torch.testing.assert_close(routing["read"], logits.sigmoid().expand(2, 5, 4))
    torch.testing.assert_close(routing["write"], torch.ones(2, 5, 4).double())
    torch.testing.assert_close(routing["mixing"], mixing.expand(2, 5, 4, 4))
    # 23 e^-8 = 0.0077 is all that the other permutations have
    torch.testing.assert_close(mixing, torch.eye(4).double(), rtol=0, atol=0.01)


@pytest.mark.parametrize("name", DESIGNS)
def test_against_the_formulas_written_out(name):
    assert_taps(moved(name), reference)


@pytest.mark.parametrize("name", DESIGNS)
def test_mixing_is_doubly_stochastic(name):
    # rows come last in Sinkhorn's rounds, and so are exact. Columns are where logits are alike or of unit spread; near
    # the identity, with 8 between diagonal and rest, rounds converge slowly and twenty leave some of a percent
    ones = torch.ones(2, 5, 4).double()
    at_start, later = some_routing(build(name))["mixing"], some_routing(moved(name))["mixing"]
    for mixing, tolerance in ((at_start, 1e-12), (later, 0.05 if name == "mhc" else 1e-12)):
        assert (mixing >= 0).all()
        torch.testing.assert_close(mixing.sum(-1), ones, rtol=0, atol=1e-12)
        torch.testing.assert_close(mixing.sum(-2), ones, rtol=0, atol=tolerance)
    assert later.flatten(0, 1).std(0).amax() > 1e-3  # tokens differ


def test_sinkhorn_makes_matrices_of_unit_spread_doubly_stochastic():
    logits = torch.randn(4, 4, 100, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    matrices = sinkhorn(logits.exp())
    for axis in (0, 1):
        torch.testing.assert_close(matrices.sum(axis), torch.ones(4, 100).double(), rtol=0, atol=1e-4)


def test_routing_gives_what_the_sublayers_use():
    decoder = moved("mhc")
    block = decoder.model.layers[1]
    state, output = torch.randn(1, 2, 4, 16).double(), torch.randn(1, 2, 16).double()
    sublayer = Sublayer(3, 2, "mlp", block)
    routing = decoder.design.routing(state, sublayer)
    mixed = torch.einsum("blts,blsc->bltc", routing["mixing"], state)
    expected = mixed + torch.einsum("blt,blc->bltc", routing["write"], output)
    torch.testing.assert_close(decoder.design.write(state, sublayer, output), expected)
    read = torch.einsum("bls,blsc->blc", routing["read"], state)
    torch.testing.assert_close(decoder.design.read(state, sublayer), block.post_attention_layernorm(read))


def test_sinkhorn_and_its_gradient():
    logits = 3 * torch.randn(4, 4, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    expected = torch.stack([balanced(logits[..., token]) for token in range(3)], -1)
    torch.testing.assert_close(sinkhorn(logits.exp()), expected)
    assert torch.autograd.gradcheck(lambda z: sinkhorn(z.exp()), (logits.requires_grad_(),))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_logits_far_apart_overflow_nowhere(dtype):
    # a matrix by whose logits one stream takes all: rows stay exact whatever columns are
    connection = build("mhc").model.layers[0].mlp_connection
    generator = torch.Generator().manual_seed(0)
    logits = (300 * torch.randn(16, 200, generator=generator)).to(dtype)
    logits[:4, 0] = 1000  # the whole first row
    logits.requires_grad_()
    mixing = connection.mixing(logits)
    (gradient,) = torch.autograd.grad(mixing.square().sum(), logits)
    assert gradient.isfinite().all()
    torch.testing.assert_close(mixing.sum(1), torch.ones(4, 200, dtype=dtype))


@pytest.mark.parametrize("name", DESIGNS)
def test_no_tap_sees_the_future_or_another_document(name):
    assert_causal(moved(name))
    assert_documents_apart(moved(name))


@pytest.mark.parametrize("name", DESIGNS)
def test_gradients(name):
    decoder = moved(name, layers=1, hidden_size=2, attention_heads=1, head_dim=2, intermediate_size=2)
    assert_gradients(decoder, torch.tensor([[3, 4]]))


@pytest.mark.parametrize(("name", "logits"), [("mhc", 24), ("mhc_lite", 32)])
def test_what_it_adds(name, logits):
    # a sublayer: n C (n^2 + 2n) + n^2 + 2n + 3 (arXiv 2512.24880), with n! for n^2 in mHC-lite; and the norm of Pre-LN
    decoder = build(name)
    groups = {each: backbone_group(decoder, each) for each in own_parameters(decoder)}
    sizes = {"routing": 0, "adam": 0}
    for each, group in groups.items():
        sizes[group] += decoder.get_parameter(each).numel()
    assert sizes == {"routing": 6 * (4 * 16 * logits + logits + 3), "adam": 6 * 16}
    assert all(each.endswith("layernorm.weight") == (group == "adam") for each, group in groups.items())


@pytest.mark.parametrize("name", DESIGNS)
def test_output_projections_start_at_half_of_the_recipes(name):
    for block, other in zip(build(name).model.layers, build("pre_ln").model.layers):
        assert torch.equal(block.self_attn.o_proj.weight, other.self_attn.o_proj.weight / 2)
        assert torch.equal(block.mlp.down_proj.weight, other.mlp.down_proj.weight / 2)


@pytest.mark.parametrize("name", DESIGNS)
def test_with_products_in_bfloat16_the_stream_stays_float32(name):
    assert_mixed_precision(move(build(name), 0.05))


@pytest.mark.parametrize("name", DESIGNS)
def test_under_bfloat16_products_the_weights_are_those_of_float32(name):
    decoder = moved(name).float()
    expected = some_routing(decoder)
    with torch.autocast("cpu", torch.bfloat16):
        found = some_routing(decoder)
    assert all(torch.equal(found[each], expected[each]) for each in ("read", "write", "mixing"))


@pytest.mark.parametrize("name", DESIGNS)
def test_one_compiled_layer_serves_all_of_every_depth(name):
    assert layers_compiled(moved(name), moved(name, layers=2)) == 1
