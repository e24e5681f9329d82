"""Self-attention: every position of one sequence looks at every other.

Letters: B batch, T positions (T_q of queries, T_k of keys), d_model, d_k, d_v. Masks are bool, True = may attend.
"""

import math

import torch
from torch import nn


def project_qkv(x, w_q, w_k, w_v):
    """Make queries, keys and values: three projections of the same sequence.

    x:       (B, T, d_model)
    w_q:     (d_model, d_k)
    w_k:     (d_model, d_k)
    w_v:     (d_model, d_v)
    returns  query (B, T, d_k), key (B, T, d_k), value (B, T, d_v)

    Source: Vaswani et al. 2017, section 3.2.2, for one head.
    """
    return x @ w_q, x @ w_k, x @ w_v  # (B, T, d_k), (B, T, d_k), (B, T, d_v)


def scaled_dot_product_attention(query, key, value, mask=None):
    """Mix the values by how well each query matches each key: softmax(Q K^T / sqrt(d_k)) V.

    query:   (..., T_q, d_k)
    key:     (..., T_k, d_k)
    value:   (..., T_k, d_v)
    mask:    None, or bool that broadcasts to (..., T_q, T_k); True where attention is allowed
    returns  (..., T_q, d_v) a query that may attend to nothing gets zeros, and no NaN flows back from it

    Source: Vaswani et al. 2017, equation 1.
    """
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])  # (..., T_q, T_k)
    if mask is None:
        return torch.softmax(scores, dim=-1) @ value  # (..., T_q, d_v)
    some_allowed = mask.any(dim=-1, keepdim=True)  # (..., T_q, 1)
    scores = scores.masked_fill(~mask & some_allowed, -torch.inf)
    weights = torch.softmax(scores, dim=-1) * some_allowed  # (..., T_q, T_k)
    return weights @ value  # (..., T_q, d_v)


def padding_mask(tokens, pad_id):
    """Allow every position to attend to real tokens only, never to padding.

    tokens:  (B, T) integer token ids
    pad_id:  the id that fills up short sequences, at either end
    returns  (B, 1, T) bool, True where the key is a real token; it broadcasts over the queries
    """
    return (tokens != pad_id)[:, None, :]  # (B, 1, T)


def causal_mask(T):
    """Allow position t to attend to the positions 0..t: itself and the past, never the future.

    T:       the length of the sequence
    returns  (T, T) bool, True where query (row) may attend to key (column)

    Source: Vaswani et al. 2017, section 3.2.3.
    """
    return torch.tril(torch.ones(T, T, dtype=torch.bool))  # (T, T)


def additive_mask(mask, dtype=torch.float32):
    """Turn a bool mask into the M of softmax(Q K^T / sqrt(d_k) + M): 0 where allowed, minus infinity where not.

    mask:    bool of any shape, True where attention is allowed
    dtype:   the floating type of the result
    returns  the shape of mask, on its device
    """
    return torch.zeros(mask.shape, dtype=dtype, device=mask.device).masked_fill(~mask, -torch.inf)


class SelfAttention(nn.Module):
    """One head of self-attention: project x three ways, attend, and return one vector a position.

    Parameters (nn.Linear without bias): `query` and `key`, d_model -> d_k, and `value`, d_model -> d_v.
    It has no other parameters or buffers, and no dropout.

    Source: Vaswani et al. 2017, section 3.2.
    """

    def __init__(self, d_model, d_k, d_v):
        """Make the three projections, named query, key and value."""
        super().__init__()
        self.query = nn.Linear(d_model, d_k, bias=False)
        self.key = nn.Linear(d_model, d_k, bias=False)
        self.value = nn.Linear(d_model, d_v, bias=False)

    def forward(self, x, mask=None):
        """Let every position of x attend to every position of x that the mask allows.

        x:       (B, T, d_model)
        mask:    None, or bool that broadcasts to (B, T, T); True where attention is allowed
        returns  (B, T, d_v)
        """
        return scaled_dot_product_attention(self.query(x), self.key(x), self.value(x), mask)  # (B, T, d_v)


def softmax_backward(weights, gradient):
    """Carry a gradient back through softmax along the last axis, without building the Jacobian.

    weights:  (..., T_k) the output of softmax
    gradient: (..., T_k) dL/dweights
    returns   (..., T_k) dL/dscores

    The Jacobian of one row of weights a is diag(a) - a a^T.
    """
    shared = (weights * gradient).sum(dim=-1, keepdim=True)  # (..., 1)
    return weights * (gradient - shared)  # (..., T_k)
