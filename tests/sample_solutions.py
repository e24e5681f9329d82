"""A chapter for the tests alone: one reference of each kind that an exam can ask for."""

import numpy as np
import torch
from torch import nn


def halvings(number):
    """Count how often a whole number, at least one, can be halved and rounded down before it is one."""
    steps = 0
    while number > 1:
        number //= 2
        steps += 1
    return steps


def centre(points, axis=0):
    """Take the mean away.

    points:  any shape
    axis:    the axis along which the mean is taken
    returns  the centred points, of the shape of points, and the mean
    """
    mean = points.mean(axis=axis, keepdims=True)
    return points - mean, mean.squeeze(axis)


def gate(x, weight):
    """Let through as much of x as the weight says.

    x:       (B, d)
    weight:  (d,)
    returns  (B, d)
    """
    return x * torch.sigmoid(weight)


class Affine(nn.Module):
    """A linear map and a bias. Parameters: `weight` (d_in, d_out) and `bias` (d_out,)."""

    def __init__(self, d_in, d_out):
        """Make the two parameters, both zero."""
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(d_in, d_out))
        self.bias = nn.Parameter(torch.zeros(d_out))

    def forward(self, x):
        """Map x (..., d_in) to (..., d_out)."""
        return x @ self.weight + self.bias


class Codec:
    """A vocabulary of words; the last id stands for every unknown word."""

    def __init__(self, words):
        """Number the words in the order in which they come."""
        self.ids = {word: number for number, word in enumerate(words)}

    def encode(self, text):
        """The ids of the words of a text, which spaces separate."""
        unknown = len(self.ids)
        return [self.ids.get(word, unknown) for word in text.split()]

    def size(self):
        """How many ids there are."""
        return len(self.ids) + 1


def draw(probabilities, rng):
    """Draw an index with these probabilities.

    probabilities: (V,) sums to one
    rng:           a numpy Generator
    returns        a whole number below V
    """
    return rng.choice(len(probabilities), p=probabilities)


def rotation(size, rng):
    """A random orthogonal matrix.

    size:    the number of rows and of columns
    rng:     a numpy Generator
    returns  (size, size)
    """
    return np.linalg.qr(rng.normal(size=(size, size)))[0]


def apply(function, x):
    """Apply a function twice."""
    return function(function(x))
