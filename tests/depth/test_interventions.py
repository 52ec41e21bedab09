"""Interventions: what they replace, and what they leave as it is, in every residual design."""

from functools import partial

import by_hand
import pytest
import torch
from by_hand import Hooked, Plain, outputs_replaced, published_twice, skipping, tokens_with_ends

from perlayer.depth.interventions import (
    Intervention,
    Replacement,
    first_of_text,
    rerun,
    run,
    running_residual,
    skip,
    visible,
)
from perlayer.errors import UserError
from perlayer.model.config import design_names

LENGTH, LAYERS = 14, 3
ADDING = ("pre_ln", "sandwich", "layernorm_scaling", "moda")  # whose stream stays as it is where nothing is added
ATTENDING = ("attnres_full", "attnres_block")  # without one running residual
PLACES = [(layer, kind) for layer in range(1, LAYERS + 1) for kind in ("attention", "mlp")]
decoder_of = partial(by_hand.decoder_of, layers=LAYERS, sequence_length=LENGTH)


def some_tokens():
    """(3, LENGTH); documents end within two of the sequences."""
    return tokens_with_ends(LENGTH, [(0, 5), (2, 2), (2, 9)])


def some_positions(seed=0):
    """Some positions of each sequence, (3, LENGTH)."""
    return torch.rand(3, LENGTH, generator=torch.Generator().manual_seed(seed)) < 0.5


def assert_close(found, expected):
    torch.testing.assert_close(found, expected, rtol=1e-9, atol=1e-11)


def assert_same(trace, other):
    """The same to the last bit."""
    assert all(torch.equal(one, two) for one, two in zip(trace.residuals, other.residuals, strict=True))
    for name in ("contributions", "outputs"):
        mine, theirs = getattr(trace, name), getattr(other, name)
        assert mine.keys() == theirs.keys() and all(torch.equal(mine[key], theirs[key]) for key in mine)
    assert torch.equal(trace.tap, other.tap)


def states_of(decoder, tokens):
    """The states after each layer, from 0, by the decoder's own forward."""
    states = []

    def fork(layer, before, after, run):
        states.append(after)
        return after, after

    decoder(tokens, fork)
    return states


@pytest.mark.parametrize("name", design_names())
def test_an_untouched_run_is_the_decoder_bit_for_bit(name):
    decoder, tokens = decoder_of(name), some_tokens()
    trace, taps = run(decoder, tokens), decoder(tokens)
    assert torch.equal(trace.tap, taps[-1]) and torch.equal(trace.residuals[-1], taps[-1])
    assert torch.equal(decoder.logits(trace.tap), decoder.logits(taps[-1]))
    if name not in ATTENDING:  # whose lenses read by the query of the next layer
        assert all(torch.equal(residual, tap) for residual, tap in zip(trace.residuals, taps, strict=True))
    for layer in range(1, LAYERS + 1):
        whole = trace.residuals[layer] - trace.residuals[layer - 1]
        assert_close(trace.contributions[layer, "layer"], whole)
        assert_close(trace.contributions[layer, "attention"] + trace.contributions[layer, "mlp"], whole)
    assert list(trace.outputs) == PLACES


@pytest.mark.parametrize("propagates", [True, False])
@pytest.mark.parametrize("name", design_names())
def test_replacing_nothing_changes_nothing_bit_for_bit(name, propagates):
    decoder, tokens = decoder_of(name), some_tokens()
    untouched = run(decoder, tokens)
    (trace,) = rerun(decoder, untouched, [Intervention((), propagates)])
    assert_same(trace, untouched)
    nowhere = torch.zeros(1, LENGTH, dtype=torch.bool)
    for layer in range(1, LAYERS + 1):
        (trace,) = rerun(decoder, untouched, [skip("layer", layer, nowhere, propagates)])
        assert_same(trace, untouched)


