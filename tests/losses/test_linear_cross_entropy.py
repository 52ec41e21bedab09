"""Against torch.nn.functional.cross_entropy, which is not ours, and gradcheck."""

import pytest
import torch
from torch.nn import functional
from torch.utils._python_dispatch import TorchDispatchMode

from perlayer.losses import linear_cross_entropy as module
from perlayer.losses.linear_cross_entropy import linear_cross_entropy


@pytest.fixture(params=[(10**9, 64), (40, 64), (40, 0)], ids=["one chunk", "many chunks", "many chunks, wide"])
def chunked(request, monkeypatch):
    at_once, narrow = request.param
    monkeypatch.setattr(module, "LOGITS_AT_ONCE_CPU", at_once)
    monkeypatch.setattr(module, "LEAST_ROWS", 1)
    monkeypatch.setattr(module, "NARROW", narrow)


def inputs(dtype=torch.float64):
    generator = torch.Generator().manual_seed(0)
    hidden = torch.randn(3, 7, 5, generator=generator, dtype=dtype).requires_grad_()
    weight = (3 * torch.randn(13, 5, generator=generator, dtype=dtype)).requires_grad_()
    targets = torch.randint(0, 13, (3, 7), generator=generator)
    targets[0, 2] = targets[2, 6] = -100
    return hidden, weight, targets


def expected(hidden, weight, targets, reduction):
    logits = functional.linear(hidden, weight).flatten(0, 1)
    loss = functional.cross_entropy(logits, targets.flatten(), reduction=reduction)
    return loss if reduction == "mean" else loss.view(targets.shape)


