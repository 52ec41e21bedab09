"""The Pre-LN decoder against transformers' Qwen3, which is not ours."""

import pytest
import torch
from torch.nn import functional

from perlayer.model.config import ModelConfig
from perlayer.model.decoder import Decoder
from perlayer.model.weights import save_model


def config(**changes):
    shape = dict(
        residual="pre_ln",
        layers=3,
        hidden_size=48,
        intermediate_size=80,
        attention_heads=6,
        key_value_heads=2,
        head_dim=8,
        rope_theta=10000.0,
        norm_epsilon=1e-5,
        vocab_size=101,
        sequence_length=40,
        eos_id=1,
        block_cross_document=False,
    )
    return ModelConfig(**{**shape, **changes})


@pytest.fixture
def pair(tmp_path):
    from transformers import AutoModelForCausalLM, Qwen3ForCausalLM

    torch.manual_seed(0)
    ours = Decoder(config())
    ours.initialize(seed=5)
    with torch.no_grad():  # norms away from one, so that a norm left out or misplaced shows
        for name, parameter in ours.named_parameters():
            if "norm" in name:
                parameter.add_(0.3 * torch.randn_like(parameter))
            if "embed" in name:
                parameter.mul_(20)
    save_model(tmp_path, ours)
    theirs = AutoModelForCausalLM.from_pretrained(tmp_path, attn_implementation="eager")
    assert isinstance(theirs, Qwen3ForCausalLM)
    return ours, theirs


def test_same_logits_and_same_gradients(pair):
    ours, theirs = pair
    tokens = torch.randint(2, 101, (3, 33))
    logits = ours.logits(ours(tokens[:, :-1])[-1])
    expected = theirs(tokens[:, :-1]).logits
    torch.testing.assert_close(logits, expected, rtol=1e-5, atol=2e-5)

    functional.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten()).backward()
    functional.cross_entropy(expected.flatten(0, 1), tokens[:, 1:].flatten()).backward()
    named = dict(theirs.named_parameters())
    assert named.keys() == dict(ours.named_parameters()).keys()
    for name, parameter in ours.named_parameters():
        torch.testing.assert_close(parameter.grad, named[name].grad, rtol=1e-3, atol=2e-6, msg=name)


def test_taps_are_the_hidden_states_before_the_final_norm(pair):
    ours, theirs = pair
    tokens = torch.randint(2, 101, (2, 20))
    taps = ours(tokens)
    seen = []
    for layer in theirs.model.layers:
        layer.register_forward_hook(
            lambda module, inputs, output: seen.append(output[0] if isinstance(output, tuple) else output)
        )
    embedding = theirs.model.embed_tokens(tokens)
    theirs(tokens)
    for tap, expected in zip(taps, [embedding, *seen], strict=True):
        torch.testing.assert_close(tap, expected, rtol=1e-5, atol=2e-5)


def test_bfloat16_compute_stays_close_to_float32(pair):
    ours, _ = pair
    tokens = torch.randint(2, 101, (2, 20))
    exact = ours.logits(ours(tokens)[-1])
    with torch.autocast("cpu", dtype=torch.bfloat16):
        rough = ours.logits(ours(tokens)[-1]).float()
    # bfloat16 keeps 8 bits, so a relative error of some 2^-8 a product is expected; 5 % of the spread is ample
    assert (rough - exact).std() < 0.05 * exact.std()
