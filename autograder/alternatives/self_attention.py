"""Other right answers to the exercises of self_attention."""

import math
import warnings

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from autograder.alternatives import answers
from solutions.self_attention import scaled_dot_product_attention


@answers("project_qkv")
def project_by_linear(x, w_q, w_k, w_v):
    return F.linear(x, w_q.T), F.linear(x, w_k.T), F.linear(x, w_v.T)


@answers("project_qkv")
def project_at_once(x, w_q, w_k, w_v):
    fused = torch.matmul(x, torch.cat([w_q, w_k, w_v], dim=1))
    return fused.split([w_q.shape[1], w_k.shape[1], w_v.shape[1]], dim=-1)


@answers("project_qkv")
def project_by_einsum(x, w_q, w_k, w_v):
    return tuple(torch.einsum("btm,mk->btk", x.double(), w.double()) for w in (w_q, w_k, w_v))


@answers("project_qkv")
def project_by_position(x, w_q, w_k, w_v):
    def project(w):
        rows = [torch.stack([w.T @ vector for vector in sequence]) for sequence in x]
        return torch.stack(rows)

    query = project(w_q)
    key = project(w_k)
    value = project(w_v)
    print(query.shape, key.shape, value.shape)
    return query, key, value


@answers("project_qkv")
def project_by_bmm(x, w_q, w_k, w_v):
    projected = []
    for w in (w_q, w_k, w_v):
        repeated = w.expand(len(x), *w.shape)
        projected.append(torch.bmm(x, repeated))
    return projected[0], projected[1], projected[2]


@answers("scaled_dot_product_attention")
def attention_of_torch(query, key, value, mask=None):
    return F.scaled_dot_product_attention(query, key, value, attn_mask=mask)


@answers("scaled_dot_product_attention")
def attention_by_einsum(query, key, value, mask=None):
    scores = torch.einsum("...qd,...kd->...qk", query, key) * query.size(-1) ** -0.5
    if mask is not None:
        scores = torch.where(mask, scores, float("-inf"))
    weights = F.softmax(scores, dim=-1).nan_to_num()  # the forbidden scores take no gradient, so no NaN flows back
    return torch.einsum("...qk,...kv->...qv", weights, value)


@answers("scaled_dot_product_attention")
def attention_with_a_large_number(query, key, value, mask=None):
    scores = torch.matmul(query, key.mT) / math.sqrt(key.shape[-1])
    if mask is None:
        mask = torch.ones(1, 1, dtype=torch.bool)
    scores = scores.masked_fill(mask == 0, torch.finfo(scores.dtype).min)
    attn = scores.softmax(-1).masked_fill(~mask, 0.0)
    return attn @ value


@answers("scaled_dot_product_attention")
def attention_by_hand(query, key, value, mask=None):
    scores = (query / query.shape[-1] ** 0.5) @ key.swapaxes(-1, -2)
    allowed = torch.ones_like(scores) if mask is None else mask.to(scores.dtype).expand_as(scores)
    low = torch.where(allowed > 0, scores, torch.full_like(scores, -1e30))
    powers = (low - low.max(dim=-1, keepdim=True).values).exp() * allowed
    total = powers.sum(-1, keepdim=True)
    return powers / torch.where(total > 0, total, torch.ones_like(total)) @ value


@answers("scaled_dot_product_attention")
def attention_one_query_at_a_time(query, key, value, mask=None):
    d_k = query.shape[-1]
    front, T_q, T_k = query.shape[:-2], query.shape[-2], key.shape[-2]
    mask = torch.ones(1, 1, dtype=torch.bool) if mask is None else mask
    queries, keys = query.reshape(-1, T_q, d_k), key.reshape(-1, T_k, d_k)
    values, masks = value.reshape(-1, T_k, value.shape[-1]), mask.expand(*front, T_q, T_k).reshape(-1, T_q, T_k)
    outputs = []
    for b in range(len(queries)):
        for t in range(T_q):
            heard = masks[b, t].nonzero().flatten()
            if len(heard) == 0:
                outputs.append(torch.zeros_like(values[b, 0]))
                continue
            scores = keys[b, heard] @ queries[b, t] / math.sqrt(d_k)
            outputs.append(torch.softmax(scores, dim=0) @ values[b, heard])
    return torch.stack(outputs).reshape(*front, T_q, value.shape[-1])


@answers("scaled_dot_product_attention")
def attention_in_float64(query, key, value, mask=None):
    warnings.warn("in double precision", stacklevel=2)
    scores = query.double() @ key.double().transpose(-1, -2) / np.sqrt(query.shape[-1])
    if mask is not None:
        mask = mask.expand(scores.shape)
        scores[~mask] = -math.inf
        scores[~mask.any(-1)] = 0
    weights = torch.softmax(scores, -1)
    if mask is not None:
        weights = weights * mask
    return weights @ value.double()


@answers("padding_mask")
def padding_by_unsqueeze(tokens, pad_id):
    return torch.ne(tokens, pad_id).unsqueeze(1)


@answers("padding_mask")
def padding_by_list(tokens, pad_id):
    return torch.tensor([[[token != pad_id for token in sequence]] for sequence in tokens.tolist()])