@pytest.mark.parametrize("reduction", ["mean", "none"])
def test_equals_cross_entropy_in_float64(chunked, reduction):
    hidden, weight, targets = inputs()
    loss = linear_cross_entropy(hidden, weight, targets, reduction=reduction)
    reference = expected(hidden, weight, targets, reduction)
    torch.testing.assert_close(loss, reference, rtol=1e-12, atol=1e-13)
    cotangent = torch.randn(loss.shape, dtype=loss.dtype)
    ours = torch.autograd.grad(loss, (hidden, weight), cotangent)
    theirs = torch.autograd.grad(reference, (hidden, weight), cotangent)
    torch.testing.assert_close(ours, theirs, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("reduction", ["mean", "none"])
def test_gradcheck(chunked, reduction):
    hidden, weight, targets = inputs()
    assert torch.autograd.gradcheck(
        lambda h, w: linear_cross_entropy(h, w, targets, reduction=reduction), (hidden, weight)
    )


def test_close_in_float32_and_under_bfloat16_autocast(chunked):
    hidden, weight, targets = inputs()
    reference = expected(hidden, weight, targets, "mean")
    exact = torch.autograd.grad(reference, (hidden, weight))
    narrow, narrow_weight = hidden.detach().float().requires_grad_(), weight.detach().float().requires_grad_()
    loss = linear_cross_entropy(narrow, narrow_weight, targets)
    torch.testing.assert_close(loss.double(), reference, rtol=1e-6, atol=1e-6)
    for ours, theirs in zip(torch.autograd.grad(loss, (narrow, narrow_weight)), exact):
        torch.testing.assert_close(ours.double(), theirs, rtol=1e-5, atol=1e-6)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = linear_cross_entropy(narrow, narrow_weight, targets)
    assert loss.dtype == torch.float32
    torch.testing.assert_close(loss.double(), reference, rtol=2e-2, atol=2e-2)
    for ours, theirs in zip(torch.autograd.grad(loss, (narrow, narrow_weight)), exact):
        assert ours.dtype == torch.float32
        torch.testing.assert_close(ours.double(), theirs, rtol=5e-2, atol=1e-2)


def test_an_impossible_token_has_a_finite_loss():
    # closed form: logits 0 and 200 give a loss of 200 + log(1 + e^-200) = 200 for the first
    hidden, weight = torch.ones(1, 1), torch.tensor([[0.0], [200.0]])
    assert linear_cross_entropy(hidden, weight, torch.tensor([0])).item() == pytest.approx(200.0)


def test_no_gradient_is_formed_for_what_needs_none():
    hidden, weight, targets = inputs()
    (gradient,) = torch.autograd.grad(linear_cross_entropy(hidden.detach(), weight, targets), weight)
    (full,) = torch.autograd.grad(linear_cross_entropy(hidden, weight, targets), weight)
    assert torch.equal(gradient, full)


def test_wrong_shapes_and_reductions_are_refused():
    with pytest.raises(ValueError, match="expected hidden"):
        linear_cross_entropy(torch.zeros(3, 5), torch.zeros(7, 4), torch.zeros(3, dtype=torch.long))
    with pytest.raises(ValueError, match="mean or none"):
        linear_cross_entropy(torch.zeros(3, 5), torch.zeros(7, 5), torch.zeros(3, dtype=torch.long), reduction="sum")


class LargestResult(TorchDispatchMode):
    """Remembers the largest tensor that any operation gave."""

    elements = 0

    def __torch_dispatch__(self, function, types, arguments=(), keywords=None):
        result = function(*arguments, **(keywords or {}))
        for tensor in result if isinstance(result, tuple | list) else [result]:
            if isinstance(tensor, torch.Tensor):
                self.elements = max(self.elements, tensor.numel())
        return result


@pytest.mark.parametrize("reduction", ["mean", "none"])
def test_never_holds_the_logits_of_all_tokens(monkeypatch, reduction):
    monkeypatch.setattr(module, "LEAST_ROWS", 4)
    monkeypatch.setattr(module, "LOGITS_AT_ONCE_CPU", 4 * 100)
    hidden, weight = torch.randn(50, 8, requires_grad=True), torch.randn(100, 8, requires_grad=True)
    with LargestResult() as largest:
        linear_cross_entropy(hidden, weight, torch.arange(50), reduction=reduction).sum().backward()
    assert largest.elements == 100 * 8  # the weight's gradient; a chunk has 4 x 100 logits, all tokens 50 x 100


@pytest.mark.parametrize("reduction", ["mean", "none"])
def test_no_tokens_have_no_loss(reduction):
    hidden, weight = torch.zeros(0, 5, requires_grad=True), torch.ones(7, 5, requires_grad=True)
    loss = linear_cross_entropy(hidden, weight, torch.zeros(0, dtype=torch.long), reduction=reduction)
    assert loss.shape == (() if reduction == "mean" else (0,)) and loss.sum() == 0
    loss.sum().backward()
    assert torch.equal(weight.grad, torch.zeros(7, 5)) and hidden.grad.shape == (0, 5)


@pytest.mark.parametrize(
    ("hidden", "weight", "targets"),
    [
        (torch.zeros(3, 5, dtype=torch.long), torch.zeros(7, 5), torch.zeros(3, dtype=torch.long)),
        (torch.zeros(3, 5), torch.zeros(7, 5), torch.zeros(3, dtype=torch.int32)),
        (torch.zeros(3, 5), torch.zeros(7, 5), torch.zeros(3)),
        (torch.zeros(3, 5), torch.zeros(5), torch.zeros(3, dtype=torch.long)),
        (torch.zeros(3, 5), torch.zeros(2, 7, 5), torch.zeros(3, dtype=torch.long)),
        (torch.zeros(3, 5), torch.zeros(0, 5), torch.zeros(3, dtype=torch.long)),
        (torch.zeros(3, 0), torch.zeros(7, 0), torch.zeros(3, dtype=torch.long)),
    ],
)
def test_what_does_not_fit_is_refused(hidden, weight, targets):
    with pytest.raises(ValueError, match="expected hidden"):
        linear_cross_entropy(hidden, weight, targets)
