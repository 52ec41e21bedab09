import math

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

from perlayer.algorithms.gradient_surgery.surgery import require_one_stream
from perlayer.algorithms.layer_dropout.skipping import require_steady_state
from perlayer.errors import InvalidValue
from perlayer.model.residual.protocol import Sublayer
from perlayer.optim.groups import backbone_group

torch.set_num_threads(1)


def joint_attention(written, layer, x, depth):
    """One softmax over the rotated keys of the sequence and the unrotated ones of the depth (recipe section 6b).

    `depth` is a list of (keys, values), each (heads, length, head_dim).
    """
    config = written.config
    query, key, value = (written.heads(layer, x, kind) for kind in "qkv")
    mixed = []
    for t in range(len(written.tokens)):
        seen = range(written.first_visible(t), t + 1)
        for head in range(config.attention_heads):
            shared = head // (config.attention_heads // config.key_value_heads)
            keys = [written.rotated(key[shared, s], s) for s in seen] + [k[shared, t] for k, _ in depth]
            values = [value[shared, s] for s in seen] + [v[shared, t] for _, v in depth]
            scores = torch.stack(keys) @ written.rotated(query[head, t], t) / math.sqrt(config.head_dim)
            mixed.append(torch.softmax(scores, 0) @ torch.stack(values))
    mixed = torch.cat(mixed).view(len(written.tokens), -1)
    return mixed @ written.weight(layer, "self_attn.o_proj.weight").T


def reference(written):
    """Pre-LN, each layer leaving two entries of keys and values to the layers after it."""
    hidden, depth = written.embedding(), []
    taps = [hidden]
    for layer in range(1, written.config.layers + 1):
        x = written.norm(hidden, written.weight(layer, "input_layernorm.weight"))
        hidden = hidden + joint_attention(written, layer, x, depth)
        depth.append((written.heads(layer, x, "k"), written.heads(layer, x, "v")))
        x = written.norm(hidden, written.weight(layer, "post_attention_layernorm.weight"))
        if layer < written.config.layers:
            keys, values = (
                torch.stack((x @ written.weight(layer, f"depth_{kind}_proj.weight").T).split(8, -1)) for kind in "kv"
            )
            depth.append((written.norm(keys, written.weight(layer, "self_attn.k_norm.weight")), values))
        hidden = hidden + written.mlp(layer, x)
        taps.append(hidden)
    return taps


@pytest.mark.parametrize("heads", [(2, 1), (2, 2)], ids=["grouped", "not grouped"])
@pytest.mark.parametrize("apart", [True, False], ids=["documents apart", "together"])
def test_against_one_softmax_written_out(heads, apart):
    decoder = move(build("moda", attention_heads=heads[0], key_value_heads=heads[1], block_cross_document=apart))
    assert_taps(decoder, reference)


def test_the_first_layer_is_that_of_pre_ln_and_the_second_is_not():
    decoder, pre_ln = build("moda"), build("pre_ln")
    # each parameter's draw depends on its name, so what both have is the same
    taps, others = decoder(some_tokens()), pre_ln(some_tokens())
    torch.testing.assert_close(taps[:2], others[:2], rtol=0, atol=1e-12)
    assert (taps[2] - others[2]).abs().max() > 1e-3


@pytest.mark.parametrize("apart", [True, False])
def test_gradients(apart):
    changes = dict(layers=3, hidden_size=4, intermediate_size=4, attention_heads=2, head_dim=2, sequence_length=4)
    decoder = move(build("moda", **changes, block_cross_document=apart))
    backbone = [f"model.layers.{n}.self_attn.{name}.weight" for n in (0, 1) for name in ("k_norm", "k_proj", "v_proj")]
    names = own_parameters(decoder) + backbone + ["model.layers.2.self_attn.q_proj.weight"]
    assert_gradients(decoder, torch.tensor([[2, 1, 3, 4], [5, 6, 7, 8]]), names)


def test_parameters_and_their_groups():
    # 2 norms a layer, and below the last layer two matrices from hidden to key_value_heads x head_dim
    decoder = build("moda")
    own = {name: decoder.get_parameter(name) for name in own_parameters(decoder)}
    assert sum(p.numel() for p in own.values()) == 3 * 2 * 16 + (3 - 1) * 2 * 16 * 8
    groups = {name: backbone_group(decoder, name) for name in own}
    assert {name for name, group in groups.items() if group == "muonh"} == {
        f"model.layers.{n}.depth_{kind}_proj.weight" for n in (0, 1) for kind in "kv"
    }
    assert {group for name, group in groups.items() if "norm" in name} == {"adam"}


