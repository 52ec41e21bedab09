"""Erasure and integrated gradients of single tokens, held against hidden states that are edited by hand."""

from functools import partial

import by_hand
import numpy as np
import pytest
import torch
from by_hand import Hooked, beside_itself, tokens_with_ends

from perlayer.data.tokenizer import load_tokenizer
from perlayer.depth.erasure import erase_tokens, mean_residuals
from perlayer.depth.integrated_gradients import (
    ATTRIBUTIONS,
    answer_probability,
    attribute_answers,
    integrated_gradients,
)
from perlayer.depth.interventions import run, running_residual
from perlayer.depth.settings import DepthSettings
from perlayer.depth.texts import WINDOW_LENGTH, AnsweredText, windows
from perlayer.depth.token_effects import measure_token_effects

LENGTH, LAYERS, ANSWER, STEPS = 14, 3, 4, 5
SETTINGS = DepthSettings(3, 1, tokens_at_once=3 * LENGTH, texts=2, gradient_steps=STEPS)
PREDICTING = range(LENGTH - ANSWER - 1, LENGTH - 1)
decoder_of = partial(by_hand.decoder_of, layers=LAYERS, sequence_length=LENGTH)


def some_tokens():
    """(3, LENGTH); documents end within two of the sequences, one of them within the answer."""
    return tokens_with_ends(LENGTH, [(0, 5), (0, 10), (2, 2)])


@pytest.fixture(scope="module", params=["pre_ln", "sandwich", "Llama", "Qwen3"])
def model(request):
    return beside_itself(request.param, LAYERS, some_tokens())


def output_with(one, depth, residual):
    """Next-token distributions when the residual after a layer is another."""
    if depth == LAYERS:
        return one.distribution(residual)
    return one.run(read=lambda layer, h: residual if layer == depth + 1 else h)[2]


def erasures(decoder):
    means = mean_residuals(decoder, [some_tokens()])
    return erase_tokens(decoder, windows(some_tokens(), 2), means, 3 * LENGTH)


def test_erasure(model):
    decoder, by_hand, close = model
    means = [torch.cat([one.run()[0][depth] for one in by_hand]).mean(0) for depth in range(LAYERS + 1)]
    expected = {}
    for number, one in enumerate(by_hand[:2], 1):
        residuals, _, usual = one.run()
        for depth, residual in enumerate(residuals):
            for position in range(LENGTH):
                reached = [at for at in PREDICTING if one.sees[at, position]]
                if reached:
                    erased = residual.clone()
                    erased[position] = means[depth]
                    moved = (output_with(one, depth, erased) - usual)[reached]
                    value = max(torch.sqrt((each * each).sum()).item() for each in moved)
                    expected[f"window {number}", position, depth] = value
    # a published model sees all of a text, ours a document
    seen = range(0 if isinstance(by_hand[0], Hooked) else 6, LENGTH - 1)
    assert {position for text, position, _ in expected if text == "window 1"} == set(seen)
    found = erasures(decoder)
    assert found.keys() == expected.keys()
    assert found == pytest.approx(expected, rel=close, abs=close / 100)


@pytest.mark.parametrize("name", ["hyper_connections", "mhc", "deepnorm", "moda"])
def test_every_stream_is_erased_by_its_own_mean(name):
    decoder, tokens = decoder_of(name), some_tokens()

    def with_state(which, change):
        """The final tap when what runs in the state after a layer is changed by the decoder's own forward."""

        def fork(layer, before, after, run):
            if layer == which:
                after = (change(after[0]), *after[1:]) if isinstance(after, tuple) else change(after)
            return after, after

        return decoder(tokens, fork)[-1]

    found = erasures(decoder)
    usual = torch.softmax(decoder.logits(decoder(tokens)[-1]), -1)
    for depth, position in ((0, 6), (1, 9), (2, 11), (3, 12)):

        def changed(residual, position=position):
            assert running_residual(residual) is residual
            other = residual.clone()
            other[:, position] = residual.flatten(0, 1).mean(0)
            return other

        output = torch.softmax(decoder.logits(with_state(depth, changed)), -1)
        moved = (output - usual)[0, list(PREDICTING)].norm(dim=-1).max().item()
        assert found["window 1", position, depth] == pytest.approx(moved, rel=1e-8, abs=1e-10)


def test_a_design_that_attends_over_depth_has_no_residual_to_erase_or_to_attribute_to():
    decoder = decoder_of("attnres_full")
    assert erasures(decoder) == {}
    found = attribute_answers(decoder, windows(some_tokens(), 2), STEPS, 3 * LENGTH)
    assert {name for each in found.values() for name in each} == {"attention_attribution", "mlp_attribution"}


