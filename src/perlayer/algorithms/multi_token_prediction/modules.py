"""The layers that predict later tokens, beside or after those of the model."""

from __future__ import annotations

import dataclasses

import torch
from torch import Tensor, nn

from perlayer.model.config import ModelConfig
from perlayer.model.decoder import Decoder
from perlayer.model.initialization import initialize_linear, initialize_recipe
from perlayer.model.norm import RMSNorm
from perlayer.model.residual.protocol import Sublayer
from perlayer.optim.groups import backbone_group


class FutureLayer(Decoder):
    """A decoder of one layer, in the model's own residual design, that reads a residual stream instead of tokens.

    It has neither embedding nor head: those are the model's. Its norm stands before the head that it shares.
    """

    def __init__(self, config: ModelConfig):
        super().__init__(dataclasses.replace(config, layers=1))
        self.model.embed_tokens = self.lm_head = None

    def start_from(self, seed: int, name: str) -> None:
        """Draw the initial weights as the recipe does, each from the random stream of its name after `name`."""
        initialize_recipe(self, seed, f"{name}.")
        self.design.initialize(self)

    def forward(self, stream: Tensor, decoder: Decoder, mask: Tensor | None) -> Tensor:
        """The residual stream after the layer.

        Args:
            stream: (batch, length, hidden).
            decoder: the model, whose way to run a layer is taken, plain or compiled.
            mask: as `Decoder.mask` gives it.
        """
        length, block = stream.shape[1], self.model.layers[0]
        rotary = decoder.rotary_cosine[:length], decoder.rotary_sine[:length]
        attention, mlp = Sublayer(0, 1, "attention", block), Sublayer(1, 1, "mlp", block)
        state = decoder.run_layer(self.design, self.design.start(stream), attention, mlp, rotary, mask)
        return self.design.tap(state, 1)


class SequentialModule(nn.Module):
    """One module of DeepSeek-V3's chain (2024, section 2.2): M [RMSNorm(h) ; RMSNorm(Emb(t))], then a layer."""

    def __init__(self, config: ModelConfig):
        super().__init__()
        self.hidden_norm = RMSNorm(config.hidden_size, config.norm_epsilon)
        self.embedding_norm = RMSNorm(config.hidden_size, config.norm_epsilon)
        self.projection = nn.Linear(2 * config.hidden_size, config.hidden_size, bias=False)
        self.layer = FutureLayer(config)

    def start_from(self, seed: int, name: str) -> None:
        """Draw the initial weights as the recipe does, each from the random stream of its name after `name`."""
        initialize_linear(self.projection, seed, f"{name}.projection")
        self.layer.start_from(seed, f"{name}.layer")

    def forward(self, hidden: Tensor, embedding: Tensor, decoder: Decoder, mask: Tensor | None) -> Tensor:
        """What this module's head reads before its norm, and the next module's `hidden`; all (batch, length, hidden).

        Args:
            hidden: of the module before, or the tap of the model's last layer.
            embedding: of the token that the module before predicts.
        """
        both = torch.cat([self.hidden_norm(hidden), self.embedding_norm(embedding)], dim=-1)
        return self.layer(self.projection(both), decoder, mask)

    def kind(self, name: str) -> str:
        """The optimizer group of a parameter: the projection's is that of the matrices."""
        part = name.split(".")[0]
        if part == "layer":
            return backbone_group(self.layer, name.removeprefix("layer."))
        return "muonh" if part == "projection" else "adam"


class ParallelHead(nn.Module):
    """One head of Gloeckle et al. (2024, section 2): a layer on what leaves the trunk, the layers but the last.

    The model's final norm and head read it, as they read the model's own last layer, the head of the next token.
    """

    def __init__(self, config: ModelConfig):
        super().__init__()
        self.layer = FutureLayer(config)
        self.layer.model.norm = None

    def start_from(self, seed: int, name: str) -> None:
        """Draw the initial weights as the recipe does, each from the random stream of its name after `name`."""
        self.layer.start_from(seed, f"{name}.layer")

    def forward(self, trunk: Tensor, decoder: Decoder, mask: Tensor | None) -> Tensor:
        """(batch, length, hidden) to the same."""
        return self.layer(trunk, decoder, mask)

    def kind(self, name: str) -> str:
        """The optimizer group of a parameter."""
        return backbone_group(self.layer, name.removeprefix("layer."))


def future_modules(form: str, depth: int, config: ModelConfig, seed: int, name: str) -> nn.ModuleDict:
    """A module for each later token, keyed by how far ahead it predicts, "2" .. "depth + 1"."""
    kind = SequentialModule if form == "sequential" else ParallelHead
    modules = nn.ModuleDict({str(ahead): kind(config) for ahead in range(2, depth + 2)})
    for ahead, module in modules.items():
        module.start_from(seed, f"{name}.{ahead}")
    return modules
