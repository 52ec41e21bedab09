"""The decoder as Composer trains it."""

from __future__ import annotations

from typing import Any

import torch
from composer.models import ComposerModel
from torch import Tensor, nn

from perlayer.losses.linear_cross_entropy import linear_cross_entropy
from perlayer.losses.reading import Reading
from perlayer.model.decoder import Decoder, Fork


def products_in(dtype: torch.dtype, device: torch.device) -> torch.autocast:
    """The context in which products run in `dtype`; weights, gradients and statistics stay float32.

    Composer's own knows no bfloat16 on a CPU.
    """
    return torch.autocast(device.type, torch.bfloat16, enabled=dtype == torch.bfloat16)


class PerLayerModel(ComposerModel):
    """Reads a batch {"tokens": int64 (batch, length + 1)} and gives the decoder's taps; the loss is the final one.

    Algorithms add to the loss, and may put auxiliary readouts into `readouts`, what else they train into `auxiliary`
    under the name of the algorithm, and a decoder's `fork` into `fork`.
    """

    def __init__(self, decoder: Decoder, compute_dtype: torch.dtype = torch.float32):
        super().__init__()
        self.decoder = decoder
        self.compute_dtype = compute_dtype
        self.readouts: nn.ModuleDict | None = None
        self.auxiliary = nn.ModuleDict()
        self.fork: Fork | None = None

    def autocast(self) -> torch.autocast:
        """The context in which products run in the compute dtype."""
        return products_in(self.compute_dtype, self.decoder.lm_head.weight.device)

    @property
    def head(self) -> Reading:
        """The name of the final loss."""
        return Reading(self.decoder.config.layers, "head")

    def forward(self, batch: dict[str, Tensor]) -> list[Tensor]:
        with self.autocast():
            return self.decoder(batch["tokens"][:, :-1], self.fork)

    def final_loss(self, taps: list[Tensor], tokens: Tensor, reduction: str = "mean") -> Tensor:
        """Next-token cross-entropy of the model's own norm and head, in nats."""
        with self.autocast():
            hidden = self.decoder.model.norm(taps[-1])
            return linear_cross_entropy(hidden, self.decoder.lm_head.weight, tokens[:, 1:], reduction=reduction)

    def loss(self, outputs: list[Tensor], batch: dict[str, Tensor]) -> dict[str, Tensor]:
        final = self.final_loss(outputs, batch["tokens"])
        # Composer scales "total" in place, so it must not be the tensor that is logged
        return {"total": final.clone(), self.head.key: final}

    def eval_forward(self, batch: dict[str, Tensor], outputs: Any = None) -> list[Tensor]:
        return self.forward(batch)
