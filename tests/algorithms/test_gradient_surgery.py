"""Per-token gradient surgery: by hand, against explicit vector-Jacobian products, and what it leaves alone."""

from types import SimpleNamespace

import pytest
import torch
from composer.core import Event
from small_decoder import (
    LAYERS,
    Total,
    TwoStreams,
    assert_gradients,
    build,
    layer_written_out,
    loss_written_out,
    some_tokens,
)

from perlayer.algorithms.gradient_surgery.algorithm import GradientSurgery
from perlayer.algorithms.gradient_surgery.settings import Settings
from perlayer.algorithms.gradient_surgery.surgery import surgery, without_conflict
from perlayer.algorithms.per_layer_loss.loss import layer_loss
from perlayer.errors import UserError
from perlayer.model.residual.sandwich import Design as Sandwich
from perlayer.runs import parse_run

KINDS = ("separate", "shared", "shared_stop_gradient")


def random_pair(dtype=torch.float32, shape=(5, 40, 16)):
    generator = torch.Generator().manual_seed(2)
    return [torch.randn(shape, generator=generator, dtype=torch.float64).to(dtype) for _ in range(2)]


def test_gradients_made_by_hand():
    # by hand: (-1, -1).(1, 3) = -4 and |(1, 3)|^2 = 10, so (-1, -1) + 0.4 (1, 3) = (-0.6, 0.2), orthogonal to (1, 3)
    cases = [
        ((1.0, -2.0), (0.0, 1.0), (1.0, 0.0)),
        ((-1.0, -1.0), (1.0, 3.0), (-0.6, 0.2)),
        ((-3.0, 6.0), (1.0, -2.0), (0.0, 0.0)),  # opposite: nothing is left
        ((0.7, 0.1), (1.0, 3.0), (0.7, 0.1)),  # agreeing
        ((3.0, -1.0), (1.0, 3.0), (3.0, -1.0)),  # orthogonal
        ((-0.7, 0.1), (0.0, 0.0), (-0.7, 0.1)),  # nothing from above
        ((0.0, 0.0), (1.0, 3.0), (0.0, 0.0)),
    ]
    readout, above, expected = (torch.tensor(column) for column in zip(*cases))
    found = without_conflict(readout, above)
    torch.testing.assert_close(found, expected)
    assert torch.equal(found[3:], expected[3:])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_nothing_opposes_afterwards_and_agreeing_tokens_keep_their_bits(dtype):
    readout, above = random_pair(dtype)
    above[0, 0] = 0
    found = without_conflict(readout, above)
    assert found.dtype == dtype
    conflict = (readout.double() * above.double()).sum(-1) < 0
    assert 20 < conflict.sum() < 180 and not conflict[0, 0]
    assert torch.equal(found[~conflict], readout[~conflict])
    product = (found.double() * above.double()).sum(-1)
    lengths = readout.double().norm(dim=-1) * above.double().norm(dim=-1)
    assert (product[conflict].abs() <= 4 * torch.finfo(dtype).eps * lengths[conflict]).all()
    assert (product >= -4 * torch.finfo(dtype).eps * lengths).all()
    # what is taken away is parallel to the gradient from above: along everything else nothing changes
    taken = (readout - found).double()
    along = (taken * above.double()).sum(-1, keepdim=True) / above.double().square().sum(-1, keepdim=True)
    torch.testing.assert_close(
        taken[conflict], (along * above.double())[conflict], rtol=0, atol=8 * torch.finfo(dtype).eps
    )


def test_narrow_gradients_are_weighed_in_float32():
    # the sum of 2^9 + 512 ones + -1030 ones, in bfloat16 steps of 4 at that size, would lose the ones
    readout = torch.cat((torch.tensor([512.0]), torch.ones(512), -torch.ones(1030)))[None].bfloat16()
    above = torch.ones_like(readout)
    expected = readout.float() + 6.0 / 1543.0  # 512 + 512 - 1030 = -6, over 1543 entries
    assert torch.equal(without_conflict(readout, above), expected.bfloat16())
    wide_readout, wide_above = random_pair()
    narrow = without_conflict(wide_readout.bfloat16(), wide_above.bfloat16())
    wide = without_conflict(wide_readout.bfloat16().float(), wide_above.bfloat16().float())
    assert torch.equal(narrow, wide.bfloat16())


def test_a_share_of_both_comes_out_as_that_share():
    readout, above = random_pair()
    whole = without_conflict(readout, above)
    assert torch.equal(without_conflict(readout / 8, above / 8), whole / 8)
    torch.testing.assert_close(without_conflict(readout / 3, above / 3), whole / 3)


def test_where_two_gradients_meet_agreeing_tokens_get_the_bits_of_plain_autograd():
    readout, above = random_pair()
    state, plain = (torch.zeros_like(readout).requires_grad_() for _ in range(2))
    read, passed_on = surgery(layers=3)(1, None, state, None)
    torch.autograd.backward([read, passed_on], [readout, above])
    torch.autograd.backward([plain.view_as(plain), plain.view_as(plain)], [readout, above])
    conflict = (readout * above).sum(-1) < 0
    assert torch.equal(state.grad[~conflict], plain.grad[~conflict])
    assert not torch.isclose(state.grad[conflict], plain.grad[conflict]).all(-1).any()


def test_the_embedding_and_the_last_layer_stay_as_they_are():
    state, fork = torch.zeros(2, 3, 4), surgery(layers=3)
    for layer in (0, 3):
        read, passed_on = fork(layer, None, state, None)
        assert read is state and passed_on is state


def with_surgery(model):
    GradientSurgery().apply(Event.INIT, SimpleNamespace(run_name="test", model=model), None)
    return model


