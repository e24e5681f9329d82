"""The references of self_attention agree with what others wrote: PyTorch's functions, its modules and its autograd."""

import math

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from solutions.self_attention import (
    SelfAttention,
    additive_mask,
    causal_mask,
    padding_mask,
    project_qkv,
    scaled_dot_product_attention,
    softmax_backward,
)

SIZES = [  # axes in front, T_q, T_k, d_k, d_v
    ((), 3, 5, 4, 2),
    ((2,), 5, 3, 4, 6),
    ((1,), 1, 7, 2, 3),
    ((2, 3), 4, 6, 5, 8),
]
DTYPES = [torch.float32, torch.float64]


@pytest.fixture(autouse=True)
def one_thread_and_one_seed():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    yield
    torch.set_num_threads(threads)


def query_key_value(front, T_q, T_k, d_k, d_v, dtype=torch.float64):
    shapes = (T_q, d_k), (T_k, d_k), (T_k, d_v)
    return [torch.randn(*front, *shape, dtype=dtype, requires_grad=True) for shape in shapes]


def some_allowed(*shape):
    """A random mask with at least one True in each row."""
    drawn = torch.rand(shape) < 0.5
    return drawn | F.one_hot(torch.randint(shape[-1], shape[:-1]), shape[-1]).bool()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("batch", "T", "d_model", "d_k", "d_v"), [(2, 5, 4, 3, 6), (1, 1, 7, 2, 2), (3, 4, 4, 4, 4)])
def test_projections_are_those_of_linear_layers(batch, T, d_model, d_k, d_v, dtype):
    x = torch.randn(batch, T, d_model, dtype=dtype)
    matrices = [torch.randn(d_model, d, dtype=dtype) for d in (d_k, d_k, d_v)]
    for ours, matrix in zip(project_qkv(x, *matrices), matrices, strict=True):
        torch.testing.assert_close(ours, F.linear(x, matrix.T))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("sizes", SIZES)
def test_attention_is_that_of_torch(sizes, masked, dtype):
    front, T_q, T_k, *_ = sizes
    q, k, v = query_key_value(*sizes, dtype=dtype)
    mask = some_allowed(*front, T_q, T_k) if masked else None
    torch.testing.assert_close(
        scaled_dot_product_attention(q, k, v, mask), F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
    )


def test_attention_and_its_gradients_where_nothing_is_allowed_are_those_of_torch():
    q, k, v = query_key_value((2, 3), 4, 6, 5, 2)
    mask = some_allowed(2, 1, 4, 6)
    mask[0, :, 1] = False
    ours = scaled_dot_product_attention(q, k, v, mask)
    theirs = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
    assert (ours[0, :, 1] == 0).all()
    torch.testing.assert_close(ours, theirs)
    arriving = torch.randn_like(ours)
    for one, other in zip(
        torch.autograd.grad(ours, [q, k, v], arriving), torch.autograd.grad(theirs, [q, k, v], arriving), strict=True
    ):
        assert one.isfinite().all()
        torch.testing.assert_close(one, other)


@pytest.mark.parametrize("mask", [None, torch.tensor([[True, False, True], [False, False, False]])])
def test_gradients_of_attention_are_those_of_finite_differences(mask):
    inputs = query_key_value((2,), 2, 3, 4, 2)
    assert torch.autograd.gradcheck(lambda q, k, v: scaled_dot_product_attention(q, k, v, mask), inputs)


def test_the_scale_keeps_the_variance_of_the_scores_at_one():
    """Vaswani et al. 2017, footnote 4: the dot product of vectors with unit variance has variance d_k."""
    d_k = 256
    q, k = torch.randn(2000, 1, d_k), torch.randn(2000, 2, d_k)
    weights = scaled_dot_product_attention(q, k, torch.eye(2).expand(2000, 2, 2))
    differences = weights.log().diff(dim=-1)  # of two scores: twice the variance
    assert differences.var().item() == pytest.approx(2.0, rel=0.15)


def test_masks_are_those_of_torch():
    for T in (1, 2, 5, 9):
        additive = nn.Transformer.generate_square_subsequent_mask(T)
        assert torch.equal(causal_mask(T), additive == 0)
        assert torch.equal(additive_mask(causal_mask(T)), additive)
        q, k, v = query_key_value((2,), T, T, 3, 4)
        torch.testing.assert_close(
            scaled_dot_product_attention(q, k, v, causal_mask(T)),
            F.scaled_dot_product_attention(q, k, v, is_causal=True),
        )