@pytest.mark.parametrize("part", ["layer", "attention", "mlp"])
@pytest.mark.parametrize("name", design_names())
def test_what_is_skipped_gives_nothing_to_its_design_as_with_hooks(name, part):
    decoder, tokens = decoder_of(name), some_tokens()
    untouched = run(decoder, tokens)
    positions = [some_positions(seed) for seed in (0, 1)]
    interventions = [skip(part, layer, where) for layer in range(1, LAYERS + 1) for where in positions]
    traces = list(rerun(decoder, untouched, interventions))
    assert len(traces) == len(interventions)
    for intervention, trace in zip(interventions, traces):
        (one,) = intervention.replacements

        def replaced(layer, kind, output, one=one):
            hit = layer == one.layer and one.part in ("layer", kind)
            return torch.where(one.positions[..., None], 0.0, output) if hit else output

        with outputs_replaced(decoder, replaced):
            expected = [decoder.design.tap(decoder.design.detach(s), LAYERS) for s in states_of(decoder, tokens)]
            tap = decoder(tokens)[-1]
        for residual, other in zip(trace.residuals, expected, strict=True):
            assert_close(residual, other)
        assert_close(trace.tap, tap)
        assert_close(trace.contributions[LAYERS, "layer"], expected[-1] - expected[-2])
        for residual, usual in zip(trace.residuals[: one.layer], untouched.residuals):
            assert torch.equal(residual, usual)


@pytest.mark.parametrize("name", design_names())
def test_a_change_that_does_not_propagate_reaches_each_later_layer_by_itself(name):
    decoder, tokens, where = decoder_of(name), some_tokens(), some_positions()
    untouched = run(decoder, tokens)
    for skipped in range(1, LAYERS):
        (trace,) = rerun(decoder, untouched, [skip("layer", skipped, where, propagates=False)])
        for later in range(skipped + 1, LAYERS + 1):

            def replaced(layer, kind, output, skipped=skipped, later=later):
                if layer == skipped:
                    return torch.where(where[..., None], 0.0, untouched.outputs[layer, kind])
                return output if layer >= later else untouched.outputs[layer, kind]

            with outputs_replaced(decoder, replaced):
                states = states_of(decoder, tokens)
            before, after = (
                decoder.design.tap(decoder.design.detach(s), LAYERS) for s in states[later - 1 : later + 1]
            )
            assert_close(trace.contributions[later, "layer"], after - before)
            assert_close(trace.residuals[later - 1], before)


@pytest.mark.parametrize("name", [name for name in design_names() if name not in ATTENDING])
def test_without_its_last_layer_a_model_says_what_the_logit_lens_reads_one_layer_earlier(name):
    decoder, tokens = decoder_of(name), some_tokens()
    untouched, everywhere = run(decoder, tokens), torch.ones(1, LENGTH, dtype=torch.bool)
    before = running_residual(untouched.states[-2])
    ways = [Intervention((Replacement("residual", LAYERS, everywhere, before),))]
    if name in ADDING:
        ways.append(skip("layer", LAYERS, everywhere))
    earlier = decoder.logits(decoder(tokens)[-2])
    for trace in rerun(decoder, untouched, ways):
        assert torch.equal(decoder.logits(trace.tap), earlier)


