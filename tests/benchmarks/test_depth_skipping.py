"""That both sides of the benchmark of skipping do as many runs."""

import dataclasses

import torch

from benchmarks import depth_skipping
from benchmarks.measure import Ratio
from benchmarks.training_step import NANO
from perlayer.model.decoder import Decoder


def test_both_sides_do_a_run_for_each_layer_and_position():
    decoder = Decoder(dataclasses.replace(NANO.shape.config, layers=2))
    decoder.initialize(seed=0)
    tokens = NANO.batches()[0][:1, :5]
    with torch.inference_mode():
        assert depth_skipping.skip_all(decoder, tokens) == depth_skipping.one_by_one(decoder, tokens) == 2 * 5


def test_the_row_names_what_is_compared(monkeypatch):
    monkeypatch.setattr(depth_skipping, "prepare", lambda: None)
    monkeypatch.setattr(depth_skipping, "alternate", lambda *_, **__: Ratio(0.2, 0.1, 0.3, 1.0, 5.0))
    (row,) = depth_skipping.rows()
    assert row.name == "768 skips of a layer at a position ÷ as many forwards, nano of 12 layers"
    assert row.measured == 0.2 and row.holds
