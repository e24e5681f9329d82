"""Other right answers to the exercises of attention_weights."""

import math
import warnings

import numpy as np
import torch
import torch.nn.functional as F

from autograder.alternatives import answers
from solutions.attention_weights import context_vector, dot_scores, masked_softmax, softmax


@answers("dot_scores")
def dot_scores_by_loops(queries, keys):
    scores = np.zeros((len(queries), len(keys)))
    for t, query in enumerate(queries):
        for i, key in enumerate(keys):
            scores[t, i] = sum(a * b for a, b in zip(query, key, strict=True))
    return scores


@answers("dot_scores")
def dot_scores_by_einsum(queries, keys):
    return np.einsum("td,id->ti", queries, keys)


@answers("dot_scores")
def dot_scores_by_inner(queries, keys):
    return np.inner(queries, keys)


@answers("dot_scores")
def dot_scores_transposed_at_the_end(queries, keys):
    return keys.dot(queries.T).T


@answers("dot_scores")
def dot_scores_by_broadcasting(queries, keys):
    print("products:", queries.shape, keys.shape)
    return np.sum(queries[:, np.newaxis, :] * keys[np.newaxis], axis=-1)


@answers("dot_scores")
def dot_scores_by_torch(queries, keys):
    return F.linear(torch.from_numpy(queries), torch.from_numpy(keys)).numpy()


@answers("scaled_dot_scores")
def scaled_by_math(queries, keys):
    d = keys.shape[1]
    return dot_scores(queries, keys) / math.sqrt(d)


@answers("scaled_dot_scores")
def scaled_by_power(queries, keys):
    return np.matmul(queries, np.transpose(keys)) * queries.shape[-1] ** -0.5


@answers("scaled_dot_scores")
def scaled_beforehand(queries, keys):
    return (queries / len(queries[0]) ** 0.5) @ keys.T


@answers("scaled_dot_scores")
def scaled_in_place(queries, keys):
    scores = dot_scores(queries, keys)
    scores /= np.sqrt(queries.shape[1])
    return scores


@answers("scaled_dot_scores")
def scaled_by_loops(queries, keys):
    d = queries.shape[-1]
    return np.array([[np.dot(query, key) / d**0.5 for key in keys] for query in queries])


@answers("linear_scores")
def linear_by_pairs(queries, keys, W, b):
    scores = np.empty((queries.shape[0], keys.shape[0]))
    for t in range(queries.shape[0]):
        for i in range(keys.shape[0]):
            scores[t, i] = W @ np.concatenate([queries[t], keys[i]]) + b
    return scores


@answers("linear_scores")
def linear_on_all_pairs(queries, keys, W, b):
    T_q, T_k = len(queries), len(keys)
    left = np.repeat(queries[:, None, :], T_k, axis=1)
    right = np.tile(keys, (T_q, 1, 1))
    return np.concatenate((left, right), axis=2) @ W + b


@answers("linear_scores")
def linear_by_outer_sum(queries, keys, W, b):
    w_q, w_k = np.split(W, [queries.shape[1]])
    return np.add.outer(queries @ w_q + b, keys @ w_k)


@answers("linear_scores")
def linear_by_columns(queries, keys, W, b):
    column = W.reshape(-1, 1)
    size = keys.shape[-1]
    scores = (queries @ column[:-size]) + (keys @ column[-size:]).T
    scores += b
    return scores


@answers("additive_scores")
def additive_by_pairs(queries, keys, W, U, v):
    return np.array([[v @ np.tanh(W @ query + U @ key) for key in keys] for query in queries])


@answers("additive_scores")
def additive_by_einsum(queries, keys, W, U, v):
    hidden = np.einsum("ad,td->ta", W, queries)[:, None] + np.einsum("ad,id->ia", U, keys)
    return np.einsum("tia,a->ti", np.tanh(hidden), v)


@answers("additive_scores")
def additive_by_columns(queries, keys, W, U, v):
    hidden = (W @ queries.T)[:, :, None] + (U @ keys.T)[:, None, :]  # (d_a, T_q, T_k)
    np.tanh(hidden, out=hidden)
    return (v[:, None, None] * hidden).sum(0)


