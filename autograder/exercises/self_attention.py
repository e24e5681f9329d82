"""The exam of the chapter self_attention."""

import inspect

import numpy as np
import torch

from autograder.draw import mask, tensor, weights_of
from autograder.exercise import Case, Exercise, Mistake, ModuleCase, Question
from solutions.self_attention import (
    SelfAttention,
    additive_mask,
    causal_mask,
    padding_mask,
    project_qkv,
    scaled_dot_product_attention,
    softmax_backward,
)

DOUBLE = torch.float64
NUMBERS = "The mask is made of numbers; the course keeps masks as bool, so that `&` and `~` work on them."


def allowed(rng, *shape):
    """A bool tensor with at least one True and one False in each row."""
    return torch.from_numpy(mask(rng, *shape))


class ProjectQKV(Exercise):
    of = project_qkv
    points = 1
    returns = ("query", "key", "value")
    hints = (
        "Q, K and V have the same source and three different matrices.",
        "Write the shapes side by side. `@` takes every axis before the last two as a batch.",
    )

    def cases(self, rng):
        def matrices(d_model, d_k, d_v, **dtype):
            return {name: tensor(rng, d_model, d, **dtype) for name, d in [("w_q", d_k), ("w_k", d_k), ("w_v", d_v)]}

        yield Case("unequal sizes", x=tensor(rng, 2, 5, 4), **matrices(4, 3, 6))
        yield Case("equal sizes, where a wrong transpose shows", x=tensor(rng, 3, 4, 4), **matrices(4, 4, 4))
        yield Case(
            "a batch of one, in float64", x=tensor(rng, 1, 7, 5, dtype=DOUBLE), **matrices(5, 2, 3, dtype=DOUBLE)
        )
        yield Case("a transposed view of x", x=tensor(rng, 4, 5, 2).permute(2, 1, 0), **matrices(4, 3, 6))
        learnt = Case("gradients reach x and all three matrices", x=tensor(rng, 2, 3, 4), **matrices(4, 3, 6))
        yield learnt.with_gradients()

    ALL = "x @ w_q, x @ w_k, x @ w_v"
    mistakes = [
        Mistake("The key is made with w_q. What a position offers has a matrix of its own, w_k.", "x @ w_k", "x @ w_q"),
        Mistake("The value is made with w_k. What a position says has a matrix of its own, w_v.", "x @ w_v", "x @ w_k"),
        Mistake("All three are made with w_q; only their source x is the same.", ALL, "x @ w_q, x @ w_q, x @ w_q"),
        Mistake(
            'You returned x three times. "Q = K = V" names the source; the projections are missing.', ALL, "x, x, x"
        ),
        Mistake("The value is x itself: it needs its projection too.", "x @ w_v", "x"),
        Mistake("The order is query, key, value.", "x @ w_q, x @ w_k", "x @ w_k, x @ w_q"),
        Mistake("The order is query, key, value.", "x @ w_k, x @ w_v", "x @ w_v, x @ w_k"),
        Mistake("The matrices are (in, out) already.", ALL, "x @ w_q.T, x @ w_k.T, x @ w_v.T"),
        Mistake(
            "The matrices stand on the wrong side: a row of x is to meet the columns of a matrix.",
            *(ALL, "w_q @ x, w_k @ x, w_v @ x"),
        ),
        Mistake(
            "`torch.mm` takes two matrices and no axis in front; `@` takes any number.",
            *(ALL, "torch.mm(x, w_q), torch.mm(x, w_k), torch.mm(x, w_v)"),
        ),
        Mistake("`*` multiplies entry by entry; a projection is a matrix product.", ALL, "x * w_q, x * w_k, x * w_v"),
    ]


def softmax_over(axis):
    """What to replace so that both softmaxes of the reference run over another axis."""
    beginnings = "return torch.softmax(scores, dim=", "weights = torch.softmax(scores, dim="
    return [part for beginning in beginnings for part in (f"{beginning}-1", f"{beginning}{axis}")]


