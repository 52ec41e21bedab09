import pytest
import torch
from test_attnres_full import assert_routing, kept_bytes, walk
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

from perlayer.algorithms.gradient_surgery.surgery import require_one_stream
from perlayer.algorithms.layer_dropout.skipping import require_steady_state
from perlayer.errors import InvalidValue
from perlayer.model.residual import attnres_block
from perlayer.optim.groups import backbone_group

torch.set_num_threads(1)


def in_blocks(size):
    """The embedding, the sum of each block of `size` outputs, and that of what has come since (section 3.2)."""

    def sources_of(embedding, outputs):
        return [embedding, *(sum(outputs[first : first + size]) for first in range(0, len(outputs), size))]

    return sources_of


def build_in_blocks(size, **changes):
    """A tiny decoder in larger blocks than its few layers would have."""
    decoder = move(build("attnres_block", **changes))
    decoder.design.block_size = size
    return decoder


@pytest.mark.parametrize(("layers", "size", "blocks"), [(1, 1, 2), (4, 1, 8), (6, 2, 6), (16, 4, 8), (24, 6, 8)])
def test_block_sizes(layers, size, blocks):
    # ceil(sublayers / 8); 12 make 6 blocks of 2, and 32 make 8 of 4
    decoder = build("attnres_block", layers=layers)
    assert decoder.design.block_size == size
    states = []
    with torch.no_grad():
        decoder(some_tokens(), lambda layer, before, after, run: (states.append(after), (after, after))[1])
    assert len(states[-1]["sources"]) == 1 + blocks


def test_it_starts_as_the_plain_mean_of_the_embedding_and_the_sums_of_blocks():
    # queries of zero make a softmax flat; six layers make blocks of two sublayers, here a layer each
    decoder, outputs = build("attnres_block", layers=6), []
    for block in decoder.model.layers:
        for module in (block.self_attn, block.mlp):
            module.register_forward_hook(lambda module, inputs, output: outputs.append(output))
    taps = decoder(some_tokens())
    embedding = decoder.model.embed_tokens(some_tokens())
    for layer, tap in enumerate(taps):
        torch.testing.assert_close(tap, (embedding + sum(outputs[: 2 * layer])) / (layer + 1))


@pytest.mark.parametrize(("layers", "size"), [(3, 1), (5, 2), (3, 3), (3, 4), (3, 6)])
def test_against_a_plain_reference(layers, size):
    # blocks that end within a layer or with it, and a last one that is not full
    decoder = move(build("attnres_block", layers=5)) if layers == 5 else build_in_blocks(size, layers=layers)
    assert_taps(decoder, lambda written: walk(written, in_blocks(size))[0])


def test_blocks_of_one_sublayer_are_the_full_design():
    torch.testing.assert_close(
        move(build("attnres_block"))(some_tokens()), move(build("attnres_full"))(some_tokens()), rtol=0, atol=1e-12
    )


def test_a_token_sees_no_later_one():
    assert_causal(build_in_blocks(3))


def test_documents_are_apart():
    assert_documents_apart(build_in_blocks(3))


def test_gradients():
    changes = dict(layers=2, hidden_size=4, intermediate_size=4, head_dim=2, sequence_length=4)
    assert_gradients(build_in_blocks(3, **changes), torch.tensor([[2, 1, 3, 4]]))


def test_parameters_and_their_groups():
    # two norms a layer; a query and a scale for each sublayer and for the head: 3 x 2 x 16 + 2 x (6 + 1) x 16
    decoder = build("attnres_block")
    own = {name: decoder.get_parameter(name) for name in own_parameters(decoder)}
    assert sum(p.numel() for p in own.values()) == 3 * 2 * 16 + 2 * (2 * 3 + 1) * 16
    groups = {name: backbone_group(decoder, name) for name in own}
    assert groups == {name: "routing" if "_residual." in name else "adam" for name in own}
    assert list(groups.values()).count("routing") == 2 * (2 * 3 + 1)


def test_a_tap_is_what_the_next_attention_would_read():
    decoder = build_in_blocks(3)
    read = []
    for block in decoder.model.layers:
        block.input_layernorm.register_forward_hook(lambda module, inputs, output: read.append(inputs[0]))
    torch.testing.assert_close(decoder(some_tokens())[:-1], read, rtol=0, atol=0)


def test_routing():
    assert_routing(build_in_blocks(3), in_blocks(3))


def test_algorithms_that_need_one_steady_stream_refuse_it():
    with pytest.raises(InvalidValue, match="gradient_surgery: expected a residual design with one stream"):
        require_one_stream(build("attnres_block"))
    with pytest.raises(InvalidValue, match="layer_dropout: expected a residual design whose state keeps its shape"):
        require_steady_state(build("attnres_block"))


def test_what_is_kept_grows_with_blocks():
    # Both keep 48 inputs of norms. The full design keeps 49 sources beside them, this one the embedding and 8 sums; it
    # has fewer weights, too.
    full, block = (kept_bytes(name, 24, readers_only=False) for name in ("attnres_full", "attnres_block"))
    stream = 4 * some_tokens().numel() * 128
    assert full - block > (49 - 9) * stream


def test_running_sums_are_dropped(monkeypatch):
    # Pre-LN keeps 12 inputs of norms; one block for all sublayers keeps beside them the embedding and the sum at its
    # end, and less than two streams of weights, reciprocals and queries.
    monkeypatch.setattr(attnres_block, "BLOCKS", 1)
    own, others = (kept_bytes(name, 6, readers_only=False) for name in ("attnres_block", "pre_ln"))
    stream = 4 * some_tokens().numel() * 128
    assert own - others < 4 * stream


def test_with_products_in_bfloat16_the_stream_stays_float32():
    assert_mixed_precision(build("attnres_block", layers=6))


def test_compiled_layers_give_the_same():
    assert layers_compiled(build_in_blocks(3)) == layers_compiled(build_in_blocks(2, layers=5)) > 0
