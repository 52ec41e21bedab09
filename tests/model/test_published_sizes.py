"""Parameter counts of the published sizes; the expected numbers are those of the recipe's own records."""

import pytest
import torch

from perlayer.model.config import ModelConfig, ModelSettings
from perlayer.model.decoder import Decoder, parameters_up_to
from perlayer.params import load, parse, recipe

# size: (recorded model size without sandwich and q/k norms, with all norms, one layer with all norms)
PUBLISHED = {
    "qwen3_130m": (154_147_328, 154_154_240, 3_803_264),
    "qwen3_300m": (299_649_792, 299_669_760, 8_555_648),
    "qwen3_520m": (602_457_088, 602_509_312, 14_160_000),
    "qwen3_1_2b": (1_431_373_824, 1_431_443_456, 56_631_552),
}


def build(size, residual="sandwich"):
    params = load()
    settings = parse(ModelSettings, *recipe(params, "model", size))
    data, _ = recipe(params, "data", size)
    config = ModelConfig(
        residual=residual,
        vocab_size=data["vocab_size"],
        sequence_length=data["sequence_length"],
        eos_id=128001,
        block_cross_document=True,
        **vars(settings),
    )
    with torch.device("meta"):
        return Decoder(config)


@pytest.mark.parametrize("size", PUBLISHED)
def test_parameters_equal_the_published_counts(size):
    recorded, with_norms, one_layer = PUBLISHED[size]
    model = build(size)
    counts = {name: parameter.numel() for name, parameter in model.named_parameters()}
    extra = ("post_attention_norm.weight", "post_mlp_norm.weight", "q_norm.weight", "k_norm.weight")
    assert sum(counts.values()) == with_norms
    assert sum(count for name, count in counts.items() if not name.endswith(extra)) == recorded
    assert parameters_up_to(model, 1) == one_layer
    layers = model.config.layers
    assert parameters_up_to(model, layers) == layers * one_layer
    assert all(parameter.dtype == torch.float32 for parameter in model.parameters())


def test_published_steps_follow_twenty_tokens_a_parameter():
    # steps = floor(20 * nominal size / (batch * sequence length)), from the recipe
    params = load()
    nominal = {"qwen3_130m": 130e6, "qwen3_300m": 300e6, "qwen3_520m": 520e6, "qwen3_1_2b": 1.2e9}
    for size, parameters in nominal.items():
        train, _ = recipe(params, "train", size)
        data, _ = recipe(params, "data", size)
        assert train["steps"] == int(20 * parameters // (train["batch"] * data["sequence_length"]))