def attributed(one, decoder, depth, part, steps):
    """Attributions by the definition, from gradients through the model that is edited by hand, and the target's change.

    `part` is residual, or a sublayer of a model whose sublayers add what they give.
    """
    residuals, _, usual = one.run()
    given = {}

    def see(layer, kind, added):
        given[layer, kind] = added
        return added

    one.run(replaced=see)
    value = residuals[depth] if part == "residual" else given[depth, part]
    start = value.mean(0).expand_as(value)
    answer = one.tokens[-ANSWER:]

    def target(x):
        if part == "residual":
            output = output_with(one, depth, x)
        else:
            output = one.run(replaced=lambda layer, kind, added: x if (layer, kind) == (depth, part) else added)[2]
        return sum(output[at, token] for at, token in zip(PREDICTING, answer.tolist()))

    total = torch.zeros_like(value)
    for step in range(steps):
        point = (start + step / steps * (value - start)).detach().requires_grad_()
        total += torch.autograd.grad(target(point), point)[0]
    change = sum(usual[at, token] for at, token in zip(PREDICTING, answer.tolist())) - target(start)
    return (total / steps * (value - start)).sum(-1).tolist(), change.item()


def test_integrated_gradients(model):
    decoder, by_hand, close = model
    # a sandwich norms what a sublayer gives before it adds it
    parts = ("residual",) if decoder.config.residual == "sandwich" else ("residual", "attention", "mlp")
    expected = {}
    for number, one in enumerate(by_hand[:2], 1):
        for layer in range(1, LAYERS + 1):
            for part in parts:
                attributions, change = attributed(one, decoder, layer, part, STEPS)
                for position, value in enumerate(attributions):
                    expected[f"window {number}", position, layer, ATTRIBUTIONS[part]] = value
                assert target_change(decoder, one.tokens, ANSWER, part, layer, STEPS)[1] == pytest.approx(
                    change, rel=close, abs=close / 100
                )
    found = attribute_answers(decoder, windows(some_tokens(), 2), STEPS, 3 * LENGTH)
    found = {(*place, name): value for place, each in found.items() for name, value in each.items()}
    if decoder.config.residual == "sandwich":
        found = {key: value for key, value in found.items() if key[-1] == "attribution"}
    assert found.keys() == expected.keys()
    assert found == pytest.approx(expected, rel=close, abs=close / 100)


def target_change(decoder, tokens, answer, part, layer, steps):
    """The sum of attributions, and of what they are the shares: by how much the target changes."""
    text = AnsweredText("one", tokens, answer)
    with torch.no_grad():
        untouched = run(decoder, tokens[None])
    attributions, start = integrated_gradients(decoder, untouched, text, part, layer, steps, 64 * LENGTH)
    return attributions.sum().item(), answer_probability(decoder, untouched.tap, text).item() - start


@pytest.mark.parametrize("name", ["sandwich", "hyper_connections", "moda", "attnres_block"])
def test_attributions_add_up_to_the_change_of_the_target(name):
    """As nearly as there are steps: four times as many leave about a quarter of the error."""
    decoder = decoder_of(name)
    parts = [part for part in ATTRIBUTIONS if part != "residual" or name != "attnres_block"]
    errors = []
    for steps in (64, 256):
        found = np.array(
            [
                target_change(decoder, some_tokens()[1], 2, part, layer, steps)
                for layer in range(1, LAYERS + 1)
                for part in parts
            ]
        )
        errors.append(found[:, 0] - found[:, 1])
        assert np.abs(found[:, 1]).max() > 1e-3
    np.testing.assert_allclose(errors[1], errors[0] / 4, rtol=0.2, atol=1e-5)


@pytest.mark.parametrize("name", ["sandwich", "attnres_full"])
def test_a_row_says_what_is_known_of_a_token_at_a_depth(name, small_shards):
    decoder, tokenizer = decoder_of(name), load_tokenizer(small_shards.parent / "tokenizer")
    rows = measure_token_effects("mine", decoder, some_tokens(), tokenizer, SETTINGS)
    rows = {(row.text, row.position, row.layer): row for row in rows}
    assert {place: row.erasure for place, row in rows.items() if row.erasure is not None} == erasures(decoder)
    attributions = attribute_answers(decoder, windows(some_tokens(), 2), STEPS, 3 * LENGTH)
    for place, row in rows.items():
        found = [row.attribution, row.attention_attribution, row.mlp_attribution]
        assert found == [attributions.get(place, {}).get(column) for column in ATTRIBUTIONS.values()]
    assert set(attributions) <= set(rows)


def test_a_window_is_the_start_of_a_sequence_and_ends_in_an_answer():
    tokens = torch.arange(3 * 100).view(3, 100)
    one, two = windows(tokens, 2)
    assert (one.name, two.name) == ("window 1", "window 2")
    assert two.tokens.tolist() == list(range(100, 100 + WINDOW_LENGTH))
    assert two.answer_tokens.tolist() == two.tokens[two.predicting + 1].tolist() == [160, 161, 162, 163]
    (short,) = windows(tokens[:1, :3], 5)
    assert short.predicting.tolist() == [0, 1]
