"""Against autograd itself, and what is kept and copied."""

import gc
import weakref

import pytest
import torch

from perlayer.losses.known_gradients import gradients_at_once, with_known_gradients


def inputs():
    generator = torch.Generator().manual_seed(0)
    return [torch.randn(4, 3, generator=generator, dtype=torch.float64).requires_grad_() for _ in range(2)]


def loss(first, second):
    return (first.sin() * second).square().mean()


def test_equals_autograd():
    first, second = inputs()
    expected = torch.autograd.grad(3 * loss(first, second), (first, second))
    found = torch.autograd.grad(3 * gradients_at_once(loss, first, second), (first, second))
    torch.testing.assert_close(found, expected)
    assert torch.autograd.gradcheck(lambda *each: gradients_at_once(loss, *each), (first, second))


def test_an_input_without_gradient_gets_none():
    first, second = inputs()
    gradients_at_once(loss, first.detach(), second).backward()
    assert first.grad is None
    torch.testing.assert_close(second.grad, torch.autograd.grad(loss(first, second), second)[0])


def test_without_gradients_it_is_the_loss():
    first, second = inputs()
    with torch.no_grad():
        found = gradients_at_once(loss, first, second)
    assert not found.requires_grad and found == loss(first, second)


@pytest.mark.parametrize("at_once", [True, False])
def test_what_it_computed_on_the_way_is_released(at_once):
    first, second = inputs()
    seen = []

    def remembers(first, second):
        wave = first.sin()
        seen.append(weakref.ref(wave))
        return (wave * second).square().mean()

    value = gradients_at_once(remembers, first, second) if at_once else remembers(first, second)
    gc.collect()
    assert (seen[0]() is None) == at_once  # autograd keeps it for the backward pass
    value.backward()


def test_gradients_are_handed_on_not_copied():
    (first, _), gradient = inputs(), torch.ones(4, 3, dtype=torch.float64)
    address = gradient.data_ptr()
    value = with_known_gradients(torch.tensor(1.0, dtype=torch.float64), (first,), (gradient,))
    del gradient
    value.backward()
    assert first.grad.data_ptr() == address


def test_a_graph_that_is_kept_can_be_passed_again():
    first, _ = inputs()
    value = with_known_gradients(torch.tensor(1.0, dtype=torch.float64), (first,), (torch.ones(4, 3).double(),))
    for _ in range(2):
        (found,) = torch.autograd.grad(2 * value, first, retain_graph=True)
        assert torch.equal(found, torch.full((4, 3), 2.0, dtype=torch.float64))
    value.backward()
    with pytest.raises(RuntimeError):
        value.backward()
