"""Against torch's own count of the operations it carries out, and the published count of the recipe."""

import pytest
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from perlayer.model.config import ModelConfig
from perlayer.model.decoder import Decoder
from perlayer.model.flops import forward_flops, training_flops
from perlayer.model.readouts import auxiliary_readouts

SHAPE = {
    "residual": "sandwich",
    "layers": 3,
    "hidden_size": 16,
    "intermediate_size": 40,
    "attention_heads": 4,
    "key_value_heads": 2,
    "head_dim": 4,
    "rope_theta": 10000.0,
    "norm_epsilon": 1e-5,
    "vocab_size": 30,
    "sequence_length": 12,
    "eos_id": 1,
    "block_cross_document": True,
}


def test_equals_what_torch_counts_with_separate_heads():
    config = ModelConfig(**SHAPE)
    decoder, readouts = Decoder(config), auxiliary_readouts(config, seed=0)
    decoder.initialize(0)
    tokens = torch.randint(2, 30, (5, 12))
    # torch counts no operations of its fused attention on a CPU, so attention takes its plain products
    with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as forward:
        taps = decoder(tokens)
        logits = [decoder.logits(taps[3]), readouts["1"](taps[1]), readouts["2"](taps[2])]
    assert forward.get_total_flops() == forward_flops(config, sequences=5, length=12, readouts=3)
    with FlopCounterMode(display=False) as backward:
        sum(each.sum() for each in logits).backward()
    assert forward.get_total_flops() + backward.get_total_flops() == training_flops(config, 5, 12, 3)


def test_equals_the_published_operations_of_the_recipe():
    """recipe section 1: 1.7773e18 for the 130m run, which counts three operations a score for the softmax as well."""
    shape = {"layers": 6, "hidden_size": 512, "intermediate_size": 1792, "vocab_size": 128256, "sequence_length": 4096}
    heads = {"attention_heads": 8, "key_value_heads": 8, "head_dim": 64}
    config = ModelConfig(**{**SHAPE, **shape, **heads})
    softmax = 3 * (128 * 4096) * 6 * 8 * (3 * 4096)
    assert 4959 * (training_flops(config, 128, 4096, readouts=1) + softmax) == pytest.approx(1.7773e18, rel=3e-5)
