"""The references of attention_weights agree with oracles that we did not write."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from solutions.attention_weights import (
    additive_scores,
    attend,
    context_vector,
    dot_scores,
    linear_scores,
    masked_softmax,
    output_step,
    scaled_dot_scores,
    softmax,
)

SIZES = [(3, 5, 4, 6), (1, 4, 3, 2), (5, 1, 2, 3), (4, 4, 4, 4)]  # T_q, T_k, d, d_v
DTYPES = [np.float32, np.float64]


def draw(dtype, *shapes):
    rng = np.random.default_rng(2015)
    return [rng.normal(size=shape).astype(dtype) for shape in shapes]


def tensors(*arrays):
    return [torch.from_numpy(array) for array in arrays]


def draw_mask(*shape):
    """A bool mask with one row in which nothing is allowed."""
    allowed = np.random.default_rng(7).random(shape) < 0.6
    allowed[..., 0, :] = False
    return allowed


def assert_close(ours, theirs):
    theirs = theirs.numpy() if isinstance(theirs, torch.Tensor) else np.asarray(theirs)
    tolerance = 1e-5 if theirs.dtype == np.float32 else 1e-12
    np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance)


def on_every(test):
    """Run a test on every choice of sizes, in every dtype."""
    return pytest.mark.parametrize("sizes", SIZES)(pytest.mark.parametrize("dtype", DTYPES)(test))


@on_every
def test_dot_scores_are_a_linear_layer_whose_weights_are_the_keys(sizes, dtype):
    T_q, T_k, d, _ = sizes
    queries, keys = draw(dtype, (T_q, d), (T_k, d))
    assert_close(dot_scores(queries, keys), F.linear(*tensors(queries, keys)))


@on_every
def test_scaled_dot_scores_are_those_of_the_fused_attention(sizes, dtype):
    T_q, T_k, d, _ = sizes
    queries, keys = draw(dtype, (T_q, d), (T_k, d))
    every_weight = torch.eye(T_k, dtype=torch.from_numpy(keys).dtype)
    theirs = F.scaled_dot_product_attention(*tensors(queries, keys), every_weight)
    assert_close(softmax(scaled_dot_scores(queries, keys)).astype(dtype), theirs)


def test_scaling_gives_scores_of_random_vectors_unit_variance():
    for d in (4, 64, 1024):
        queries, keys = draw(np.float64, (300, d), (301, d))
        assert scaled_dot_scores(queries, keys).var() == pytest.approx(1.0, abs=0.1)


@on_every
def test_linear_scores_are_a_linear_layer_on_every_pair(sizes, dtype):
    T_q, T_k, d, d_v = sizes
    queries, keys, W = draw(dtype, (T_q, d), (T_k, d_v), (d + d_v,))
    left, right, weight = tensors(queries, keys, W)
    pairs = torch.cat([left[:, None].expand(-1, T_k, -1), right.expand(T_q, -1, -1)], dim=-1)
    theirs = F.linear(pairs, weight[None], torch.tensor([0.75], dtype=weight.dtype)).squeeze(-1)
    assert_close(linear_scores(queries, keys, W, 0.75), theirs)


def test_linear_scores_give_every_query_the_same_weights():
    queries, keys, W = draw(np.float64, (3, 4), (5, 2), (6,))
    weights = F.softmax(torch.from_numpy(linear_scores(queries, keys, W, 0.75)), dim=-1)
    assert_close(weights[1:].numpy(), weights[:1].expand(2, -1))


@on_every
def test_additive_scores_are_a_network_with_one_hidden_layer(sizes, dtype):
    T_q, T_k, d, d_v = sizes
    queries, keys, W, U, v = draw(dtype, (T_q, d), (T_k, d_v), (7, d), (7, d_v), (7,))
    network = nn.Sequential(nn.Linear(d + d_v, 7, bias=False), nn.Tanh(), nn.Linear(7, 1, bias=False))
    W_t, U_t, v_t = tensors(W, U, v)
    network.to(v_t.dtype).load_state_dict({"0.weight": torch.cat([W_t, U_t], dim=1), "2.weight": v_t[None]})
    pairs = torch.from_numpy(np.array([[np.append(query, key) for key in keys] for query in queries]))
    with torch.no_grad():
        assert_close(additive_scores(queries, keys, W, U, v), network(pairs).squeeze(-1))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape, axis", [((6,), -1), ((3, 5), -1), ((3, 5), 0), ((2, 4, 3), 1), ((2, 3, 2, 4), -2)])
@pytest.mark.parametrize("scale", [1.0, 1000.0])
def test_softmax(shape, axis, dtype, scale):
    [scores] = draw(dtype, shape)
    scores = (scale * scores).astype(dtype)
    assert_close(softmax(scores, axis), F.softmax(torch.from_numpy(scores), dim=axis))


@on_every
def test_masked_softmax_is_that_of_the_fused_attention_also_where_nothing_is_allowed(sizes, dtype):
    T_q, T_k, d, _ = sizes
    queries, keys = draw(dtype, (T_q, d), (T_k, d))
    allowed = draw_mask(T_q, T_k)
    every_weight = torch.eye(T_k, dtype=torch.from_numpy(keys).dtype)
    theirs = F.scaled_dot_product_attention(*tensors(queries, keys), every_weight, torch.from_numpy(allowed), scale=1.0)
    assert_close(masked_softmax(queries @ keys.T, allowed), theirs)


@pytest.mark.parametrize(
    "shape, mask_shape, axis", [((4, 3), (4, 1), 0), ((2, 4, 3), (4, 3), 1), ((2, 3, 5), (3, 1), 2)]
)
def test_masked_softmax_along_any_axis(shape, mask_shape, axis):
    [scores] = draw(np.float64, shape)
    allowed = draw_mask(*mask_shape)
    theirs = torch.from_numpy(scores).masked_fill(~torch.from_numpy(allowed), -torch.inf).softmax(axis).nan_to_num(0.0)
    assert_close(masked_softmax(scores, allowed, axis), theirs)


@on_every
def test_context_vectors_are_weighted_bags_of_values(sizes, dtype):
    T_q, T_k, _, d_v = sizes
    weights, values = draw(dtype, (T_q, T_k), (T_k, d_v))
    bags = torch.arange(T_k).expand(T_q, -1)
    per_sample, table = tensors(weights, values)
    theirs = F.embedding_bag(bags, table, mode="sum", per_sample_weights=per_sample)
    assert_close(context_vector(weights, values), theirs)


@on_every
def test_attend_is_a_head_of_multi_head_attention_whose_projections_do_nothing(sizes, dtype):
    T_q, T_k, d, _ = sizes
    queries, keys, values = draw(dtype, (T_q, d), (T_k, d), (T_k, d))
    allowed = draw_mask(T_q, T_k)
    allowed[0, 0] = True  # nn.MultiheadAttention gives NaN where nothing is allowed
    allowed[:, -1] = True
    eye = torch.eye(d)
    head = nn.MultiheadAttention(d, 1, bias=False, batch_first=True)
    head.load_state_dict({"in_proj_weight": eye.repeat(3, 1), "out_proj.weight": eye})
    batch = [tensor[None] for tensor in tensors(queries, keys, values)]
    with torch.no_grad():
        contexts, weights = head.to(batch[0].dtype)(*batch, attn_mask=~torch.from_numpy(allowed))
    ours = attend(queries, keys, values, scaled_dot_scores, allowed)
    assert_close(ours[0].astype(dtype), contexts[0])
    assert_close(ours[1].astype(dtype), weights[0])


@on_every
def test_attend_without_a_mask_is_the_fused_attention(sizes, dtype):
    T_q, T_k, d, d_v = sizes
    queries, keys, values = draw(dtype, (T_q, d), (T_k, d), (T_k, d_v))
    contexts, _ = attend(queries, keys, values, dot_scores)
    assert_close(contexts, F.scaled_dot_product_attention(*tensors(queries, keys, values), scale=1.0))


@on_every
def test_output_step_is_two_layers_of_torch(sizes, dtype):
    T_q, _, d, d_v = sizes
    contexts, states, W_c, W_y = draw(dtype, (T_q, d_v), (T_q, d), (5, d_v + d), (7, 5))
    network = nn.Sequential(nn.Linear(d_v + d, 5, bias=False), nn.Tanh(), nn.Linear(5, 7, bias=False), nn.Softmax(-1))
    c, h, W_c_t, W_y_t = tensors(contexts, states, W_c, W_y)
    network.to(c.dtype).load_state_dict({"0.weight": W_c_t, "2.weight": W_y_t})
    with torch.no_grad():
        assert_close(output_step(contexts, states, W_c, W_y), network(torch.cat([c, h], dim=-1)))