@pytest.mark.parametrize("name", ["pre_ln", "sandwich"])
def test_replacements_are_edits_of_hidden_states(name):
    """A residual by a given one, and outputs by their mean, several together."""
    decoder, tokens, where = decoder_of(name), some_tokens(), some_positions()
    untouched = run(decoder, tokens)
    given = torch.randn(3, LENGTH, 16, dtype=torch.float64, generator=torch.Generator().manual_seed(3))
    mean = untouched.residuals[2].mean((0, 1))
    of_first = untouched.outputs[1, "mlp"].mean((0, 1))
    both = (Replacement("residual", 2, where, mean), Replacement("mlp", 1, ~where, of_first))
    interventions = [
        Intervention((Replacement("residual", 0, where, given),)),
        Intervention((Replacement("residual", LAYERS, where, given),)),
        Intervention(both),
    ]
    first, last, two = rerun(decoder, untouched, interventions)
    for row, sequence in enumerate(tokens):
        plain, at = Plain(decoder, sequence), where[row][:, None]

        def edit(depth, by, plain=plain, at=at):
            return lambda layer, h: torch.where(at, by, h) if layer == depth + 1 else h

        _, contributions, probabilities = plain.run(read=edit(0, given[row]))
        assert_close(torch.softmax(decoder.logits(first.tap), -1)[row], probabilities)
        assert_close(first.contributions[3, "layer"][row], contributions[3, "layer"])
        residuals, _, _ = plain.run()
        assert_close(last.tap[row], torch.where(at, given[row], residuals[-1]))

        def replaced(layer, kind, added, plain=plain, at=at):
            weight = "model.layers.0.post_mlp_norm.weight"
            by = plain.norm(of_first, weight) if name == "sandwich" else of_first
            return torch.where(~at, by, added) if (layer, kind) == (1, "mlp") else added

        _, contributions, probabilities = plain.run(replaced, edit(2, mean))
        assert_close(torch.softmax(decoder.logits(two.tap), -1)[row], probabilities)
        assert_close(two.contributions[3, "attention"][row], contributions[3, "attention"])


@pytest.mark.parametrize("kind", ["Llama", "Qwen3"])
def test_a_published_model_is_changed_as_by_hooks_on_its_own_modules(kind):
    theirs, ours = published_twice(kind, LENGTH)
    tokens, where = some_tokens(), some_positions()
    untouched = run(ours, tokens)
    interventions = [skip(part, layer, where) for layer in (1, 2, 3) for part in ("layer", "attention", "mlp")]
    for intervention, trace in zip(interventions, rerun(ours, untouched, interventions)):
        (one,) = intervention.replacements
        for row, sequence in enumerate(tokens):
            hooked = Hooked(theirs, sequence)
            residuals, contributions, probabilities = hooked.run(skipping(one.part, one.layer, where[row]))
            for residual, expected in zip(trace.residuals, residuals, strict=True):
                torch.testing.assert_close(residual[row], expected, rtol=1e-5, atol=1e-5)  # norms in float32
            for place, expected in contributions.items():
                torch.testing.assert_close(trace.contributions[place][row], expected, rtol=1e-5, atol=1e-5)
            found = torch.softmax(ours.logits(trace.tap), -1)[row]
            torch.testing.assert_close(found, probabilities, rtol=1e-5, atol=1e-5)


def test_several_streams_are_replaced_each(name="hyper_connections"):
    decoder, tokens, where = decoder_of(name), some_tokens(), some_positions()
    untouched = run(decoder, tokens)
    by = running_residual(untouched.states[2]).mean((0, 1))  # (streams, hidden)
    (trace,) = rerun(decoder, untouched, [Intervention((Replacement("residual", 2, where, by),))])
    state = torch.where(where[..., None, None], by, untouched.states[2])
    assert_close(trace.residuals[2], state.sum(-2))

    def fork(layer, before, after, run):
        return (state, state) if layer == 2 else (after, after)

    assert_close(trace.tap, decoder(tokens, fork)[-1])


@pytest.mark.parametrize("name", ATTENDING)
def test_a_design_without_a_running_residual_says_so_in_one_line(name):
    decoder, tokens = decoder_of(name), some_tokens()
    untouched = run(decoder, tokens)
    assert running_residual(untouched.states[1]) is None
    erase = Intervention((Replacement("residual", 1, some_positions()),))
    with pytest.raises(UserError, match="expected a residual design with a running residual") as error:
        list(rerun(decoder, untouched, [erase]))
    assert "\n" not in str(error.value)


