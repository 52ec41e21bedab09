"""Where the gradient of a layer's loss ends, as a decoder's fork."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from perlayer.model.decoder import Fork
from perlayer.model.residual.protocol import ResidualDesign


def own_layer(design: ResidualDesign, layers: int) -> Fork:
    """A fork by which the loss read after layer k trains the readout and layer k alone.

    Layer k runs once more, on the state that entered it without that state's history, and its readout sees the outcome;
    the next layer gets the first one. Both hold the same numbers. The last layer, whose loss trains everything, and the
    embedding stay as they are.

    Args:
        design: how a state is detached.
        layers: of the decoder.
    """

    def fork(layer: int, before: Any, after: Any, run: Callable[[Any], Any] | None) -> tuple[Any, Any]:
        if run is None or layer == layers:
            return after, after
        return run(design.detach(before)), after

    return fork
