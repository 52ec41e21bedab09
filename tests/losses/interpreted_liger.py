"""Run by test_liger in a process of its own: Liger-Kernel's fused loss on a CPU, by triton's interpreter.

Prints, as JSON, the largest relative differences from torch's own cross-entropy in float32 and under bfloat16.
"""

import json
import os

os.environ["TRITON_INTERPRET"] = "1"  # before anything imports triton

import torch
from torch.nn import functional
from triton.runtime.driver import driver

from perlayer.losses.linear_cross_entropy import liger_mean_loss


class NoDriver:
    """What triton asks of a GPU's driver at import."""

    def get_benchmarker(self):
        return None


driver.set_active(NoDriver())

generator = torch.Generator().manual_seed(0)
hidden = torch.randn(64, 16, generator=generator).requires_grad_()
weight = (torch.randn(300, 16, generator=generator) * 0.75).requires_grad_()
targets = torch.randint(0, 300, (64,), generator=generator)
targets[2] = targets[63] = -100
expected = functional.cross_entropy(hidden @ weight.T, targets)
gradients = torch.autograd.grad(expected, (hidden, weight))

found = {}
for name in ("float32", "bfloat16"):
    with torch.autocast("cpu", torch.bfloat16, enabled=name == "bfloat16"):
        loss = liger_mean_loss(hidden, weight, targets, -100)
    ours = torch.autograd.grad(loss, (hidden, weight), torch.tensor(0.37))
    assert loss.dtype == torch.float32 and {gradient.dtype for gradient in ours} == {torch.float32}
    found[name] = [abs(loss.item() / expected.item() - 1)] + [
        ((mine - 0.37 * theirs).norm() / (0.37 * theirs).norm()).item() for mine, theirs in zip(ours, gradients)
    ]
print(json.dumps(found))
