"""Attention residuals by blocks of sublayers (Kimi Team 2026, arXiv 2603.15031, section 3.2)."""

from __future__ import annotations

from torch import Tensor

from perlayer.model.residual import attnres_full
from perlayer.model.residual.attnres_full import Sources

BLOCKS = 8  # recipe section 6b, row 9


class Design(attnres_full.Design):
    """Every sublayer attends over the embedding, the sum of outputs of each finished block, and that of its own so far.

    S sublayers make blocks of ceil(S / 8), the last of which may be shorter; a block may begin within a layer. The
    first sublayer of a block sees no running sum. In the state, that sum is the last source.
    """

    def __init__(self, config):
        super().__init__(config)
        self.block_size = -(-2 * config.layers // BLOCKS)

    def gather(self, sources: Sources, written: int, output: Tensor) -> tuple[Sources, Tensor]:
        if (written - 1) % self.block_size == 0:
            return sources, output.to(sources[0].dtype)  # sums are held in the precision of the embedding
        return sources[:-1], sources[-1] + output

    def passes(self, written: int) -> bool:
        return written % self.block_size != 0