@answers("additive_scores")
def additive_by_one_matrix(queries, keys, W, U, v):
    scores = np.zeros((len(queries), len(keys)), dtype=np.float64)
    both = np.hstack([W, U])
    for t in range(len(queries)):
        pairs = np.hstack([np.tile(queries[t], (len(keys), 1)), keys])
        scores[t] = np.tanh(pairs @ both.T).dot(v)
    return scores


@answers("additive_scores")
def additive_by_torch(queries, keys, W, U, v):
    queries, keys, W, U, v = map(torch.from_numpy, (queries, keys, W, U, v))
    return (F.linear(queries, W).unsqueeze(1) + F.linear(keys, U).unsqueeze(0)).tanh().matmul(v).numpy()


@answers("softmax")
def softmax_by_builtins(scores, axis=-1):
    exponentials = np.exp(scores - np.max(scores, axis, keepdims=True))
    return exponentials / np.sum(exponentials, axis, keepdims=True)


@answers("softmax")
def softmax_by_slices(scores, axis=-1):
    def one(row):
        row = np.exp(row - row.max())
        return row / row.sum()

    return np.apply_along_axis(one, axis, scores)


@answers("softmax")
def softmax_with_the_axis_last(scores, axis=-1):
    weights = np.moveaxis(np.array(scores, dtype=np.float64), axis, -1)
    weights -= weights.max(-1)[..., None]
    weights = np.exp(weights)
    weights /= weights.sum(-1)[..., None]
    return np.moveaxis(weights, -1, axis)


@answers("softmax")
def softmax_by_logarithms(scores, axis=-1):
    return np.exp(scores - np.logaddexp.reduce(scores, axis=axis, keepdims=True))


@answers("softmax")
def softmax_in_place_on_a_copy(scores, axis=-1):
    weights = scores.copy()
    weights -= np.expand_dims(weights.max(axis=axis), axis)
    np.exp(weights, out=weights)
    weights /= np.expand_dims(weights.sum(axis=axis), axis) + 1e-12
    return weights


@answers("softmax")
def softmax_by_torch(scores, axis=-1):
    return torch.softmax(torch.tensor(scores), dim=axis).numpy()


@answers("masked_softmax")
def masked_by_minus_infinity(scores, mask, axis=-1):
    return np.nan_to_num(softmax(np.where(mask, scores, -np.inf), axis=axis), nan=0.0)  # numpy warns of 0 / 0


@answers("masked_softmax")
def masked_by_a_low_score(scores, mask, axis=-1):
    allowed = np.zeros(scores.shape, dtype=bool) | mask
    low = scores.copy()
    low[~allowed] = -1e9
    return softmax(low, axis) * allowed


@answers("masked_softmax")
def masked_by_loops(scores, mask, axis=-1):
    rows = np.moveaxis(scores, axis, -1)
    allowed = np.moveaxis(np.broadcast_to(mask, scores.shape), axis, -1)
    weights = np.zeros(rows.shape)
    for place in np.ndindex(rows.shape[:-1]):
        chosen = allowed[place]
        if chosen.any():
            weights[place][chosen] = softmax(rows[place][chosen])
    return np.moveaxis(weights, -1, axis)


@answers("masked_softmax")
def masked_by_its_own_maximum(scores, mask, axis=-1):
    warnings.warn("an empty row has no maximum", stacklevel=2)
    mask = np.logical_and(mask, np.ones_like(scores, dtype=bool))
    highest = np.max(scores, axis=axis, keepdims=True, where=mask, initial=np.finfo(scores.dtype).min)
    exponentials = np.exp(scores - highest, where=mask, out=np.zeros_like(scores))
    total = exponentials.sum(axis=axis, keepdims=True)
    return np.divide(exponentials, total, out=np.zeros_like(scores), where=total > 0)


@answers("masked_softmax")
def masked_by_an_added_mask(scores, mask, axis=-1):
    shifted = softmax(scores + np.where(mask, 0.0, -np.inf), axis)
    shifted[np.isnan(shifted)] = 0
    return shifted