def masked(scores, after=""):
    """What to replace so that the mask acts on the scores in this way, and on the weights in that."""
    return "scores.masked_fill(~mask & some_allowed, -torch.inf)", scores, " * some_allowed", after


def instead(*body):
    """What to replace so that attention is written in another way: a mistake that goes with none of the others."""
    whole = inspect.getsource(scaled_dot_product_attention).split('"""\n')[-1]
    return whole, "".join(f"    {line}\n" for line in (SCORES, *body))


SCORES = "scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])"
NO_MASK = "if mask is None: return torch.softmax(scores, dim=-1) @ value"
ADDED = "scores = scores + torch.zeros_like(scores).masked_fill(~mask, -torch.inf)"
FORBIDDEN = "scores = scores.masked_fill(~mask, {})"
AFTER = "weights = torch.softmax(scores, dim=-1) * mask"


class ScaledDotProductAttention(Exercise):
    of = scaled_dot_product_attention
    points = 4
    hints = (
        "Three steps: compare every query with every key, turn each row of scores into weights, mix the values.",
        "Each row of weights sums to one over the keys, and a forbidden key is out before the softmax. Then think of a "
        "row in which all are forbidden.",
    )

    def cases(self, rng):
        heads = {"query": tensor(rng, 2, 3, 5, 7), "key": tensor(rng, 2, 3, 4, 7), "value": tensor(rng, 2, 3, 4, 2)}
        q, k, v = tensor(rng, 2, 3, 6), tensor(rng, 2, 5, 6), tensor(rng, 2, 5, 4)
        one_row, empty = allowed(rng, 2, 1, 5), allowed(rng, 2, 3, 5)
        empty[0, 2] = False
        yield Case("unequal sizes, two axes in front", **heads)
        equal = {name: tensor(rng, 2, 4, 4) for name in heads}
        yield Case("equal sizes, and gradients that reach query, key and value", **equal).with_gradients()
        views = [tensor(rng, *shape, dtype=DOUBLE).T for shape in [(3, 5), (3, 4), (2, 4)]]
        yield Case("no axis in front, transposed views, float64", query=views[0], key=views[1], value=views[2])
        yield Case("large scores do not overflow", query=300 * q.double(), key=300 * k.double(), value=v.double())
        yield Case("a masked key gets no weight, and the others share it", **heads, mask=allowed(rng, 2, 1, 5, 4))
        behind = torch.tensor([0, 100])[:, None, None]  # in the second sentence allowed keys are far below zero as well
        yield Case(
            "one row of the mask for all queries, and the masked keys far ahead",
            query=tensor(rng, 2, 3, 6, scale=0.01, dtype=DOUBLE) - 100,
            key=tensor(rng, 2, 5, 6, scale=0.01, dtype=DOUBLE) + torch.where(one_row.mT, behind, -100),
            value=v.double(),
            mask=one_row,
        )
        yield Case("a query that may attend to nothing gets zeros", query=q, key=k, value=v, mask=empty)
        nowhere = Case("no gradient is NaN, even where nothing is allowed", query=q, key=k, value=v, mask=empty)
        yield nowhere.with_gradients()
        yield Case("a mask that allows nothing at all", query=q, key=k, value=v, mask=empty & False)

    SCALE, KEY_T = "math.sqrt(query.shape[-1])", "key.transpose(-2, -1)"
    UPSIDE_DOWN = "The mask is upside down: True means that attention is allowed."
    NOT_A_NUMBER = "A row of nothing but minus infinity is 0/0 in the softmax, so NaN. Make such a row harmless."
    CLEANED_TOO_LATE = (
        "The NaN is cleaned up behind the softmax. On its way back the gradient passes the softmax all the same and "
        "becomes NaN there: make the empty row harmless before."
    )
    DIVIDED_AGAIN = (
        "You masked after the softmax and divided once more. A forbidden key that is far ahead has already taken "
        "everything, so 0 / 0 is left: mask the scores."
    )
    NOT_LOW_ENOUGH = "The masked scores are too high: allowed ones may be lower still."
    CANCELS = "Where nothing is allowed, a large negative number cancels in the softmax. The row must give zeros."
    mistakes = [
        Mistake("The scores are not divided by sqrt(d_k): their variance grows with d_k.", f" / {SCALE}", ""),
        Mistake(
            "You divided by d_k, or twice by its root; once the root brings the variance to one.",
            SCALE,
            "query.shape[-1]",
        ),
        Mistake("You divided by sqrt(d_v). A score is a sum of d_k terms.", SCALE, "math.sqrt(value.shape[-1])"),
        Mistake("You divided by sqrt(T_q). A score is a sum of d_k terms.", SCALE, "math.sqrt(query.shape[-2])"),
        Mistake("You divided by sqrt(T_k). A score is a sum of d_k terms.", SCALE, "math.sqrt(key.shape[-2])"),
        Mistake("The softmax runs over the queries. For each query it is the keys that compete.", *softmax_over(-2)),
        Mistake("The softmax runs over axis 1, which is not always the keys. Count from the end.", *softmax_over(1)),
        Mistake("`key.T` reverses every axis, the batch too. Only the last two may change places.", KEY_T, "key.T"),
        Mistake("The last two axes are not always 1 and 2. Count from the end.", KEY_T, "key.transpose(1, 2)"),
        Mistake("The keys are not transposed: a score is the dot product of a query with a key.", KEY_T, "key"),
        Mistake(
            "A reshape is no transpose: it fits the shapes together, but the numbers of a key get scattered.",
            *(KEY_T, "key.reshape(*key.shape[:-2], key.shape[-1], key.shape[-2])"),
        ),
        Mistake(
            "These are the weights. The last step is missing: mix the values with them.",
            *("dim=-1) @ value", "dim=-1)", "weights @ value", "weights"),
        ),
        Mistake("The mask is never used.", "if mask is None", "if True"),
        Mistake(UPSIDE_DOWN, "~mask", "mask"),
        Mistake(UPSIDE_DOWN, *masked("scores.masked_fill(mask, -torch.inf)")),
        Mistake(NOT_A_NUMBER, *masked("scores.masked_fill(~mask, -torch.inf)")),
        Mistake(NOT_A_NUMBER, *masked("scores + torch.zeros_like(scores).masked_fill(~mask, -torch.inf)")),
        Mistake(CANCELS, *masked("scores.masked_fill(~mask, -1e9)")),
        Mistake(CANCELS, *masked("scores - 1e9 * ~mask")),
        Mistake("You masked after the softmax: what is left sums to less than one.", *masked("scores", " * mask")),
        Mistake("A score of 0 forbids nothing: exp(0) is 1, a good bid.", *masked("scores * mask")),
        Mistake("You added the bool mask: what is allowed gains 1.", *masked("scores + mask")),
        Mistake(
            "The output is cleaned of NaN, but on its way back the gradient meets the NaN in the weights.",
            *instead(
                NO_MASK, FORBIDDEN.format("-torch.inf"), "return torch.nan_to_num(torch.softmax(scores, -1) @ value)"
            ),
        ),
        Mistake(NOT_LOW_ENOUGH, *instead(NO_MASK, FORBIDDEN.format(-100), "return torch.softmax(scores, -1) @ value")),
        Mistake(NOT_LOW_ENOUGH, *instead(NO_MASK, FORBIDDEN.format(-100), AFTER, "return weights @ value")),
        Mistake(
            "A tensor is neither true nor false. Ask whether the mask is None.",
            *instead("if mask: return scores", "return torch.softmax(scores, dim=-1) @ value"),
        ),
        Mistake(
            "0 times minus infinity is NaN: what is allowed has become NaN. Put minus infinity only where it belongs.",
            *instead(NO_MASK, "return torch.softmax(scores + (1 - mask.float()) * -torch.inf, dim=-1) @ value"),
        ),
        Mistake(
            CLEANED_TOO_LATE,
            *instead(NO_MASK, ADDED, "return torch.nan_to_num(torch.softmax(scores, dim=-1)) @ value"),
        ),
        Mistake(
            CLEANED_TOO_LATE,
            *instead(NO_MASK, ADDED, "return torch.nan_to_num(torch.softmax(scores, dim=-1) @ value)"),
        ),
        Mistake(DIVIDED_AGAIN, *instead(NO_MASK, AFTER, "return weights / weights.sum(-1, True) @ value")),
        Mistake(DIVIDED_AGAIN, *instead(NO_MASK, AFTER, "return weights / (weights.sum(-1, True) + 1e-9) @ value")),
        Mistake(
            "exp overflows: scores may be large. The softmax of PyTorch takes care of that.",
            *instead(
                "weights = torch.exp(scores) * (1 if mask is None else mask)",
                "return weights / weights.sum(-1, True).clamp(1e-12) @ value",
            ),
        ),
        Mistake(
            "The scale comes after the softmax, too late to keep it out of saturation. It belongs to the scores.",
            *instead(
                "root = math.sqrt(query.shape[-1])",
                "mask = torch.ones_like(scores, dtype=torch.bool) if mask is None else mask",
                "weights = torch.softmax((scores * root).masked_fill(~mask, -1e9), dim=-1) * mask",
                "return weights / root @ value",
            ),
        ),
        Mistake(
            "`torch.bmm` wants exactly one axis in front; `@` takes any number, none too.",
            *instead(
                "scores = torch.bmm(query, key.transpose(1, 2)) / math.sqrt(query.shape[-1])",
                "mask = torch.ones_like(scores, dtype=torch.bool) if mask is None else mask",
                "return (torch.softmax(scores.masked_fill(~mask, -1e9), dim=-1) * mask) @ value",
            ),
        ),
    ]
    equivalent = {
        "scores = query @ key.transpose(-1, -2) / math.sqrt(query.shape[-1])": "A swap has no first and second.",
        "scores = scores.masked_fill(~mask * some_allowed, -torch.inf)": "The product of two bools is their `and`.",
    }