def test_padding_mask_hides_what_a_shorter_batch_does_not_have():
    tokens = torch.tensor([[5, 3, 8, 1, 1], [2, 1, 1, 1, 1]])
    q, k, v = query_key_value((2,), 5, 5, 3, 4)
    padded = scaled_dot_product_attention(q, k, v, padding_mask(tokens, pad_id=1))
    for row, length in [(0, 3), (1, 1)]:
        torch.testing.assert_close(padded[row], F.scaled_dot_product_attention(q, k[:, :length], v[:, :length])[row])


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
@pytest.mark.parametrize("shape", [(), (4,), (3, 5), (2, 1, 5)])
def test_additive_mask_is_the_logarithm_of_the_mask(shape, dtype):
    mask = torch.rand(shape) < 0.5
    ours = additive_mask(mask, dtype)
    assert ours.dtype == dtype
    assert torch.equal(ours, mask.to(dtype).log())


def test_additive_and_bool_masks_say_the_same_to_torch():
    q, k, v = query_key_value((2,), 4, 6, 5, 2)
    mask = some_allowed(2, 4, 6)
    theirs = F.scaled_dot_product_attention(q, k, v, attn_mask=additive_mask(mask, torch.float64))
    torch.testing.assert_close(scaled_dot_product_attention(q, k, v, mask), theirs)


@pytest.mark.parametrize(
    "mask", [None, causal_mask(5), padding_mask(torch.tensor([[3, 4, 2, 0, 0]]), 0)[0].expand(5, 5)]
)
def test_head_is_multi_head_attention_with_one_head(mask):
    """nn.MultiheadAttention can only have d_k = d_v = d_model; its mask says True = blocked."""
    d = 4
    head = SelfAttention(d, d, d).double()
    oracle = nn.MultiheadAttention(d, num_heads=1, bias=False, batch_first=True).double()
    with torch.no_grad():
        oracle.in_proj_weight.copy_(torch.cat([head.query.weight, head.key.weight, head.value.weight]))
        oracle.out_proj.weight.copy_(torch.eye(d))
    x = torch.randn(3, 5, d, dtype=torch.float64)
    theirs, _ = oracle(x, x, x, attn_mask=None if mask is None else ~mask)
    torch.testing.assert_close(head(x, mask), theirs)


def test_head_has_the_parameters_of_its_docstring():
    shapes = {name: tuple(value.shape) for name, value in SelfAttention(4, 3, 6).state_dict().items()}
    assert shapes == {"query.weight": (3, 4), "key.weight": (3, 4), "value.weight": (6, 4)}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(6,), (4, 4), (2, 3, 5), (2, 1, 3, 4)])
def test_softmax_backward_is_autograd(shape, dtype):
    scores = torch.randn(shape, dtype=dtype, requires_grad=True)
    weights, arriving = torch.softmax(scores, dim=-1), torch.randn(shape, dtype=dtype)
    (theirs,) = torch.autograd.grad(weights, scores, arriving)
    torch.testing.assert_close(softmax_backward(weights.detach(), arriving), theirs)


def test_softmax_backward_is_the_jacobian_of_the_docstring():
    scores, arriving = torch.randn(5, dtype=torch.float64), torch.randn(5, dtype=torch.float64)
    jacobian = torch.autograd.functional.jacobian(lambda row: torch.softmax(row, dim=-1), scores)
    weights = torch.softmax(scores, dim=-1)
    torch.testing.assert_close(jacobian, weights.diag() - weights.outer(weights))
    torch.testing.assert_close(softmax_backward(weights, arriving), jacobian @ arriving)


def test_attention_divides_by_the_root_of_d_k():
    """By hand: one query, two keys, d_k = 4, so the scores 2 ln 3 and 0 become ln 3 and 0; the weights are 3/4, 1/4."""
    query = torch.tensor([[2 * math.log(3), 0.0, 0.0, 0.0]])
    key = torch.tensor([[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0]])
    torch.testing.assert_close(scaled_dot_product_attention(query, key, torch.eye(2)), torch.tensor([[0.75, 0.25]]))
