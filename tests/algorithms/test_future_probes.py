"""Probes for a later token, against losses and gradients written out."""

import pytest
import torch
from small_decoder import LAYERS, build, some_tokens
from torch.nn import functional

from perlayer.algorithms.future_probes.algorithm import NAME, FutureProbes, future_probes
from perlayer.algorithms.future_probes.settings import Settings
from perlayer.errors import InvalidValue, UserError
from perlayer.losses.reading import Reading


@pytest.mark.parametrize("ahead", [2, 5])
def test_losses_and_gradients_are_the_definition(ahead):
    model, tokens = build(), some_tokens()
    probes = model.auxiliary[NAME] = future_probes(model.decoder.config, 0).double()
    taps = model.decoder(tokens[:, :-1])
    expected, length = {}, tokens.shape[1] - 1
    for layer in range(1, LAYERS + 1):
        tap = taps[layer].detach()
        hidden = tap / torch.sqrt(tap.pow(2).mean(-1, keepdim=True) + 1e-5) * probes[str(layer)].norm.weight
        logits = hidden @ probes[str(layer)].lm_head.weight.T
        terms = [
            functional.cross_entropy(logits[row, t], tokens[row, t + ahead])
            for row in range(len(tokens))
            for t in range(length + 1 - ahead)
        ]
        expected[Reading(layer, "probe", ahead)] = torch.stack(terms).mean()
    parameters = list(probes.parameters())
    gradients = torch.autograd.grad(sum(expected.values()), parameters)
    algorithm = FutureProbes(ahead, seed=0)
    algorithm.model = model
    found = algorithm.losses(taps, tokens)
    assert found.keys() == expected.keys()
    torch.testing.assert_close(found, expected, rtol=1e-10, atol=0)
    sum(found.values()).backward()
    torch.testing.assert_close([p.grad for p in parameters], list(gradients), rtol=1e-9, atol=1e-12)
    assert all(parameter.grad is None for parameter in model.decoder.parameters())


def test_validation_has_a_loss_for_each_position_that_has_a_target():
    model, tokens = build(), some_tokens()
    model.auxiliary[NAME] = future_probes(model.decoder.config, 0).double()
    algorithm = FutureProbes(3, seed=0)
    algorithm.model = model
    with torch.no_grad():
        taps = model.decoder(tokens[:, :-1])
        each, mean = algorithm.validation_losses(taps, tokens), algorithm.losses(taps, tokens)
    for reading, losses in each.items():
        assert losses.shape == (3, 9)  # 11 positions, the last two without a third token on
        torch.testing.assert_close(losses.mean(), mean[reading], rtol=1e-10, atol=0)


def test_a_sequence_too_short_is_named(train):
    with pytest.raises(UserError, match=r"runs\.test\.future_probes\.ahead: expected at most 16, .* found 17"):
        train([FutureProbes(17, seed=0)], steps=1)


@pytest.mark.parametrize("ahead", [1, 0, -2, 128])
def test_impossible_settings_are_refused(ahead):
    with pytest.raises(InvalidValue, match="ahead"):
        Settings(ahead)
