import copy

import pytest
import torch
from tiny import (
    WrittenOut,
    assert_gradients,
    assert_taps,
    build,
    layers_compiled,
    move,
    own_parameters,
    some_tokens,
)

from perlayer.algorithms.gradient_reach.reach import own_layer
from perlayer.algorithms.gradient_surgery.surgery import require_one_stream
from perlayer.algorithms.layer_dropout.skipping import require_steady_state
from perlayer.depth.routing import watched
from perlayer.errors import InvalidValue
from perlayer.model.residual.attnres_full import _Mix, reciprocal_rms
from perlayer.optim.groups import backbone_group

torch.set_num_threads(1)


def source_weights(written, sources, pair):
    """softmax over sources of query . RMSNorm(source), (sources, length) (recipe section 6b, row 8)."""
    query, scale = written.weights[f"{pair}.query"], written.weights[f"{pair}.norm.weight"]
    return torch.softmax(torch.stack([written.norm(source, scale) @ query for source in sources]), 0)


def mixed(written, sources, pair):
    return torch.einsum("sl,slh->lh", source_weights(written, sources, pair), torch.stack(sources))


def walk(written, sources_of):
    """Taps from layer 0, and the sources that each sublayer and the head find.

    `sources_of` gives them from the embedding and the list of outputs so far.
    """
    outputs, taps, found, layers = [], [], [], written.config.layers
    for layer in range(1, layers + 1):
        for kind, norm, sublayer in (
            ("attention", "input_layernorm", written.attention),
            ("mlp", "post_attention_layernorm", written.mlp),
        ):
            found.append(sources_of(written.embedding(), outputs))
            mix = mixed(written, found[-1], f"model.layers.{layer - 1}.{kind}_residual")
            if kind == "attention":
                taps.append(mix)
            outputs.append(sublayer(layer, written.norm(mix, written.weight(layer, f"{norm}.weight"))))
    found.append(sources_of(written.embedding(), outputs))
    return [*taps, mixed(written, found[-1], "model.final_residual")], found


def reference(written):
    return walk(written, lambda embedding, outputs: [embedding, *outputs])[0]


def test_it_starts_as_the_plain_mean_of_the_embedding_and_all_outputs():
    # queries of zero make a softmax flat; the first tap is the embedding alone
    decoder, outputs = build("attnres_full"), []
    for block in decoder.model.layers:
        for module in (block.self_attn, block.mlp):
            module.register_forward_hook(lambda module, inputs, output: outputs.append(output))
    taps = decoder(some_tokens())
    embedding = decoder.model.embed_tokens(some_tokens())
    for layer, tap in enumerate(taps):
        torch.testing.assert_close(tap, torch.stack([embedding, *outputs[: 2 * layer]]).mean(0))


def test_against_a_plain_reference():
    assert_taps(move(build("attnres_full")), reference)


def test_gradients():
    changes = dict(layers=2, hidden_size=4, intermediate_size=4, head_dim=2, sequence_length=4)
    assert_gradients(move(build("attnres_full", **changes)), torch.tensor([[2, 1, 3, 4]]))


@pytest.mark.parametrize("recovers", [False, True])
@pytest.mark.parametrize("count", [2, 4])
def test_gradients_of_a_mix(recovers, count):
    # with a last source that is kept, and with one that is recovered from the mean
    generator = torch.Generator().manual_seed(1)
    direction, *sources = (
        torch.randn(shape, generator=generator, dtype=torch.float64, requires_grad=True)
        for shape in [(5,)] + count * [(2, 3, 5)]
    )

    def mix(direction, *sources):
        return _Mix.apply(direction, recovers, *sources, *(reciprocal_rms(source, 1e-2) for source in sources))

    assert torch.autograd.gradcheck(mix, (direction, *sources))