class PaddingMask(Exercise):
    of = padding_mask
    points = 1
    hints = (
        "One comparison says which tokens are real. Then think of the axis of the queries.",
        "The scores are (B, T_q, T_k). The mask forbids keys, so its tokens must lie along T_k.",
    )

    def cases(self, rng):
        tokens = torch.from_numpy(rng.integers(1, 9, (3, 5)))
        tokens[1, 3:] = tokens[2, 1:] = 0
        other = torch.where(tokens == 0, 9, tokens)
        other[0, 1], other[0, 3] = 0, 11
        yield Case("padding at the end", tokens=tokens, pad_id=0)
        yield Case("padding at the beginning", tokens=tokens.flip(1), pad_id=0)
        yield Case("a pad_id of 9, so that 0 is a real token", tokens=other, pad_id=9)
        yield Case("a batch of one without padding, int32", tokens=tokens[:1].int(), pad_id=0)
        yield Case("a sequence of nothing but padding", tokens=tokens * torch.tensor([[1], [0], [1]]), pad_id=0)
        yield Case("a transposed view", tokens=tokens.T.contiguous().T, pad_id=0)

    REAL, AXIS = "(tokens != pad_id)", "[:, None, :]"
    mistakes = [
        Mistake("The mask is upside down: True stands for a real token, one that may be attended to.", "!=", "=="),
        Mistake("The padding is not always 0: use pad_id.", "!= pad_id", "!= 0"),
        Mistake(
            "You counted the real tokens and took the first ones, but padding may stand at either end.",
            *(REAL, "(torch.arange(tokens.shape[1]) < (tokens != pad_id).sum(1)[:, None])"),
        ),
        Mistake("Ids above pad_id are real tokens too.", "!= pad_id", "< pad_id"),
        Mistake("Ids below pad_id are real tokens too.", "!= pad_id", "> pad_id"),
        Mistake("The axis of the queries is missing: (B, T) would be read as (T_q, T_k).", AXIS, ""),
        Mistake("The new axis is at the end, so the mask forbids queries instead of keys.", AXIS, "[:, :, None]"),
        Mistake("(B, 1, 1, T) is for scores with an axis of heads; here it is (B, 1, T).", AXIS, "[:, None, None, :]"),
        Mistake("You masked the queries too; the mask is for the keys alone.", AXIS, f"{AXIS} & {REAL}[:, :, None]"),
        Mistake(
            "One row for each query is more than is needed: (B, 1, T) broadcasts over the queries.",
            *(AXIS, f"{AXIS}.expand(-1, tokens.shape[1], -1)"),
        ),
        Mistake(NUMBERS, AXIS, AXIS + ".long()"),
    ]


