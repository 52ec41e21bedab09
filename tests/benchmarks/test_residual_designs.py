"""Which rows the benchmark of residual designs has, and which bytes it counts."""

import torch
from torch import nn

from benchmarks import residual_designs
from benchmarks.measure import Ratio


def test_a_storage_counts_once_and_parameters_do_not():
    linear = nn.Linear(3, 5, bias=False)
    x = torch.ones(7, 3)
    # the product keeps x (7 x 3) and the parameter; the square and the exponential keep their float32 (7 x 5) each,
    # and the second product keeps x again
    assert residual_designs.kept_bytes(linear, lambda: (linear(x).square().exp(), linear(x))) == 4 * (21 + 35 + 35)


def test_every_design_has_two_rows_beside_pre_ln(monkeypatch):
    names = ["pre_ln", "sandwich"]
    monkeypatch.setattr(residual_designs, "design_names", lambda: names)
    monkeypatch.setattr(residual_designs, "prepare", lambda: None)
    monkeypatch.setattr(residual_designs, "alternate", lambda *_, **__: Ratio(1.5, 1.4, 1.6, 3.0, 2.0))
    step, kept = residual_designs.rows()
    assert (step.name, step.measured) == ("step of sandwich ÷ pre_ln, nano", 1.5)
    assert kept.name == "kept for backward by sandwich ÷ pre_ln, nano"
    # two norms a layer more, each of which keeps its input (2048 x 32) and a number a token
    assert kept.measured > 1 and kept.note.endswith("MiB")
