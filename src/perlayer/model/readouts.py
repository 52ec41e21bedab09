"""Readouts: a norm and an output head that turn a tap into next-token logits."""

from __future__ import annotations

from torch import Tensor, nn

from perlayer.model.config import ModelConfig
from perlayer.model.initialization import initialize_linear
from perlayer.model.norm import RMSNorm


class Readout(nn.Module):
    """RMSNorm and an output head of its own."""

    def __init__(self, config: ModelConfig):
        super().__init__()
        self.norm = RMSNorm(config.hidden_size, config.norm_epsilon)
        self.lm_head = nn.Linear(config.hidden_size, config.vocab_size, bias=False)

    def forward(self, tap: Tensor) -> Tensor:
        return self.lm_head(self.norm(tap))


def auxiliary_readouts(config: ModelConfig, seed: int) -> nn.ModuleDict:
    """A readout for each layer below the last, keyed "1" .. "layers - 1", each with its own random stream."""
    readouts = nn.ModuleDict({str(layer): Readout(config) for layer in range(1, config.layers)})
    for layer, readout in readouts.items():
        initialize_linear(readout.lm_head, seed, f"readouts.{layer}.lm_head")
    return readouts
