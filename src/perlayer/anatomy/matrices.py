"""The weight matrices of a model's layers, by kind, finished and as they would be without training."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from perlayer.model.decoder import Decoder
from perlayer.model.initialization import random_stream
from perlayer.model.published import PublishedDecoder

Matrices = dict[str, list[Tensor]]  # by name within a layer (mlp.gate_proj.weight), one a layer, all of one shape


def layer_matrices(decoder: Decoder) -> Matrices:
    """The matrices of attention and MLP of every layer, (out, in) each: the model's own weights, not copies."""
    names = [
        f"{sublayer}.{name}.weight"
        for sublayer in ("self_attn", "mlp")
        for name, module in getattr(decoder.model.layers[0], sublayer).named_modules()
        if isinstance(module, nn.Linear)
    ]
    return {name: [layer.get_parameter(name).detach() for layer in decoder.model.layers] for name in names}


def initial_matrices(decoder: Decoder, seed: int) -> Matrices:
    """The same before training: those with which a run of this seed begins.

    How a published model began is not known: its matrices become normal draws of the mean and standard deviation that
    each has now.
    """
    if not isinstance(decoder, PublishedDecoder):
        initial = Decoder(decoder.config)
        initial.initialize(seed)
        return layer_matrices(initial.to(decoder.lm_head.weight))
    return {
        name: [_drawn_like(matrix, seed, f"{layer}.{name}") for layer, matrix in enumerate(layers)]
        for name, layers in layer_matrices(decoder).items()
    }


def _drawn_like(matrix: Tensor, seed: int, name: str) -> Tensor:
    draw = torch.randn(matrix.shape, generator=random_stream(seed, name))
    return matrix.mean() + matrix.std() * draw.to(matrix)


def in_float64(layers: list[Tensor]) -> list[Tensor]:
    """One kind of matrix, copied to be computed with."""
    return [matrix.double() for matrix in layers]


def neighbours_of(layer: int, layers: int) -> list[int]:
    """The layers before and after one, from 1; the first and the last have one neighbour, an only layer has none."""
    return [other for other in (layer - 1, layer + 1) if 1 <= other <= layers]


def short_name(name: str) -> str:
    """What a kind of matrix is called in tables: gate_proj."""
    return name.split(".")[-2]
