"""Draw the inputs of a case from a numpy Generator.

torch is imported where it is needed: a chapter without it must not wait for it.
"""

import numpy as np


def array(rng, *shape, scale=1.0, dtype=np.float64):
    """A numpy array of normal numbers."""
    return (scale * rng.normal(size=shape)).astype(dtype)


def tensor(rng, *shape, scale=1.0, dtype=None):
    """A torch tensor of normal numbers, float32 unless another dtype is asked for."""
    import torch

    return torch.from_numpy(scale * rng.normal(size=shape)).to(dtype or torch.float32)


def mask(rng, *shape):
    """A bool numpy array with at least one True and, where there is room, one False in each row."""
    drawn = rng.random(size=shape) < 0.6
    drawn[..., 0] = False
    drawn[..., -1] = True
    return rng.permuted(drawn, axis=-1)


def weights_of(rng, module, dtype=None):
    """Random weights for a module: a state dict of the same names and shapes, drawn without its own initialisation."""
    return {name: tensor(rng, *value.shape, scale=0.5, dtype=dtype) for name, value in module.state_dict().items()}