def test_the_projections_start_as_other_linear_layers_do():
    # a normal truncated at 3 deviations over sqrt(fan-in), 0.98658 / sqrt(64) (recipe section 1)
    decoder = build("moda", hidden_size=64, attention_heads=8, key_value_heads=8)
    for block in decoder.model.layers[:2]:
        for projection in (block.depth_k_proj, block.depth_v_proj):
            assert projection.weight.std().item() == pytest.approx(0.98658 / 8, rel=0.05)


def test_every_parameter_takes_a_gradient():
    decoder = build("moda")
    decoder.logits(decoder(some_tokens())[-1]).logsumexp(-1).sum().backward()
    assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in decoder.parameters())


def test_detaching_ends_every_gradient():
    decoder = build("moda")
    found = []

    def fork(layer, before, after, run):
        if layer == 3:
            found.append(decoder.design.tap(run(decoder.design.detach(before)), layer))
        return after, after

    decoder(some_tokens(), fork)
    found[0].square().sum().backward()
    assert {name.split(".")[2] for name, p in decoder.named_parameters() if p.grad is not None} == {"2"}  # from 0


def test_a_state_within_a_layer_can_be_detached():
    decoder = build("moda")
    block = decoder.model.layers[0]
    embedding = torch.zeros(1, 2, 16, dtype=torch.float64, requires_grad=True)
    state = decoder.design.write(decoder.design.start(embedding), Sublayer(0, 1, "attention", block), embedding + 1)
    detached = decoder.design.detach(state)
    assert not decoder.design.read(detached, Sublayer(1, 1, "mlp", block)).requires_grad
    torch.testing.assert_close(detached, state, rtol=0, atol=0)


def test_algorithms_that_need_one_steady_stream_refuse_it():
    with pytest.raises(InvalidValue, match="gradient_surgery: expected a residual design with one stream"):
        require_one_stream(build("moda"))
    with pytest.raises(InvalidValue, match="layer_dropout: expected a residual design whose state keeps its shape"):
        require_steady_state(build("moda"))


def kept_bytes(layers):
    """What autograd keeps of a forward pass, by storages, without parameters."""
    decoder = build("moda", layers=layers).float()
    parameters = {p.untyped_storage().data_ptr() for p in decoder.parameters()}
    kept = {}

    def pack(tensor):
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in parameters:
            kept[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        taps = decoder(some_tokens())
    assert taps[-1].requires_grad
    return sum(kept.values())


def test_each_further_layer_keeps_as_much_as_the_one_before():
    assert kept_bytes(9) - kept_bytes(8) == kept_bytes(5) - kept_bytes(4)


def test_gradients_with_products_in_bfloat16_are_near():
    decoder = build("moda").float()
    found = []
    for enabled in (False, True):
        decoder.zero_grad()
        with torch.autocast("cpu", torch.bfloat16, enabled=enabled):
            taps = decoder(some_tokens())
        torch.stack(taps).square().mean().backward()
        found.append({name: p.grad for name, p in decoder.named_parameters() if p.grad is not None})
    wide, narrow = found
    for name, gradient in wide.items():
        assert (narrow[name] - gradient).norm() < 0.1 * gradient.norm(), name


def test_compiled_layers_give_the_same():
    assert layers_compiled(build("moda")) > 0


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
@pytest.mark.parametrize("apart", [True, False])
def test_a_gpu_gives_the_same(apart):
    decoder = move(build("moda", block_cross_document=apart, hidden_size=32, head_dim=16)).float()
    tokens = some_tokens()
    gradients = []
    for device in ("cpu", "cuda"):
        decoder.to(device).zero_grad()
        taps = decoder(tokens.to(device))
        torch.stack(taps).square().mean().backward()
        gradients.append([taps[-1].detach().cpu(), *(p.grad.cpu() for p in decoder.parameters() if p.grad is not None)])
    torch.testing.assert_close(*gradients, rtol=1e-3, atol=1e-4)
