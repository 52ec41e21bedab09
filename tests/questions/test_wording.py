"""Words that verdicts share."""

import pytest

from perlayer.questions import wording


@pytest.mark.parametrize(
    "numbers, words",
    [
        ([3], "layer 3"),
        ([2, 3], "layers 2 and 3"),
        ([1, 2, 3], "layers 1 to 3"),
        ([1, 3, 4, 5, 6, 9], "layers 1, 3 to 6 and 9"),
    ],
)
def test_layers(numbers, words):
    assert wording.layers(numbers) == words


@pytest.mark.parametrize(
    "value, noise, digits",
    [
        (0.0456268, 0.0456091, 5),
        (-0.0456268, 0.0456091, 5),
        (0.249, 0.046, 3),
        (0.0317, 0.0319, 4),
        (0.1, 0.1, 6),
        (0.1, None, 3),
    ],
)
def test_digits_that_tell_a_difference_from_its_noise(value, noise, digits):
    assert wording.digits_apart(value, noise) == digits


@pytest.mark.parametrize(
    "noises, words",
    [
        ([0.0456, 0.0457], "noise 0.046"),
        ([0.02, 0.046], "noise up to 0.046"),
        ([None, 0.02], "noise 0.020"),
        ([None], "noise not known: no seeds"),
    ],
)
def test_noises(noises, words):
    assert wording.noises_of(noises) == words
