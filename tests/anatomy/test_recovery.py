"""Recovery against a loop written out, with logits in full and losses by torch."""

import copy
import math
from dataclasses import astuple

import pytest
import torch
from by_hand import decoder_of, published_twice
from edited import LENGTH, SEQUENCES, settings, some_text
from torch.nn import functional

from perlayer.anatomy.changes import matrices, with_noise
from perlayer.anatomy.recovery import measure_recovery

LAYERS = 2


def training_rows():
    """Five sequences, so that the third update of two begins again with the first."""
    return torch.randint(2, 30, (5, LENGTH + 1), generator=torch.Generator().manual_seed(8))


def decoder_like(kind):
    if kind in ("Llama", "Qwen3"):
        return published_twice(kind, LENGTH)[1]
    return decoder_of(kind, layers=LAYERS, sequence_length=LENGTH)


def loss_of(decoder, rows):
    logits = decoder.logits(decoder(rows[:, :-1])[-1])
    return functional.cross_entropy(logits.flatten(0, 1), rows[:, 1:].flatten())


def by_loop(decoder, layer, chosen):
    """The row of one layer, from a copy."""
    usual = loss_of(decoder, some_text().rows).item()
    noisy = copy.deepcopy(decoder)
    block = noisy.model.layers[layer - 1].requires_grad_(True)
    with torch.no_grad():
        for name, draw in with_noise(decoder, layer).items():
            own = matrices(decoder, layer)[name]
            block.get_parameter(name).copy_(own + chosen.noise * (draw - own))
    optimizer = torch.optim.AdamW(block.parameters(), lr=chosen.recovery_learning_rate)
    goal = math.log(1.05 * math.exp(usual))
    losses = {0: loss_of(noisy, some_text().rows).item()}
    order = training_rows().repeat(4, 1)
    for step in range(1, chosen.recovery_steps + 1):
        if losses[max(losses)] <= goal:
            break
        rows = order[(step - 1) * 2 : step * 2]
        optimizer.zero_grad()
        loss_of(noisy, rows).backward()
        optimizer.step()
        if step in (2, 4, 5):  # every second, and the last
            losses[step] = loss_of(noisy, some_text().rows).item()
    last = max(losses)
    percent = [100 * (math.exp(losses[step] - usual) - 1) for step in (0, last)]
    return ("mine", layer, last, losses[last] <= goal, *(pytest.approx(some, rel=1e-4, abs=1e-4) for some in percent))


def found(decoder, chosen):
    return measure_recovery("mine", decoder, some_text(), training_rows(), chosen)


@pytest.mark.parametrize("kind", ["pre_ln", "sandwich", "attnres_full", "Llama", "Qwen3"])
def test_updates_are_those_of_a_loop_over_one_layer_and_leave_nothing_behind(kind):
    decoder, chosen = decoder_like(kind), settings()
    before = copy.deepcopy(decoder.state_dict())
    rows = found(decoder, chosen)
    assert all(torch.equal(value, before[name]) for name, value in decoder.state_dict().items())
    assert not any(parameter.requires_grad for parameter in decoder.parameters())
    expected = [by_loop(decoder, layer, chosen) for layer in range(1, decoder.config.layers + 1)]
    assert [astuple(row) for row in rows] == expected
    assert {row.perturbation for row in rows} != {0}


def test_it_ends_where_perplexity_is_back():
    """A layer that begins with no more than a breath of noise is back before any update."""
    decoder = decoder_like("sandwich")
    rows = found(decoder, settings(noise=1e-6))
    assert [(row.layer, row.steps, row.recovered) for row in rows] == [(1, 0, True), (2, 0, True)]


def test_a_layer_recovers_on_the_text_that_it_is_judged_by():
    """Trained on the very text, perplexity falls under that of the untouched model, long before the last update."""
    decoder, text = decoder_like("pre_ln"), some_text()
    chosen = settings(recovery_steps=60, recovery_batch=SEQUENCES, recovery_every=1)
    for row in measure_recovery("mine", decoder, text, text.rows, chosen):
        assert row.recovered and row.steps < 60 and row.remaining <= 5


def test_without_updates_there_is_nothing():
    assert found(decoder_like("pre_ln"), settings(recovery_steps=0)) == []