def test_what_cannot_be_replaced_is_named():
    everywhere, decoder = torch.ones(1, 1, dtype=torch.bool), decoder_of("pre_ln")
    untouched = run(decoder, some_tokens())
    with pytest.raises(ValueError, match="expected a layer from 1, or 0 for the embedding's residual, found 0"):
        skip("mlp", 0, everywhere)
    with pytest.raises(ValueError, match="expected at most 3, found 4"):
        list(rerun(decoder, untouched, [skip("mlp", 4, everywhere)]))
    with pytest.raises(ValueError, match="expected nothing for a whole layer"):
        Replacement("layer", 1, everywhere, torch.zeros(1))
    with pytest.raises(ValueError, match="expected one of layer, attention, mlp and residual, found 'mlps'"):
        Replacement("mlps", 1, everywhere)


def calls_of(decoder):
    """How many sequences each run of an MLP has, by layer from 1, filled when the decoder runs."""
    calls = []
    for layer, block in enumerate(decoder.model.layers, 1):
        block.mlp.register_forward_hook(lambda module, inputs, output, layer=layer: calls.append((layer, len(output))))
    return calls


def test_layers_below_a_change_do_not_run_again_and_neighbours_run_as_one_batch():
    decoder, tokens = decoder_of("pre_ln"), some_tokens()
    calls, untouched = calls_of(decoder), run(decoder, tokens)
    calls.clear()
    where = [some_positions(seed) for seed in range(4)]
    interventions = [skip("layer", 2, one) for one in where] + [skip("mlp", 3, one) for one in where[:2]]
    together = list(rerun(decoder, untouched, interventions))
    assert calls == [(2, 12), (3, 12), (3, 6)]
    calls.clear()
    list(rerun(decoder, untouched, [Intervention((Replacement("residual", 2, where[0]),))]))
    assert calls == [(3, 3)]
    calls.clear()
    few = list(rerun(decoder, untouched, interventions, tokens_at_once=7 * LENGTH))  # two of three sequences each
    assert calls == [(2, 6), (3, 6), (2, 6), (3, 6), (3, 6)]
    calls.clear()
    alone = list(rerun(decoder, untouched, interventions, tokens_at_once=1))
    assert len(calls) == 4 * 2 + 2 and {sequences for _, sequences in calls} == {3}
    for one, other, another in zip(together, few, alone, strict=True):
        assert_close(one.tap, other.tap)
        assert_close(one.tap, another.tap)
        for place in one.contributions:
            assert_close(one.contributions[place], another.contributions[place])


def test_changes_that_propagate_and_that_do_not_may_be_neighbours():
    decoder, tokens, where = decoder_of("sandwich"), some_tokens(), some_positions()
    untouched = run(decoder, tokens)
    ways = [skip("layer", 1, where, propagates) for propagates in (True, False, True)]
    for trace, way in zip(rerun(decoder, untouched, ways), ways, strict=True):
        (alone,) = rerun(decoder, untouched, [way])
        assert_same(trace, alone)


def test_gradients_reach_what_is_put_in_place():
    """By finite differences, in a chunk of several."""
    decoder, tokens, where = decoder_of("sandwich"), some_tokens()[:1], some_positions()[:1]
    untouched = run(decoder, tokens)

    def taps(by):
        ways = [Intervention((Replacement("residual", 1, where, scale * by),)) for scale in (0.5, 1.0)]
        return torch.stack([trace.tap.square().mean() for trace in rerun(decoder, untouched, ways)])

    by = untouched.residuals[1].mean((0, 1)).clone().requires_grad_()
    assert torch.autograd.gradcheck(taps, (by,))


def test_what_tokens_see_and_which_come_first():
    decoder, tokens = decoder_of("pre_ln"), some_tokens()
    expected = torch.stack([Plain(decoder, sequence).sees for sequence in tokens])
    assert torch.equal(visible(decoder, tokens), expected)
    starts = [[0, 6], [0], [0, 3, 10]]
    found = first_of_text(decoder, tokens)
    assert [row.nonzero()[:, 0].tolist() for row in found] == starts
    _, published = published_twice("Llama", LENGTH)
    assert torch.equal(visible(published, tokens)[1], Plain(decoder, tokens[1]).sees)
    assert [row.nonzero()[:, 0].tolist() for row in first_of_text(published, tokens)] == [[0], [0], [0]]