@pytest.mark.parametrize("sharpness", [0.0, 1.0, 10.0, 100.0])
def test_a_recovered_source_gives_the_gradients_of_a_kept_one(sharpness):
    # up to weights that float32 rounds to zero, where nothing can be recovered
    generator = torch.Generator().manual_seed(2)
    values = [torch.randn(shape, generator=generator) for shape in [(32,)] + 5 * [(4, 64, 32)]]
    target = torch.randn(4, 64, 32, generator=generator)
    values[0] *= sharpness / 32**0.5
    gradients = []
    for recovers, dtype in ((True, torch.float32), (False, torch.float64)):
        direction, *sources = (value.to(dtype, copy=True).requires_grad_() for value in values)
        reciprocals = [reciprocal_rms(source, 1e-5) for source in sources]
        _Mix.apply(direction, recovers, *sources, *reciprocals).mul(target).sum().backward()
        gradients.append([direction.grad.double(), *(source.grad.double() for source in sources)])
    for gradient, expected in zip(*gradients, strict=True):
        assert gradient.isfinite().all()
        torch.testing.assert_close(gradient, expected, rtol=1e-3, atol=1e-5 * expected.abs().max().item())


def test_parameters_and_their_groups():
    # two norms a layer; a query and a scale for each sublayer and for the head: 3 x 2 x 16 + 2 x (6 + 1) x 16
    decoder = build("attnres_full")
    own = {name: decoder.get_parameter(name) for name in own_parameters(decoder)}
    assert sum(p.numel() for p in own.values()) == 3 * 2 * 16 + 2 * (2 * 3 + 1) * 16
    routing = {name for name in own if backbone_group(decoder, name) == "routing"}
    readers = [f"model.layers.{n}.{kind}_residual" for n in range(3) for kind in ("attention", "mlp")]
    readers.append("model.final_residual")
    assert routing == {f"{reader}.{part}" for reader in readers for part in ("query", "norm.weight")}
    assert {backbone_group(decoder, name) for name in own.keys() - routing} == {"adam"}
    assert all(own[f"{reader}.query"].eq(0).all() and own[f"{reader}.norm.weight"].eq(1).all() for reader in readers)


def test_every_parameter_takes_a_gradient():
    decoder = move(build("attnres_full"))
    decoder.logits(decoder(some_tokens())[-1]).logsumexp(-1).sum().backward()
    nothing_to_choose = {f"model.layers.0.attention_residual.{part}" for part in ("query", "norm.weight")}
    for name, parameter in decoder.named_parameters():
        assert parameter.grad is not None
        assert (parameter.grad.abs().sum() == 0) == (name in nothing_to_choose), name


def test_a_tap_is_what_the_next_attention_or_the_head_would_read():
    decoder = move(build("attnres_full"))
    read = []
    for block in decoder.model.layers:
        block.input_layernorm.register_forward_hook(lambda module, inputs, output: read.append(inputs[0]))
    taps = decoder(some_tokens())
    torch.testing.assert_close(taps[:-1], read, rtol=0, atol=0)
    with torch.no_grad():
        decoder.model.final_residual.query.add_(1)  # which the last tap alone depends on
    changed = decoder(some_tokens())
    assert all(map(torch.equal, taps[:-1], changed[:-1])) and not torch.allclose(taps[-1], changed[-1])


@pytest.mark.parametrize("name", ["attnres_full", "attnres_block"])
def test_a_copy_stands_for_itself(name):
    decoder = move(build(name))
    twin = copy.deepcopy(decoder)
    taps = decoder(some_tokens())
    move(decoder)
    torch.testing.assert_close(twin(some_tokens()), taps, rtol=0, atol=0)
    twin.load_state_dict(decoder.state_dict())
    torch.testing.assert_close(twin(some_tokens()), decoder(some_tokens()), rtol=0, atol=0)
    torch.stack(twin(some_tokens())).square().sum().backward()
    assert all(p.grad is None for p in decoder.parameters())
    assert all(p.grad is not None for name, p in twin.named_parameters() if "_residual" in name)


@pytest.mark.parametrize("name", ["attnres_full", "attnres_block"])
def test_own_layer_reach_trains_one_layer_and_not_the_query_of_the_next(name):
    decoder = move(build(name))
    plain, reached = decoder(some_tokens()), decoder(some_tokens(), own_layer(decoder.design, 3))
    torch.testing.assert_close(reached, plain, rtol=0, atol=1e-12)
    reached[2].square().sum().backward()
    trained = {name for name, p in decoder.named_parameters() if p.grad is not None}
    assert trained == {name for name, _ in decoder.named_parameters() if name.startswith("model.layers.1.")}
    decoder.zero_grad(set_to_none=True)
    plain[2].square().sum().backward()  # while the loss of a whole model does train it
    assert decoder.model.layers[2].attention_residual.query.grad.abs().sum() > 0


