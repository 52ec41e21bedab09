"""Against torch's own KL divergence of full logits, in float64."""

import pytest
import torch
from torch.nn import functional

from perlayer.losses import linear_cross_entropy as chunks
from perlayer.losses.divergence import kl_from_final

VOCABULARY, HIDDEN, TOKENS = 37, 8, 19


def case(dtype=torch.float64, hiddens=3):
    generator = torch.Generator().manual_seed(0)
    draw = lambda *shape: torch.randn(*shape, generator=generator, dtype=torch.float64)  # noqa: E731
    final, weight = draw(TOKENS, HIDDEN), draw(VOCABULARY, HIDDEN)
    return [draw(TOKENS, HIDDEN).to(dtype).requires_grad_() for _ in range(hiddens)], final.to(dtype), weight.to(dtype)


def reference(hidden, final, weight):
    """sum_v p(v) (log p(v) - log q(v)), mean over tokens."""
    log_p, log_q = (functional.log_softmax(each.double() @ weight.double().T, -1) for each in (final, hidden))
    return functional.kl_div(log_q, log_p, reduction="batchmean", log_target=True)


@pytest.fixture(params=[2**18, 5 * VOCABULARY], ids=["one chunk", "chunks of five"])
def at_once(request, monkeypatch):
    monkeypatch.setattr(chunks, "LOGITS_AT_ONCE_CPU", request.param)
    monkeypatch.setattr(chunks, "LEAST_ROWS", 1)


@pytest.mark.parametrize(
    ("dtype", "tolerance"), [(torch.float64, 1e-12), (torch.float32, 2e-5)], ids=["float64", "float32"]
)
def test_losses_and_gradients_are_those_of_full_logits(at_once, dtype, tolerance):
    hiddens, final, weight = case(dtype)
    losses = kl_from_final(hiddens, final, weight)
    sum(loss * factor for loss, factor in zip(losses, (1.0, 2.0, 3.0))).backward()
    for loss, hidden, factor in zip(losses, hiddens, (1.0, 2.0, 3.0)):
        expected = hidden.detach().double().requires_grad_()
        divergence = reference(expected, final, weight)
        (factor * divergence).backward()
        assert loss.dtype == dtype and hidden.grad.dtype == dtype
        torch.testing.assert_close(loss.double(), divergence, rtol=tolerance, atol=tolerance)
        torch.testing.assert_close(hidden.grad.double(), expected.grad, rtol=tolerance, atol=tolerance)


def test_gradcheck(at_once):
    (hidden,), final, weight = case(hiddens=1)
    assert torch.autograd.gradcheck(lambda each: kl_from_final([each], final, weight)[0], hidden)


def test_the_final_output_itself_has_no_divergence_and_no_gradient():
    _, final, weight = case(hiddens=0)
    hidden = final.clone().requires_grad_()
    (loss,) = kl_from_final([hidden], final, weight)
    loss.backward()
    assert loss.item() == 0.0 and not hidden.grad.any()


def test_final_and_weight_get_no_gradient():
    hiddens, final, weight = case()
    final.requires_grad_(), weight.requires_grad_()
    sum(kl_from_final(hiddens, final, weight)).backward()
    assert final.grad is None and weight.grad is None and all(hidden.grad is not None for hidden in hiddens)


def test_products_follow_autocast_and_the_rest_is_float32():
    hiddens, final, weight = case(torch.float32)
    with torch.autocast("cpu", torch.bfloat16):
        losses = kl_from_final(hiddens, final, weight)
    for loss, hidden in zip(losses, hiddens):
        assert loss.dtype == torch.float32
        # bfloat16 keeps 8 bits of each logit
        torch.testing.assert_close(loss.double(), reference(hidden, final, weight), rtol=2e-2, atol=2e-2)


def test_batched_positions_are_positions():
    hiddens, final, weight = case()
    flat = kl_from_final(hiddens, final, weight)
    batched = kl_from_final([h[:18].view(3, 6, HIDDEN) for h in hiddens], final[:18].view(3, 6, HIDDEN), weight)
    again = kl_from_final([h[:18] for h in hiddens], final[:18], weight)
    assert [loss.item() for loss in batched] == [loss.item() for loss in again] != [loss.item() for loss in flat]


@pytest.mark.parametrize("shape", [(TOKENS, HIDDEN + 1), (TOKENS - 1, HIDDEN)])
def test_shapes_that_do_not_fit_are_named(shape):
    _, final, weight = case()
    with pytest.raises(ValueError, match="expected hidden and final"):
        kl_from_final([torch.zeros(shape, dtype=torch.float64)], final, weight)