class CausalMask(Exercise):
    of = causal_mask
    points = 1
    hints = (
        "Draw it for T = 3: a row for each query, a column for each key. Which entries are the past?",
        "What may the first position see, and what the last?",
    )

    def cases(self, rng):
        yield Case("five positions", T=5)
        yield Case("two positions", T=2)
        yield Case("a single position sees itself", T=1)
        yield Case("another length", T=int(rng.integers(6, 10)))

    ONES = "torch.ones(T, T, dtype=torch.bool)"
    mistakes = [
        Mistake("This is the future. A position may see itself and the past.", "torch.tril", "torch.triu"),
        Mistake(
            "These are the forbidden entries; True means that attention is allowed.",
            *("torch.tril", "torch.triu", ONES, ONES + ", diagonal=1"),
        ),
        Mistake("Each position may see itself; here the first one sees nothing.", ONES, ONES + ", diagonal=-1"),
        Mistake("Each position sees one step into the future.", ONES, ONES + ", diagonal=1"),
        Mistake("Everything is allowed, the future too.", f"torch.tril({ONES})", ONES),
        Mistake(NUMBERS, ", dtype=torch.bool", ""),
        Mistake(
            "This is the additive form, 0 and minus infinity. The mask itself is wanted: bool, True = may attend.",
            *("torch.tril", "torch.triu", ONES, "torch.full((T, T), -torch.inf), diagonal=1"),
        ),
        Mistake("One axis too many: (T, T) broadcasts over a batch by itself.", ONES, f"{ONES}[None]"),
    ]