def test_algorithms_that_need_one_steady_stream_refuse_it():
    with pytest.raises(InvalidValue, match="gradient_surgery: expected a residual design with one stream"):
        require_one_stream(build("attnres_full"))
    with pytest.raises(InvalidValue, match="layer_dropout: expected a residual design whose state keeps its shape"):
        require_steady_state(build("attnres_full"))


def routing(decoder, tokens):
    """The source weights that each sublayer and the head say they use, in their order."""
    found = []
    with (
        torch.no_grad(),
        watched(decoder, lambda design, state, sublayer: found.append(design.routing(state, sublayer))) as read,
    ):
        read(tokens)
    return [weights["sources"] for weights in found]


def assert_routing(decoder, sources_of):
    """`routing` gives the weights of a reference, (batch, length, sources)."""
    tokens, layers = some_tokens(), decoder.config.layers
    pairs = [f"model.layers.{n}.{kind}_residual" for n in range(layers) for kind in ("attention", "mlp")]
    for row, sequence in enumerate(tokens):
        written = WrittenOut(decoder, sequence)
        _, sources = walk(written, sources_of)
        for weights, found, pair in zip(
            routing(decoder, tokens), sources, [*pairs, "model.final_residual"], strict=True
        ):
            torch.testing.assert_close(weights[row], source_weights(written, found, pair).T)


def test_routing():
    assert_routing(move(build("attnres_full")), lambda embedding, outputs: [embedding, *outputs])


def kept_bytes(name, layers, readers_only=True):
    """What autograd keeps of a forward pass in float32, by storages: of the mixes alone, or of all but parameters."""
    decoder = build(name, layers=layers, hidden_size=128, head_dim=64).float()
    parameters = {p.untyped_storage().data_ptr() for p in decoder.parameters()}
    kept, within = {}, []

    def pack(tensor):
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in parameters and (within or not readers_only):
            kept[storage.data_ptr()] = storage.nbytes()
        return tensor

    def watched_mix(*arguments, **options):
        within.append(True)
        try:
            return type(decoder.design)._mix(decoder.design, *arguments, **options)
        finally:
            within.pop()

    if readers_only:
        decoder.design._mix = watched_mix
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        taps = decoder(some_tokens())
    assert taps[-1].requires_grad
    return sum(kept.values())


def test_each_source_is_kept_once_for_all_its_readers():
    # n + 1 sources of 128 numbers a token for n sublayers; each mix has beside them one number a source and token, and
    # one vector; each source has its reciprocal
    tokens, hidden, layers = some_tokens().numel(), 128, 6
    sources, readers = 2 * layers + 1, 2 * layers + 1
    products = readers * (readers + 1) // 2
    expected = 4 * (tokens * (sources * hidden + sources + products) + readers * hidden)
    assert kept_bytes("attnres_full", layers) == expected


def test_gradients_with_products_in_bfloat16_are_near():
    decoder = move(build("attnres_full")).float()
    found = []
    for enabled in (False, True):
        decoder.zero_grad()
        with torch.autocast("cpu", torch.bfloat16, enabled=enabled):
            taps = decoder(some_tokens())
        torch.stack(taps).square().mean().backward()
        found.append({name: p.grad for name, p in decoder.named_parameters() if p.grad is not None})
    wide, narrow = (torch.cat([gradients[name].flatten() for name in found[0]]) for gradients in found)
    assert (narrow - wide).norm() < 0.05 * wide.norm()


def test_weights_are_float32_with_products_in_bfloat16():
    decoder = move(build("attnres_full")).float()
    with torch.autocast("cpu", torch.bfloat16):
        weights = routing(decoder, some_tokens())[-1]
    assert weights.dtype == torch.float32
    torch.testing.assert_close(weights.sum(-1), torch.ones(2, 9))


def test_layers_of_all_depths_are_compiled_once():
    torch._dynamo.reset()
    few, more = (layers_compiled(move(build("attnres_full", layers=layers))) for layers in (2, 4))
    assert few == more > 0
