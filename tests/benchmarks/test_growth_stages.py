"""The benchmark of growth training: each stage trains its own layers, and is held against its own cost."""

import pytest

from benchmarks import growth
from benchmarks.measure import Ratio
from benchmarks.training_step import build


def test_every_stage_is_measured_with_its_layers_alone(monkeypatch):
    trained = []

    def building(*arguments, **options):
        trained.append(build(*arguments, **options))
        return trained[-1]

    def alternate(*steps, **_):
        decoder = trained[-2].model.decoder
        layers = [
            number for number, layer in enumerate(decoder.model.layers, 1) if next(layer.parameters()).requires_grad
        ]
        found.append(layers)
        return Ratio(0.8, 0.7, 0.9, 0.8, 1.0)

    found = []
    monkeypatch.setattr(growth, "build", building)
    monkeypatch.setattr(growth, "alternate", alternate)
    monkeypatch.setattr(growth, "prepare", lambda: None)
    rows = growth.rows()
    assert found == [[3], [1], [5], [4, 5], [2, 6]]  # the six stages of six layers, the whole left out
    # forward and backward for inputs are two thirds, and a layer 37888 of 260096 operations a token, the head 32768
    assert rows[0].bound == pytest.approx((2 * 260096 + 37888 + 32768) / (3 * 260096) + 0.1, abs=1e-9)
