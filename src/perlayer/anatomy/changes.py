"""The one way to change the weights of layers and to put them back, and what they are changed to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from perlayer.anatomy.matrices import layer_matrices, neighbours_of
from perlayer.depth.interventions import Intervention, Trace, UntouchedRun, rerun, skip
from perlayer.model.decoder import Decoder
from perlayer.model.initialization import random_stream

SEED = 0  # of noise and of new draws, the same for every model
Weights = Mapping[str, Tensor]  # of one layer, by their names within it


@dataclass(frozen=True, eq=False)
class WeightChange:
    """Weights of layers, moved towards others: at strength s they are (1 - s) x their own + s x the others."""

    towards: Mapping[int, Weights]  # by layer, from 1; weights that are not named stay as they are
    strength: float = 1.0


@contextmanager
def weights_changed(decoder: Decoder, change: WeightChange) -> Iterator[None]:
    """A decoder with changed weights; afterwards they are bit for bit what they were."""
    pairs = [
        (decoder.model.layers[layer - 1].get_parameter(name).detach(), other)
        for layer, weights in change.towards.items()
        for name, other in weights.items()
    ]
    before = [parameter.clone() for parameter, _ in pairs]
    try:
        for parameter, other in pairs:
            parameter.lerp_(other.to(parameter), change.strength)
        yield
    finally:
        for (parameter, _), own in zip(pairs, before):
            parameter.copy_(own)


def changed_run(decoder: Decoder, untouched: UntouchedRun, change: Intervention | WeightChange) -> Trace:
    """Run the same tokens with a change of the model; layers below it are not run again."""
    if isinstance(change, Intervention):
        (trace,) = rerun(decoder, untouched, [change])
        return trace
    # a state may hold what its next sublayer reads, made with the weights of that sublayer; a detached one does not
    untouched = replace(untouched, states=tuple(decoder.design.detach(state) for state in untouched.states))
    nowhere = torch.zeros(1, 1, dtype=torch.bool, device=untouched.tokens.device)
    from_there_on = skip("layer", min(change.towards), nowhere)  # which skips nothing
    with weights_changed(decoder, change):
        (trace,) = rerun(decoder, untouched, [from_there_on])
    return trace


def layer_weights(decoder: Decoder, layer: int) -> dict[str, Tensor]:
    """Every parameter of layer `layer` (from 1), norms and those of the residual design included."""
    return {name: parameter.detach() for name, parameter in decoder.model.layers[layer - 1].named_parameters()}


def matrices(decoder: Decoder, layer: int) -> dict[str, Tensor]:
    """The matrices of its attention and MLP alone, (out, in)."""
    return {name: layers[layer - 1] for name, layers in layer_matrices(decoder).items()}


def neighbours(decoder: Decoder, layer: int) -> list[int]:
    """The layers before and after; the first and the last layer have one neighbour, and an only layer has none."""
    return neighbours_of(layer, decoder.config.layers)


def neighbour_average(decoder: Decoder, layer: int) -> dict[str, Tensor]:
    """The mean of the neighbours' weights; what only some layers have is left out."""
    others = [layer_weights(decoder, other) for other in neighbours(decoder, layer)]
    shared = [name for name in layer_weights(decoder, layer) if all(name in other for other in others)]
    return {name: torch.stack([other[name] for other in others]).mean(0) for name in shared}


def neighbour_copy(decoder: Decoder, layer: int) -> dict[str, Tensor]:
    """The weights of the layer before, or after the first; what only one of the two has is left out."""
    other = layer_weights(decoder, neighbours(decoder, layer)[0])
    return {name: other[name].clone() for name in layer_weights(decoder, layer) if name in other}


def zeros(decoder: Decoder, layer: int) -> dict[str, Tensor]:
    """Zero for every weight."""
    return {name: torch.zeros_like(weight) for name, weight in layer_weights(decoder, layer).items()}


def with_noise(decoder: Decoder, layer: int) -> dict[str, Tensor]:
    """Its matrices plus independent normal noise of each matrix's own standard deviation."""
    return {
        name: matrix + _drawn_like(matrix, f"noise.{layer}.{name}") for name, matrix in matrices(decoder, layer).items()
    }


def drawn_anew(decoder: Decoder, layer: int) -> dict[str, Tensor]:
    """Matrices of independent normal entries, each with the standard deviation of the matrix it stands for."""
    return {name: _drawn_like(matrix, f"anew.{layer}.{name}") for name, matrix in matrices(decoder, layer).items()}


def _drawn_like(matrix: Tensor, name: str) -> Tensor:
    # drawn on the CPU, so that every device has the same noise
    return torch.randn(matrix.shape, generator=random_stream(SEED, name)).to(matrix) * matrix.std(correction=0)
