"""Attention weights: score every source position, normalise the scores, mix the values.

Letters: T_q queries (decoder steps), T_k keys (source positions), d_q, d_k, d_v their sizes, V the vocabulary.
"""

import math

import numpy as np


def dot_scores(queries, keys):
    """Score every query against every key by their dot product.

    queries: (T_q, d)   decoder states
    keys:    (T_k, d)   encoder states
    returns  (T_q, T_k) entry [t, i] is e_{t,i} = h_t^dec . h_i^enc

    Source: Luong et al. 2015, section 3.1 (dot).
    """
    return queries @ keys.T  # (T_q, T_k)


def scaled_dot_scores(queries, keys):
    """Score by the dot product, divided by the square root of the size of one vector.

    queries: (T_q, d)
    keys:    (T_k, d)
    returns  (T_q, T_k)

    Source: Vaswani et al. 2017, section 3.2.1.
    """
    return dot_scores(queries, keys) / math.sqrt(queries.shape[-1])  # (T_q, T_k)


def linear_scores(queries, keys, W, b):
    """Score the two states side by side with one linear layer: e_{t,i} = W [h_t^dec ; h_i^enc] + b.

    queries: (T_q, d_q)
    keys:    (T_k, d_k)
    W:       (d_q + d_k,)  the first d_q weights belong to the query
    b:       a number
    returns  (T_q, T_k)

    Source: the lecture's additive score, which has no tanh; see additive_scores for the published one.
    """
    d_q = queries.shape[-1]
    from_queries = queries @ W[:d_q]  # (T_q,)
    from_keys = keys @ W[d_q:]  # (T_k,)
    return from_queries[:, None] + from_keys[None, :] + b  # (T_q, T_k)


def additive_scores(queries, keys, W, U, v):
    """Score with a small network of one hidden layer: e_{t,i} = v . tanh(W s_t + U h_i).

    queries: (T_q, d_q)
    keys:    (T_k, d_k)
    W:       (d_a, d_q)
    U:       (d_a, d_k)
    v:       (d_a,)
    returns  (T_q, T_k)

    Source: Bahdanau et al. 2015, appendix A.1.2. There the query is the decoder's previous state.
    """
    from_queries = queries @ W.T  # (T_q, d_a)
    from_keys = keys @ U.T  # (T_k, d_a)
    hidden = np.tanh(from_queries[:, None, :] + from_keys[None, :, :])  # (T_q, T_k, d_a)
    return hidden @ v  # (T_q, T_k)


def softmax(scores, axis=-1):
    """Turn scores into weights: along the axis they are positive and sum to one. Large scores do not overflow.

    scores: any shape
    axis:   the axis along which the weights compete
    returns the shape of scores

    Source: Bahdanau et al. 2015, equation 6.
    """
    shifted = scores - scores.max(axis=axis, keepdims=True)
    exponentials = np.exp(shifted)
    return exponentials / exponentials.sum(axis=axis, keepdims=True)


def masked_softmax(scores, mask, axis=-1):
    """Softmax over the allowed positions only. Where nothing is allowed, the weights are all zero, never NaN.

    scores: any shape
    mask:   bool, of a shape that broadcasts to that of scores; True where attention is allowed
    axis:   the axis along which the weights compete
    returns the shape of scores
    """
    mask = np.broadcast_to(mask, scores.shape)
    some_allowed = mask.any(axis=axis, keepdims=True)
    allowed_scores = np.where(mask, scores, -np.inf)
    weights = softmax(np.where(some_allowed, allowed_scores, 0.0), axis)
    return np.where(some_allowed, weights, 0.0)


def context_vector(weights, values):
    """Mix the values: each context vector is their sum, weighted by one row of weights.

    weights: (T_q, T_k)
    values:  (T_k, d_v)
    returns  (T_q, d_v) row t is c_t = sum_i alpha_{t,i} h_i

    Source: Bahdanau et al. 2015, equation 5.
    """
    return weights @ values  # (T_q, d_v)


def attend(queries, keys, values, score, mask=None):
    """Attention in three steps: score, normalise over the keys, mix the values.

    queries: (T_q, d_q)
    keys:    (T_k, d_k)
    values:  (T_k, d_v)
    score:   a function of (queries, keys) that returns (T_q, T_k), such as dot_scores
    mask:    None, or bool that broadcasts to (T_q, T_k); True where attention is allowed
    returns  the context vectors (T_q, d_v) and the weights (T_q, T_k)
    """
    scores = score(queries, keys)  # (T_q, T_k)
    weights = softmax(scores) if mask is None else masked_softmax(scores, mask)  # (T_q, T_k)
    return context_vector(weights, values), weights


def output_step(contexts, states, W_c, W_y):
    """Read the output distribution off the context and the decoder state: y_t = g(c_t, h_t).

    contexts: (T_q, d_v)
    states:   (T_q, d)
    W_c:      (d_a, d_v + d)  mixes [c_t ; h_t], followed by tanh
    W_y:      (V, d_a)        gives the logits, followed by softmax
    returns   (T_q, V) each row is a distribution over the vocabulary

    Source: Luong et al. 2015, equations 5 and 6.
    """
    both = np.concatenate([contexts, states], axis=-1)  # (T_q, d_v + d)
    attentional = np.tanh(both @ W_c.T)  # (T_q, d_a)
    return softmax(attentional @ W_y.T)  # (T_q, V)
