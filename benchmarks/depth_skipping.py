"""Skipping each layer at each position, beside one forward for each of them."""

from __future__ import annotations

import dataclasses

import torch
from torch import Tensor

from benchmarks.measure import Row, alternate
from benchmarks.training_step import NANO, prepare
from perlayer.depth.interventions import rerun, run, skip
from perlayer.model.decoder import Decoder

LAYERS = 12
BOUND = 1 / 3
PAIRS = 3


def rows() -> list[Row]:
    prepare()
    config = dataclasses.replace(NANO.shape.config, layers=LAYERS)
    decoder = Decoder(config)
    decoder.initialize(seed=0)
    decoder.freeze()
    tokens = NANO.batches()[0][:1, :-1]
    with torch.inference_mode():
        measured = alternate(lambda: skip_all(decoder, tokens), lambda: one_by_one(decoder, tokens), PAIRS)
    runs = LAYERS * tokens.shape[1]
    name = f"{runs} skips of a layer at a position ÷ as many forwards, nano of {LAYERS} layers"
    return [measured.row(name, BOUND)]


def skip_all(decoder: Decoder, tokens: Tensor) -> int:
    """Leave out each layer at each position; returns how often."""
    places = torch.eye(tokens.shape[1], dtype=torch.bool)
    ways = [skip("layer", layer, place) for layer in range(1, decoder.config.layers + 1) for place in places]
    return sum(1 for _ in rerun(decoder, run(decoder, tokens), ways))


def one_by_one(decoder: Decoder, tokens: Tensor) -> int:
    """As many forwards; returns how many."""
    times = decoder.config.layers * tokens.shape[1]
    for _ in range(times):
        decoder(tokens)
    return times