def total_of(model, kind, tokens, detached=(), share=1.0):
    """The sum of losses that training back-propagates; `detached` layers are read without gradient."""
    taps = model({"tokens": tokens})
    total = model.final_loss(taps, tokens)
    for layer in range(1, LAYERS):
        tap = taps[layer].detach() if layer in detached else taps[layer]
        total = total + layer_loss(model.decoder, model.readouts, kind, layer, tap, tokens[:, 1:])
    return total * share


def reference(residual, kind, tokens):
    """From the last layer down, one vector-Jacobian product a layer, and the projection token by token.

    Returns the gradient of every parameter and how many tokens had gradients that opposed each other, by layer.
    """
    model = build(residual)
    decoder, total, inputs, targets = model.decoder, Total(model), tokens[:, :-1], tokens[:, 1:]
    hiddens = [decoder.model.embed_tokens(inputs)]
    for layer in range(1, LAYERS + 1):
        hiddens.append(layer_written_out(decoder, layer, hiddens[-1], inputs))
    leaves = [hidden.detach().requires_grad_() for hidden in hiddens]

    def readout_gradient(layer):
        loss, names = loss_written_out(model, kind, layer, leaves[layer], targets)
        total.add(loss, names)
        return torch.autograd.grad(loss, leaves[layer])[0]

    gradient, opposed = readout_gradient(LAYERS), {}
    for layer in range(LAYERS, 0, -1):
        output = layer_written_out(decoder, layer, leaves[layer - 1], inputs)
        total.add(output, total.of_layer(layer), gradient)
        (above,) = torch.autograd.grad(output, leaves[layer - 1], gradient)
        if layer == 1:
            total.add(hiddens[0], ["decoder.model.embed_tokens.weight"], above)
            return total.gradients, opposed
        readout = readout_gradient(layer - 1)
        opposed[layer - 1] = 0
        for row in range(len(tokens)):
            for place in range(tokens.shape[1] - 1):
                g_r, g_a = readout[row, place], above[row, place]
                if g_r @ g_a < 0:
                    opposed[layer - 1] += 1
                    readout[row, place] = g_r - (g_r @ g_a) / (g_a @ g_a) * g_a
        gradient = above + readout


@pytest.mark.parametrize("residual", ["sandwich", "pre_ln"])
@pytest.mark.parametrize("kind", KINDS)
def test_the_gradient_of_every_parameter_equals_explicit_products(residual, kind):
    model, tokens = with_surgery(build(residual)), some_tokens()
    expected, opposed = reference(residual, kind, tokens)
    # some of 33 tokens, after two layers at least: else it would prove little
    assert sum(0 < count < 33 for count in opposed.values()) >= 2, opposed
    total_of(model, kind, tokens).backward()
    assert_gradients(model, expected)
    usual = build(residual)
    total_of(usual, kind, tokens).backward()
    name = "decoder.model.layers.0.mlp.up_proj.weight"
    assert not torch.allclose(usual.get_parameter(name).grad, expected[name], rtol=1e-3)


def test_microbatches_sum_to_the_gradient_of_the_batch():
    tokens, whole, parts = some_tokens(), with_surgery(build()), with_surgery(build())
    total_of(whole, "separate", tokens).backward()
    for row in tokens:
        total_of(parts, "separate", row[None], share=1 / 3).backward()
    assert_gradients(parts, {name: parameter.grad for name, parameter in whole.named_parameters()})


def test_a_layer_that_is_read_without_gradient_has_no_part_in_it():
    tokens, found, plain = some_tokens(), with_surgery(build()), build()
    for model in (found, plain):
        total_of(model, "separate", tokens, detached=(1, 2, 3)).backward()
    for name, parameter in found.named_parameters():
        assert torch.equal(parameter.grad, plain.get_parameter(name).grad), name


def test_taps_hold_the_same_numbers():
    tokens = some_tokens()
    for tap, expected in zip(with_surgery(build())({"tokens": tokens}), build()({"tokens": tokens}), strict=True):
        assert torch.equal(tap, expected)


class Stacked(Sandwich):
    def start(self, embedding):
        return embedding[:, :, None].expand(-1, -1, 4, -1)


@pytest.mark.parametrize("design", [TwoStreams, Stacked])
def test_several_streams_are_refused_at_start(design):
    model = build()
    model.decoder.design = design(model.decoder.config)
    with pytest.raises(UserError) as error:
        with_surgery(model)
    assert str(error.value) == (
        "params.yaml: runs.test.gradient_surgery: expected a residual design with one stream between layers, "
        "found 'sandwich'"
    )


def run_of(**keys):
    return parse_run({"runs": {"mine": {"residual": "sandwich", "readouts": "separate", "seed": 0, **keys}}}, "mine")


def test_a_run_names_it():
    assert run_of(gradient_surgery="per_token").algorithms["gradient_surgery"] == Settings("per_token")


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        (
            {"gradient_surgery": True},
            "params.yaml: runs.mine.gradient_surgery.kind: expected a text, found True",
        ),
        (
            {"gradient_surgery": "per_layer"},
            "params.yaml: runs.mine.gradient_surgery.kind: expected per_token, found 'per_layer'",
        ),
        (
            {"gradient_surgery": "per_token", "readouts": "none"},
            "params.yaml: runs.mine.readouts: expected one of separate, shared, shared_stop_gradient with "
            "gradient_surgery, found 'none'",
        ),
    ],
)
def test_what_cannot_be_is_said_when_params_are_checked(keys, message):
    with pytest.raises(UserError) as error:
        run_of(**keys)
    assert str(error.value) == message
