"""A decoder that takes no training to be worth reading."""

import torch

from perlayer.model.config import ModelConfig
from perlayer.model.decoder import Decoder

VOCABULARY, LENGTH, EOS = 50, 12, 1


def tiny_decoder(residual="sandwich", layers=3, seed=0, vocabulary=VOCABULARY, length=LENGTH):
    """A decoder whose layers differ more than freshly drawn ones: its norms are drawn, too."""
    config = ModelConfig(residual, layers, 16, 24, 2, 1, 8, 10000.0, 1e-5, vocabulary, length, EOS, True)
    decoder = Decoder(config)
    decoder.initialize(seed)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        decoder.model.embed_tokens.weight.mul_(16)
        for name, parameter in decoder.named_parameters():
            if "norm" in name:
                parameter.copy_(torch.empty(parameter.shape).uniform_(0.5, 2.0, generator=generator))
    return decoder.freeze()