def zeros_of_the_dtype(output, mask, dtype="torch.float32"):
    wanted = str(dtype).removeprefix("torch.")
    if output.dtype != wanted:
        return f"{wanted} was wanted, and {output.dtype} came: the argument dtype decides."
    if output.shape != mask.shape:
        return f"The output has shape {output.shape}; {mask.shape} was wanted."
    for entries, belongs, where in ((output[mask], 0, "allowed"), (output[~mask], -np.inf, "forbidden")):
        if stray := [entry for entry in entries.tolist() if entry != belongs]:
            return f"Where attention is {where}, {stray[0]:.4g} came: it has to be {belongs} exactly."
    return ""


class AdditiveMask(Exercise):
    of = additive_mask
    points = 1
    hints = (
        "What can be added to a score so that it stays as it is, and what so that its weight becomes exactly 0?",
        "0 times infinity is NaN: choose between two values instead of multiplying.",
    )

    def cases(self, rng):
        square = allowed(rng, 4, 5)
        yield Case("float32 unless another dtype is asked for", mask=square).judged_by(zeros_of_the_dtype)
        yield Case("float64", mask=square, dtype=DOUBLE)
        yield Case("float16 when asked for", mask=square, dtype=torch.float16).judged_by(zeros_of_the_dtype)
        yield Case("three axes, one of size 1", mask=allowed(rng, 2, 1, 5))
        yield Case("one axis", mask=allowed(rng, 6))
        yield Case("a row without permission, a transposed view", mask=(square & torch.arange(5).bool()).T)

    WHOLE = "torch.zeros(mask.shape, dtype=dtype, device=mask.device).masked_fill(~mask, -torch.inf)"
    mistakes = [
        Mistake("The mask is upside down: minus infinity belongs where attention is not allowed.", "~mask", "mask"),
        Mistake("-1e9 is not minus infinity, and float16 has no such number.", "-torch.inf", "-1e9"),
        Mistake("The smallest float is not minus infinity.", "-torch.inf", "torch.finfo(dtype).min"),
        Mistake("The sign is wrong: exp(+inf) is not 0.", "-torch.inf", "torch.inf"),
        Mistake("0 * inf is NaN: write minus infinity only where it belongs.", WHOLE, "(~mask).to(dtype) * -torch.inf"),
        Mistake("These are ones and zeros. Added to the scores they forbid nothing.", WHOLE, "mask.to(dtype)"),
        Mistake("An allowed score must stay as it is: add 0, not 1.", "torch.zeros", "torch.ones"),
        Mistake("The argument dtype is never used.", "dtype=dtype", "dtype=torch.float32"),
    ]
    equivalent = {
        "return torch.zeros(mask.shape, dtype=dtype).masked_fill(~mask, -torch.inf)": "Every case is on the CPU.",
    }