@answers("context_vector")
def context_by_loops(weights, values):
    contexts = []
    for row in weights:
        context = np.zeros(values.shape[1])
        for weight, value in zip(row, values, strict=True):
            context = context + weight * value
        contexts.append(context)
    return np.stack(contexts)


@answers("context_vector")
def context_by_einsum(weights, values):
    return np.einsum("ti,iv->tv", weights, values)


@answers("context_vector")
def context_by_broadcasting(weights, values):
    return (weights[..., None] * values).sum(axis=1)


@answers("context_vector")
def context_by_tensordot(weights, values):
    return np.tensordot(weights, values, axes=1)


@answers("context_vector")
def context_by_torch(weights, values):
    return torch.mm(torch.as_tensor(weights), torch.as_tensor(values)).numpy()


@answers("attend")
def attend_in_one_way(queries, keys, values, score, mask=None):
    scores = score(queries, keys)
    if mask is None:
        mask = np.ones(scores.shape, dtype=bool)
    weights = masked_softmax(scores, mask, axis=1)
    return context_vector(weights, values), weights


@answers("attend")
def attend_inlined(queries, keys, values, score, mask=None):
    scores = np.array(score(queries, keys), dtype=float)
    if mask is not None:
        scores[~np.broadcast_to(mask, scores.shape)] = -np.inf
    highest = scores.max(axis=1, keepdims=True)
    highest[highest == -np.inf] = 0
    weights = np.exp(scores - highest)
    total = weights.sum(axis=1, keepdims=True)
    total[total == 0] = 1
    weights /= total
    return weights.dot(values), weights


@answers("attend")
def attend_query_by_query(queries, keys, values, score, mask=None):
    scores = score(queries, keys)
    allowed = np.broadcast_to(True if mask is None else mask, scores.shape)
    rows = [masked_softmax(row, permitted) for row, permitted in zip(scores, allowed, strict=True)]
    contexts = [sum(weight * value for weight, value in zip(row, values, strict=True)) for row in rows]
    return np.array(contexts), np.array(rows)


@answers("attend")
def attend_by_torch(queries, keys, values, score, mask=None):
    scores = torch.from_numpy(np.ascontiguousarray(score(queries, keys)))
    if mask is not None:
        scores = scores.masked_fill(torch.from_numpy(np.logical_not(mask)), -torch.inf)
    weights = scores.softmax(dim=-1).nan_to_num(0.0)
    return (weights @ torch.from_numpy(values)).numpy(), weights.numpy()


@answers("attend")
def attend_as_a_list(queries, keys, values, score, mask=None):
    scores = score(queries, keys)
    weights = softmax(scores, axis=-1) if mask is None else masked_softmax(scores, mask, axis=-1)
    return [weights @ values, weights]


@answers("output_step")
def output_by_two_products(contexts, states, W_c, W_y):
    d_v = contexts.shape[1]
    return softmax(np.tanh(contexts @ W_c[:, :d_v].T + states @ W_c[:, d_v:].T) @ W_y.T, axis=1)


@answers("output_step")
def output_step_by_step(contexts, states, W_c, W_y):
    rows = [W_y @ np.tanh(W_c @ np.r_[context, state]) for context, state in zip(contexts, states, strict=True)]
    exponentials = [np.exp(row - max(row)) for row in rows]
    return np.array([row / sum(row) for row in exponentials])


@answers("output_step")
def output_by_einsum(contexts, states, W_c, W_y):
    hidden = np.einsum("ad,td->ta", W_c, np.hstack((contexts, states)))
    return softmax(np.einsum("va,ta->tv", W_y, np.tanh(hidden)))


@answers("output_step")
def output_in_columns(contexts, states, W_c, W_y):
    both = np.vstack([contexts.T, states.T])
    return softmax(np.dot(W_y, np.tanh(np.dot(W_c, both))), axis=0).T


@answers("output_step")
def output_by_torch(contexts, states, W_c, W_y):
    both = torch.cat([torch.from_numpy(contexts), torch.from_numpy(states)], dim=1)
    return F.softmax(F.linear(torch.tanh(F.linear(both, torch.from_numpy(W_c))), torch.from_numpy(W_y)), dim=1).numpy()
