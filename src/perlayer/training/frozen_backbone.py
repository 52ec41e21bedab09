"""Training what reads a finished decoder, which stays as it is."""

from __future__ import annotations

import torch
from composer.models import ComposerModel
from torch import Tensor, nn

from perlayer.losses.reading import Reading
from perlayer.model.decoder import Decoder
from perlayer.training.composer_model import products_in


class FrozenBackbone(ComposerModel):
    """Gives the taps of a batch, formed once for all readers, and trains the readers alone.

    The decoder is no part of this module, so that no optimizer, checkpoint or gradient bucket ever holds it.
    """

    def __init__(self, decoder: Decoder, readers: nn.Module, compute_dtype: torch.dtype):
        super().__init__()
        self.readers = readers
        self.compute_dtype = compute_dtype
        self._outside = (decoder.freeze(),)

    @property
    def decoder(self) -> Decoder:
        return self._outside[0]

    def losses(self, taps: list[Tensor], tokens: Tensor) -> dict[Reading, Tensor]:
        """The mean loss of each reader, independent of the others, from the taps of `tokens` (batch, length + 1)."""
        raise NotImplementedError

    def autocast(self) -> torch.autocast:
        """The context in which products run in the compute dtype."""
        return products_in(self.compute_dtype, self.decoder.lm_head.weight.device)

    def forward(self, batch: dict[str, Tensor]) -> list[Tensor]:
        with torch.no_grad(), self.autocast():
            return self.decoder(batch["tokens"][:, :-1])

    def loss(self, outputs: list[Tensor], batch: dict[str, Tensor]) -> dict[str, Tensor]:
        with self.autocast():
            losses = self.losses(outputs, batch["tokens"])
        return {reading.key: loss for reading, loss in losses.items()}  # without a total, Composer sums them