@answers("padding_mask")
def padding_by_inversion(tokens, pad_id):
    mask = torch.ones(tokens.shape[0], 1, tokens.shape[1], dtype=torch.bool)
    mask[tokens.eq(pad_id).unsqueeze(-2)] = False
    return mask


@answers("causal_mask")
def causal_by_comparison(T):
    position = torch.arange(T)
    return position[None, :] <= position[:, None]


@answers("causal_mask")
def causal_by_inversion(T):
    return ~torch.triu(torch.ones(T, T), diagonal=1).bool()


@answers("causal_mask")
def causal_by_loop(T):
    mask = torch.zeros(T, T, dtype=torch.bool)
    for t in range(T):
        mask[t, : t + 1] = True
    return mask


@answers("causal_mask")
def causal_by_numpy(T):
    return torch.from_numpy(np.tri(T, dtype=bool))


@answers("additive_mask")
def additive_by_where(mask, dtype=torch.float32):
    return torch.where(mask, 0.0, float("-inf")).to(dtype)


@answers("additive_mask")
def additive_by_logarithm(mask, dtype=torch.float32):
    return mask.to(dtype).log()


@answers("additive_mask")
def additive_in_place(mask, dtype=torch.float32):
    result = torch.full_like(mask, -math.inf, dtype=dtype)
    result[mask] = 0
    return result


@answers("additive_mask")
def additive_by_list(mask, dtype=torch.float32):
    entries = [0.0 if entry else -math.inf for entry in mask.flatten().tolist()]
    return torch.tensor(entries, dtype=dtype, device=mask.device).view(mask.shape)


@answers("SelfAttention")
class HeadWrittenOut(nn.Module):
    def __init__(self, d_model, d_k, d_v):
        super().__init__()
        self.scale = d_k**-0.5
        self.query = nn.Linear(d_model, d_k, bias=False)
        self.key = nn.Linear(d_model, d_k, bias=False)
        self.value = nn.Linear(d_model, d_v, bias=False)

    def forward(self, x, mask=None):
        q, k, v = self.query(x), self.key(x), self.value(x)
        scores = torch.bmm(q, k.transpose(1, 2)) * self.scale
        if mask is not None:
            scores = scores.masked_fill(mask.logical_not(), -1e9)
        weights = scores.softmax(dim=-1)
        if mask is not None:
            weights = weights * mask.any(-1, keepdim=True)
        return torch.bmm(weights, v)


@answers("SelfAttention")
class HeadByTorch(nn.Module):
    def __init__(self, d_model, d_k, d_v):
        super(HeadByTorch, self).__init__()  # noqa: UP008
        for name, size in {"value": d_v, "key": d_k, "query": d_k}.items():
            setattr(self, name, nn.Linear(d_model, size, False))

    def forward(self, x, mask=None):
        return F.scaled_dot_product_attention(
            torch.matmul(x, self.query.weight.T), F.linear(x, self.key.weight), self.value(x), mask
        )


@answers("SelfAttention")
class HeadByParts(nn.Module):
    def __init__(self, d_model, d_k, d_v, bias=False):
        super().__init__()
        self.d_model, self.d_k, self.d_v = d_model, d_k, d_v
        self.query, self.key = (nn.Linear(d_model, d_k, bias=bias) for _ in range(2))
        self.value = nn.Linear(d_model, d_v, bias=bias)
        nn.init.xavier_uniform_(self.value.weight)

    def forward(self, x, mask=None):
        if mask is None:
            mask = torch.ones(x.shape[0], x.shape[1], x.shape[1], dtype=torch.bool, device=x.device)
        return scaled_dot_product_attention(query=self.query(x), key=self.key(x), value=self.value(x), mask=mask)


@answers("softmax_backward")
def backward_by_jacobian(weights, gradient):
    jacobian = torch.diag_embed(weights) - weights.unsqueeze(-1) * weights.unsqueeze(-2)
    return (jacobian @ gradient.unsqueeze(-1)).squeeze(-1)


@answers("softmax_backward")
def backward_by_einsum(weights, gradient):
    shared = torch.einsum("...k,...k->...", weights, gradient)
    return weights * gradient - weights * shared[..., None]


@answers("softmax_backward")
def backward_by_autograd(weights, gradient):
    scores = weights.detach().log().requires_grad_()
    (result,) = torch.autograd.grad(torch.softmax(scores, dim=-1), scores, gradient)
    return result


@answers("softmax_backward")
def backward_by_rows(weights, gradient):
    rows = []
    for a, g in zip(weights.reshape(-1, weights.shape[-1]), gradient.reshape(-1, weights.shape[-1]), strict=True):
        rows.append([a[i] * (g[i] - torch.dot(a, g)) for i in range(len(a))])
    return torch.tensor(rows, dtype=weights.dtype).reshape(weights.shape)


@answers("softmax_backward")
def backward_in_place(weights, gradient):
    result = gradient.clone().double()
    result -= (weights * gradient).sum(-1).unsqueeze(-1)
    result *= weights
    return result