class SelfAttentionHead(Exercise):
    of = SelfAttention
    points = 3
    hints = (
        "Two parts that you have: three projections, and scaled_dot_product_attention.",
        "Which of the three layers end in d_k, and which in d_v? What has to be passed on besides x?",
    )

    def cases(self, rng):
        sizes = {"d_model": 3, "d_k": 2, "d_v": 5}
        weights = weights_of(rng, SelfAttention(**sizes))
        double = weights_of(rng, SelfAttention(**sizes), DOUBLE)
        x, view = tensor(rng, 2, 4, 3), tensor(rng, 3, 6, 1, dtype=DOUBLE).permute(2, 1, 0)
        past, real = causal_mask(4), torch.tensor([[True, True, True, False], [False, False, True, True]])[:, None]
        yield ModuleCase("unequal sizes", sizes, weights, {"x": x})
        yield ModuleCase("a batch of one, a transposed view, float64", sizes, double, {"x": view})
        yield ModuleCase("a causal mask", sizes, weights, {"x": x, "mask": past})
        yield ModuleCase("a padding mask, one row for every query", sizes, weights, {"x": x, "mask": real})
        yield ModuleCase("a position that may attend to nothing", sizes, weights, {"x": x, "mask": real & past})
        given = {"x": x, "mask": past}
        yield ModuleCase("nothing is dropped at random in training", sizes, weights, given, training=True)

    QUERY, ROOT = "(self.query(x)", "math.sqrt(self.key.out_features"
    BY_HAND = (
        "(lambda q, k, v, m: torch.softmax((q @ k.mT / math.sqrt(q.shape[-1])).masked_fill("
        "torch.zeros(1, 1, dtype=torch.bool) if m is None else ~m, {}), dim=-1) @ v)("
    )
    mistakes = [
        Mistake(
            "The three layers have no bias.",
            *("self.query = nn.Linear(d_model, d_k, bias=False)", "self.query = nn.Linear(d_model, d_k)"),
            *("self.key = nn.Linear(d_model, d_k, bias=False)", "self.key = nn.Linear(d_model, d_k)"),
            *("nn.Linear(d_model, d_v, bias=False)", "nn.Linear(d_model, d_v)"),
        ),
        Mistake("The value layer ends in d_k, not in d_v.", "nn.Linear(d_model, d_v", "nn.Linear(d_model, d_k"),
        Mistake(
            "Query and key have changed places: each query has a row of scores of its own.",
            *("self.query(x), self.key(x)", "self.key(x), self.query(x)"),
        ),
        Mistake("The key is made by the layer `query`.", "self.key(x)", "self.query(x)"),
        Mistake(
            "`key` and `query` are one layer under two names: each is to learn for itself.",
            *("self.key = nn.Linear(d_model, d_k, bias=False)", "self.key = self.query"),
        ),
        Mistake(
            "`nn.Linear` is told the size that comes in, then the size that goes out.",
            *("self.query = nn.Linear(d_model, d_k", "self.query = nn.Linear(d_k, d_model"),
            *("self.key = nn.Linear(d_model, d_k", "self.key = nn.Linear(d_k, d_model"),
            *("nn.Linear(d_model, d_v", "nn.Linear(d_v, d_model"),
        ),
        Mistake(
            "`nn.Linear` keeps its weight as (out, in), the transpose of W: call the layer instead.",
            *("self.query(x)", "x @ self.query.weight", "self.key(x)", "x @ self.key.weight"),
            *("self.value(x)", "x @ self.value.weight"),
        ),
        Mistake("The value is x itself: it needs its projection too.", "self.value(x)", "x"),
        Mistake("The layers are never used.", "self.query(x), self.key(x), self.value(x)", "x, x, x"),
        Mistake("The mask is not passed on.", ", mask)  #", ")  #"),
        Mistake(
            "The mask is turned upside down on its way: True means that attention is allowed.",
            *(", mask)  #", ", None if mask is None else ~mask)  #"),
        ),
        Mistake("The scores are divided by sqrt(d_k) twice: attention does it already.", QUERY, f"{QUERY} / {ROOT})"),
        Mistake("The scores are not divided by sqrt(d_k).", QUERY, f"{QUERY} * {ROOT})"),
        Mistake(
            "The scores are divided by sqrt(d_model). A score is a sum of d_k terms.",
            *(QUERY, f"{QUERY} * {ROOT} / x.shape[-1])"),
        ),
        Mistake(
            "A position that may attend to nothing gets NaN. Your own scaled_dot_product_attention gives it zeros.",
            *("scaled_dot_product_attention(", BY_HAND.format("-torch.inf")),
        ),
        Mistake(
            "A position that may attend to nothing attends to everything. Your own scaled_dot_product_attention gives "
            "it zeros.",
            *("scaled_dot_product_attention(", BY_HAND.format("-1e9")),
        ),
    ]


