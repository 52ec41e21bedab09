"""The arithmetic of a training step: what its matrix products and attention cost."""

from __future__ import annotations

from perlayer.model.config import ModelConfig


def forward_flops(config: ModelConfig, sequences: int, length: int, readouts: int) -> int:
    """Floating-point operations of one forward pass, two for a multiplication and its addition.

    Matrix products and attention alone count: attention over every pair of positions, masked or not, and each readout
    in full. Norms, rotations, activations and the embedding are left out.

    Args:
        sequences: how many are read at once.
        length: tokens of a sequence.
        readouts: output heads that are read, the model's own among them.
    """
    tokens = sequences * length
    query_size = config.attention_heads * config.head_dim
    key_value_size = config.key_value_heads * config.head_dim
    projections = config.hidden_size * (2 * query_size + 2 * key_value_size)
    mlp = 3 * config.hidden_size * config.intermediate_size
    attention = 2 * length * query_size  # a token's scores, and the mixture of its values
    head = config.hidden_size * config.vocab_size
    return 2 * tokens * (config.layers * (projections + mlp + attention) + readouts * head)


def training_flops(config: ModelConfig, sequences: int, length: int, readouts: int) -> int:
    """Operations of a training step: three times those of the forward pass (Kaplan et al. 2020, section 2.1)."""
    return 3 * forward_flops(config, sequences, length, readouts)
