"""Per-layer losses: every gradient against a plain autograd reference, and what must stay bit for bit."""

import pytest
import torch
from torch.nn import functional

from perlayer.algorithms.per_layer_loss.loss import layer_loss
from perlayer.model.config import ModelConfig
from perlayer.model.decoder import Decoder
from perlayer.model.readouts import auxiliary_readouts

CONFIG = ModelConfig("sandwich", 3, 16, 24, 2, 1, 8, 10000.0, 1e-5, 30, 12, 1, True)
KINDS = ("probes", "separate", "shared", "shared_stop_gradient")


def build():
    decoder = Decoder(CONFIG)
    decoder.initialize(0)
    readouts = auxiliary_readouts(CONFIG, 0)
    with torch.no_grad():
        for module in (decoder, readouts):
            for name, parameter in module.named_parameters():
                if "norm" in name:
                    generator = torch.Generator().manual_seed(len(name))
                    parameter.add_(0.2 * torch.randn(parameter.shape, generator=generator))
    return decoder.double(), readouts.double()


def plain_loss(decoder, norm, head, hidden, targets):
    """Cross-entropy through a norm and a head, written out."""
    scaled = hidden / torch.sqrt(hidden.pow(2).mean(-1, keepdim=True) + 1e-5) * norm
    return functional.cross_entropy((scaled @ head.T).flatten(0, 1), targets.flatten())


def reference_gradients(kind, tokens):
    """What recipe section 6a says reaches each parameter: assembled from one autograd call a loss and an owner."""
    decoder, readouts = build()
    named = {f"decoder.{n}": p for n, p in decoder.named_parameters()}
    named |= {f"readouts.{n}": p for n, p in readouts.named_parameters()}
    trunk = [n for n in named if n.startswith("decoder.model.") and n != "decoder.model.norm.weight"]
    output = ["decoder.model.norm.weight", "decoder.lm_head.weight"]
    total = {name: torch.zeros_like(p) for name, p in named.items()}

    def add(loss, names):
        gradients = torch.autograd.grad(loss, [named[n] for n in names], retain_graph=True, allow_unused=True)
        for name, gradient in zip(names, gradients):
            if gradient is not None:
                total[name] += gradient

    taps, targets = decoder(tokens[:, :-1]), tokens[:, 1:]
    add(plain_loss(decoder, named[output[0]], named[output[1]], taps[3], targets), trunk + output)
    for k in (1, 2):
        own = [f"readouts.{k}.norm.weight", f"readouts.{k}.lm_head.weight"]
        norm, head = (named[n] for n in (own if kind in ("probes", "separate") else output))
        loss = plain_loss(decoder, norm, head, taps[k], targets)
        add(
            loss,
            {"probes": own, "separate": trunk + own, "shared": trunk + output, "shared_stop_gradient": trunk}[kind],
        )
    return total


@pytest.fixture
def tokens():
    return torch.randint(0, 30, (2, 11), generator=torch.Generator().manual_seed(4))


@pytest.mark.parametrize("kind", KINDS)
def test_the_gradient_of_every_parameter_equals_plain_autograd(kind, tokens):
    from perlayer.losses.linear_cross_entropy import linear_cross_entropy

    decoder, readouts = build()
    taps, targets = decoder(tokens[:, :-1]), tokens[:, 1:]
    loss = linear_cross_entropy(decoder.model.norm(taps[3]), decoder.lm_head.weight, targets)
    for layer in (1, 2):
        loss = loss + layer_loss(decoder, readouts, kind, layer, taps[layer], targets)
    loss.backward()
    for name, expected in reference_gradients(kind, tokens).items():
        owner, _, rest = name.partition(".")
        found = (decoder if owner == "decoder" else readouts).get_parameter(rest).grad
        found = torch.zeros_like(expected) if found is None else found
        torch.testing.assert_close(found, expected, rtol=1e-9, atol=1e-12, msg=name)


def test_every_layer_starts_with_a_readout_of_its_own():
    decoder, readouts = Decoder(CONFIG), auxiliary_readouts(CONFIG, 0)
    decoder.initialize(0)
    heads = [readouts["1"].lm_head.weight, readouts["2"].lm_head.weight, decoder.lm_head.weight]
    for first in range(3):
        for second in range(first):
            assert not torch.equal(heads[first], heads[second])
    assert heads[0].std().item() == pytest.approx(heads[2].std().item(), rel=0.1)
    again = auxiliary_readouts(CONFIG, 0)
    assert all(torch.equal(p, q) for p, q in zip(readouts.parameters(), again.parameters()))
