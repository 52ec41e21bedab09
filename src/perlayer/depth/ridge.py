"""Ridge regression with a bias, from moments that are gathered a batch at a time."""

from __future__ import annotations

from torch import Tensor, linalg, outer


class Moments:
    """Means of inputs and outputs, and their products around those means, in float64.

    Batches are joined as Chan, Golub, LeVeque 1983 have it, so that large means cost no digits.
    """

    def __init__(self):
        self.count = 0

    def add(self, inputs: Tensor, outputs: Tensor) -> None:
        """Take in (tokens, inputs) and (tokens, outputs), at least one token."""
        inputs, outputs, count = inputs.double(), outputs.double(), len(inputs)
        mean_input, mean_output = inputs.mean(0), outputs.mean(0)
        inputs, outputs = inputs - mean_input, outputs - mean_output
        squares, products = inputs.T @ inputs, inputs.T @ outputs
        if not self.count:
            self.mean_input, self.mean_output = mean_input, mean_output
            self.squares, self.products = squares, products
        else:
            total = self.count + count
            apart, apart_output = mean_input - self.mean_input, mean_output - self.mean_output
            between = self.count * count / total
            self.squares += squares + between * outer(apart, apart)
            self.products += products + between * outer(apart, apart_output)
            self.mean_input = self.mean_input + apart * (count / total)
            self.mean_output = self.mean_output + apart_output * (count / total)
        self.count += count


class Ridge:
    """The linear maps that fit the moments best, for any penalty on the squares of their weights; the bias is free.

    A penalty is in units of the mean variance of the inputs, and of the mean squared error: the map minimises
    mean |y - W x - b|^2 + penalty * mean variance * |W|^2.
    """

    def __init__(self, moments: Moments):
        self.mean_input, self.mean_output = moments.mean_input, moments.mean_output
        variances, self.directions = linalg.eigh(moments.squares / moments.count)
        self.variances = variances.clamp_min(0)
        self.products = self.directions.T @ moments.products / moments.count

    def predict(self, inputs: Tensor, penalty: float) -> Tensor:
        """(tokens, inputs) to (tokens, outputs), float64.

        Args:
            penalty: above 0.
        """
        along = (inputs.double() - self.mean_input) @ self.directions
        return self.mean_output + along / (self.variances + penalty * self.variances.mean()) @ self.products