class SoftmaxBackward(Exercise):
    of = softmax_backward
    points = 2
    hints = (
        "Multiply the Jacobian by the gradient on paper: diag(a) gives one term, a a^T the other.",
        "The second term holds one number for each row, shared by all its entries. Keep its axis.",
    )

    def cases(self, rng):
        def weights(*shape, scale=1.0):
            return torch.softmax(tensor(rng, *shape, scale=scale, dtype=DOUBLE), dim=-1)

        def gradient(*shape, scale=1.0):
            return tensor(rng, *shape, scale=scale, dtype=DOUBLE)

        equal = torch.full((3, 5), 2.0, dtype=DOUBLE)
        yield Case("unequal sizes", weights=weights(2, 3, 5).float(), gradient=gradient(2, 3, 5).float())
        yield Case("equal sizes", weights=weights(4, 4), gradient=gradient(4, 4))
        yield Case("a single row", weights=weights(6), gradient=gradient(6))
        yield Case("the same gradient for every key moves nothing", weights=weights(3, 5), gradient=equal)
        yield Case("certainty lets nothing through", weights=torch.eye(5, dtype=DOUBLE)[1:4], gradient=gradient(3, 5))
        view = gradient(5, 3, 2, scale=100.0).permute(2, 1, 0)
        yield Case("a transposed view, large gradients", weights=weights(2, 3, 5, scale=3.0), gradient=view)

    RETURN, INNER, SUM = "weights * (gradient - shared)", "(gradient - shared)", ".sum(dim=-1, keepdim=True)"
    mistakes = [
        Mistake("The sum is missing: what one weight gains, the others lose.", INNER, "gradient"),
        Mistake(
            "This is the diagonal of the Jacobian alone. Each score also moves the other weights: -a_i a_j.",
            *(INNER, "(1 - weights) * gradient"),
        ),
        Mistake("The sum runs over the wrong axis. Each row has its own.", SUM, ".sum(dim=-2, keepdim=True)"),
        Mistake(
            "The sum runs over axis 1, which is not always the last one. Count from the end.",
            *(SUM, ".sum(dim=1, keepdim=True)"),
        ),
        Mistake("The sum runs over the whole array. Each row has its own.", SUM, ".sum()"),
        Mistake("Keep the axis that you sum over, else the sums line up with the columns.", SUM, ".sum(dim=-1)"),
        Mistake("It is a sum over the row, not a mean.", SUM, ".mean(dim=-1, keepdim=True)"),
        Mistake("The shared number is the sum of a_j g_j, not of g_j.", "(weights * gradient)", "gradient"),
        Mistake("Multiply by the weights on the outside as well.", RETURN, "gradient - shared"),
        Mistake("The shared sum is multiplied by a_i too.", RETURN, "weights * gradient - shared"),
        Mistake("The sign is wrong.", INNER, "(shared - gradient)"),
        Mistake("The Jacobian is diag(a) minus a a^T: the shared sum is taken off.", INNER, "(gradient + shared)"),
        Mistake(
            "`weights` have been through the softmax already: use them as they are.",
            *("(weights * gradient)", "(torch.softmax(weights, dim=-1) * gradient)"),
            *(RETURN, f"torch.softmax(weights, dim=-1) * {INNER}"),
        ),
    ]


QUESTIONS = (
    Question(
        "why_sqrt_dk",
        points=3,
        answer=(
            "Under the assumptions q·k has variance d_k. Division by sqrt(d_k) brings it to 1; without it the scores "
            "grow like sqrt(d_k), one weight takes nearly everything, and the softmax lets hardly any gradient "
            "through. Division by d_k gives d_k / d_k² = 1 / d_k. As d_k grows, all scores shrink towards 0 and all "
            "weights towards 1 / T_k: every query gets almost the plain mean of the values, whatever it asks. That is "
            "not saturation but its opposite. The Jacobian of the softmax is healthy at uniform weights, so training "
            "can still move them; but the layer starts out unable to choose, and its queries and keys must become far "
            "larger than unit variance before it can. The assumptions fail when query and key are the same vector "
            "(q·q has mean d_k, not 0), when components are correlated or have another variance, and in any trained "
            "model, where queries and keys are aligned on purpose."
        ),
        rubric=(
            "- 1 point: the variance of a score is 1 / d_k, derived from the variance d_k of q·k.\n"
            "- 1 point: the weights become uniform and the output the mean of the values; attention cannot choose, "
            "whereas a saturated softmax has chosen and passes no gradient.\n"
            "- 1 point: one situation in which an assumption fails, and which one (equal or aligned query and key, "
            "correlated components, another variance)."
        ),
    ),
    Question(
        "no_order",
        points=3,
        answer=(
            "Let P permute the positions. Embedding and projections act on each position alone, so PX gives PQ, PK "
            "and PV. The scores become P Q K^T P^T: rows and columns change places alike. The softmax treats each row "
            "by itself, so the weights are P A P^T, and P A P^T P V = P (A V). A layer is equivariant, f(PX) = P "
            "f(X), and so are three in a row. The mean over the positions turns equivariant into invariant: it does "
            "not see P. 'is it good' is a permutation of 'it is good', so the linear layer receives the same vector "
            "and gives the same label, whatever the weights. Order has to come from elsewhere: from positions in the "
            "input. With a causal mask the argument fails at the scores, since the mask stays where it is while the "
            "words move: P M P^T is not M. In the first layer already, the first position hears 'is' alone in one "
            "sentence and 'it' alone in the other, so the means differ in general, and the labels may."
        ),
        rubric=(
            "- 1 point: a layer without mask is equivariant, with a reason that covers projections, scores, softmax "
            "and mix; so is a stack of them.\n"
            "- 1 point: the mean makes it invariant; the sentences are permutations of each other, so the label is "
            "the same for all weights.\n"
            "- 1 point: a causal mask belongs to positions and does not move with the words, so the argument breaks "
            "and the labels may differ."
        ),
    ),
)
